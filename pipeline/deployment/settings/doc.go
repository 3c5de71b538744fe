// Package settings has the table of all settings of a deployment: of every field its name in a
// file, its place in deployment.Config, its type, range, default and meaning.
//
// Package deployment checks ranges and fills in defaults by this table, package config reads files
// and environment variables by it, and the reference in docs/configuration.md and the JSON schema
// for editors are made from it.
package settings
