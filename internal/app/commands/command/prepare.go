package command

import (
	"github.com/tollgate-dp/tollgate/internal/app/config"
)

// Prepare loads a configuration that is to be put in force. With generateKeys it first makes
// the key files that the configuration names and that do not exist.
func (a *App) Prepare(path string, generateKeys bool) (*Loaded, error) {
	file, err := config.Open(path, a.environment())
	if err != nil {
		return nil, inFile(err)
	}
	var made []string
	if generateKeys {
		if made, err = a.generateKeys(file); err != nil {
			return nil, err
		}
	}
	d, err := a.compile(file, config.Options{})
	if err != nil {
		return nil, err
	}
	d.made = made
	return d, nil
}
