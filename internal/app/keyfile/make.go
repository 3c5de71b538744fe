package keyfile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
)

// Make writes 256 random bits to a new file, and creates missing directories. If the file exists,
// Make leaves it unchanged and made is false. The file appears together with its contents: another
// process that begins the deployment at the same moment, or after a crash, finds a complete key or
// no key.
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
	if closeErr := file.Close(); err == nil {
		err = closeErr
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
