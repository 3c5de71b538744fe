// Package config reads a deployment's configuration file: strict YAML.
//
// Open and Parse (load.go) put every value into its field (decode.go and value.go). settings.Table
// lists the fields. Resolve reads the files and variables that the configuration names. Compile
// lets the pipeline check the result, and adds positions to the errors (locate.go).
//
// Guarantees: an unknown field, a value of the wrong type, a duplicate key, an anchor, a tag and a
// second document are errors. Every error names the file, line and column and shows the line. No
// error shows a password or anything that looks like a key.
//
// Not guaranteed: that a valid configuration can run. Compile checks values only; it does not
// connect to the brokers.
package config
