// Package config reads a deployment's configuration file: strict YAML.
//
// Open or Parse (load.go) puts every value into its field (decode.go and value.go, by
// settings.Table). Resolve reads the files and variables that the configuration names. Compile lets
// the pipeline check the result, and adds positions to its errors (locate.go).
//
// Guarantees: an unknown field, a value of the wrong type, a duplicate key, an anchor, a tag and a
// second document are errors. Every error names the file, line and column and shows the line. No
// error shows a password or anything that looks like a key.
//
// Not guaranteed: that a valid configuration can run. Compile checks only values; it does not ask
// the brokers about topics.
package config
