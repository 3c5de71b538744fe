package config

import _ "embed" // for the file below

//go:embed minimal.yaml
var minimal string

// Minimal returns the text of a small configuration that compiles once its keys are there.
func Minimal() string { return minimal }
