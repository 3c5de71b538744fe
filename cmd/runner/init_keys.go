package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tollgate-dp/tollgate/internal/config"
)

// generateKeys makes the key files that do not exist.
func (a *app) generateKeys(file *config.File) error {
	noise, userHash := file.KeyFiles()
	for _, key := range [...]struct{ field, path string }{{"keys.noise", noise}, {"keys.user_hash", userHash}} {
		if key.path == "" {
			return usage(fmt.Errorf("--generate-keys makes files, and %s names an environment variable", key.field))
		}
		made, err := makeKey(key.path)
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

// makeKey writes 256 random bits to a new file; made is false where there is one.
// The file appears with its key in it: whoever else begins the deployment at the
// same moment, or after a crash, finds a whole key or none.
func makeKey(path string) (made bool, err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	file, err := os.CreateTemp(dir, filepath.Base(path)+".*") // readable by its owner only
	if err != nil {
		return false, err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // half a key, or a second name of it
	var secret [32]byte
	_, err = rand.Read(secret[:])
	if err == nil {
		_, err = file.WriteString(hex.EncodeToString(secret[:]) + "\n")
	}
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return false, err
	}
	switch err = os.Link(file.Name(), path); {
	case errors.Is(err, os.ErrExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, nil
}
