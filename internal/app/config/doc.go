// Package config reads a deployment's configuration file: YAML, strictly.
//
// A file becomes a pipeline.Config in load.go: Open or Parse reads it and puts every value at its
// field (document.go and value.go, by settings.Table), and Resolve reads the files and variables
// that it names. Compile then has pipeline check and compute it, with the position of every error
// (locate.go).
//
// Guarantees: a field that is not in the table, a value of another type, a doubled key, an anchor,
// a tag, a second document are errors, never ignored. Every error says file, line and column and
// shows the line; errors of pipeline.Compile are mapped back to the field that caused them. No
// error shows a password or anything that looks like a key.
//
// Not guaranteed: that a configuration that parses can run. Compile says whether
// the numbers fit together; only the brokers know the topics.
package config
