package main

import "github.com/tollgate-dp/tollgate/internal/config"

// prepare loads a configuration that is to be put in force, and first makes the
// key files that it names and that do not exist, if that is asked for.
func (a *app) prepare(path string, generateKeys bool) (*loaded, error) {
	file, err := config.Open(path)
	if err != nil {
		return nil, inFile(err)
	}
	if generateKeys {
		if err := a.generateKeys(file); err != nil {
			return nil, err
		}
	}
	return a.compile(file, config.Options{})
}
