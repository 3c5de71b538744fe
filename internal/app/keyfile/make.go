package keyfile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
)

// Make writes 256 random bits to a new file, and makes missing directories. made is false if the
// file exists, which Make then leaves unchanged. The file appears with the key in it: another
// process that begins the deployment at the same moment, or after a crash, finds a whole key or no
// key.
func Make(path string) (made bool, err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	// Most file systems limit names to 255 bytes.
	base := filepath.Base(path)
	file, err := os.CreateTemp(dir, base[:min(len(base), 200)]+".*") // readable by its owner only
	if err != nil {
		return false, err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // an unfinished file, or a second name of the finished one
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
