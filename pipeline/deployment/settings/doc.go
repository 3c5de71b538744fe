// Package settings defines all settings of a deployment in one table: for every field, its name in
// a file, its path in deployment.Config, its type, range, default and meaning.
//
// Package deployment checks ranges and fills in defaults with this table. Package config reads
// files and environment variables with it. The reference in docs/configuration.md and the JSON
// schema for editors are generated from it.
package settings
