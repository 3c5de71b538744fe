package connect

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// reloaded is a value from files that may change. While they cannot be read, or do not match
// because they are being replaced, it stays at the last value. It is safe for concurrent use.
type reloaded[T any] struct {
	read func() (T, error)
	log  *slog.Logger

	mu     sync.Mutex
	last   secret.Of[T] // secret because it may be a password
	logged string       // the last failure that was logged; "" after a success
}

// newReloaded reads the value for the first time. If logger is nil, nothing is logged.
func newReloaded[T any](read func() (T, error), logger *slog.Logger) (*reloaded[T], error) {
	logger = cmp.Or(logger, slog.New(slog.DiscardHandler))
	last, err := read()
	return &reloaded[T]{read: read, log: logger, last: secret.New(last)}, err
}

// get reads the value again and returns it, or the last one after a failure.
func (f *reloaded[T]) get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	value, err := f.read()
	if err == nil {
		f.last, f.logged = secret.New(value), ""
		return value
	}
	if text := err.Error(); text != f.logged {
		f.logged = text
		f.log.Warn("cannot use a file for connections: using its previous contents", "cause", err)
	}
	return f.last.Reveal()
}

// readFile reads the file that a configuration field names. Errors: *deployment.ConfigError.
func readFile(field, file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err // the message already contains the name
		}
		return nil, deployment.Invalid(field, "reading %s: %v", file, err)
	}
	return bytes.TrimPrefix(data, []byte("\uFEFF")), nil
}

// readSecret returns the only secret in a file, without the line end after it.
func readSecret(field, file string) (string, error) {
	data, err := readFile(field, file)
	text := secret.Line(string(data))
	if err == nil && text == "" {
		err = deployment.Invalid(field, "the file %s is empty", file)
	}
	return text, err
}
