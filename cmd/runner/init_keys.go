package main

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/config"
	"github.com/tollgate-dp/tollgate/internal/keyfile"
)

// generateKeys makes the key files that do not exist.
func (a *app) generateKeys(file *config.File) error {
	noise, userHash := file.KeyFiles()
	for _, key := range [...]struct{ field, path string }{{"keys.noise", noise}, {"keys.user_hash", userHash}} {
		if key.path == "" {
			return usage(fmt.Errorf("--generate-keys makes files, but %s names an environment variable", key.field))
		}
		made, err := keyfile.Make(key.path)
		if err != nil {
			return fmt.Errorf("making the key file of %s: %w", key.field, err)
		}
		if made {
			fmt.Fprintf(a.stderr, "made %s: keep it as safe as the data, and keep a copy\n", key.path)
		} else {
			fmt.Fprintf(a.stderr, "%s exists and is used as it is\n", key.path)
		}
	}
	return nil
}
