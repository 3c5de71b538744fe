package config

import _ "embed" // for minimal.yaml

//go:embed minimal.yaml
var minimal string

// Minimal returns a small configuration that compiles once its keys exist.
func Minimal() string { return minimal }
