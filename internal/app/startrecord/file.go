package startrecord

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// contents returns what a record holds; nothing if there is no file. Another process may be writing
// the last line: contents waits until that is complete.
func contents(path string) ([]byte, error) {
	for try := 0; ; try++ {
		data, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil || try == 50 || len(data) == 0 || data[len(data)-1] == '\n':
			return data, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// decode calls entry for each line, which must be one object with the fields of line. Its error
// names the line, and wraps ErrRecord.
func decode(path string, data []byte, entry func(line) bool) error {
	for i, text := range bytes.SplitAfter(data, []byte("\n")) {
		if len(text) == 0 {
			continue
		}
		var l line
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&l); err != nil || decoder.More() || !bytes.HasSuffix(text, []byte("\n")) ||
			!entry(l) {
			return fmt.Errorf("reading line %d of %s: %w", i+1, path, ErrRecord)
		}
	}
	return nil
}

// add appends a line, and returns when it is on the disk.
func add(path string, l line) error {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(l); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return unwritable(path, err)
	}
	_, err = file.Write(b.Bytes())
	return unwritable(path, settle(path, file, err))
}

// unwritable names a record that cannot be written, and why, once.
func unwritable(path string, err error) error {
	if err == nil {
		return nil
	}
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return fmt.Errorf("the file %s cannot be written: %w", path, err)
}

// Unwritable reports whether Add failed because this process may not create the record or write to
// it, as beside a mounted secret. A full disk is another matter: it may have room later.
func Unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EROFS)
}

// settle closes a record after a write that returned err, and returns when the record is on the
// disk under its name.
func settle(path string, file *os.File, err error) error {
	if err == nil {
		err = synced(file)
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	var dir *os.File
	if err == nil {
		dir, err = os.Open(filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // it was only read
	return synced(dir)
}

// synced returns when a file or directory is on the disk, where the file system can do that.
func synced(file *os.File) error {
	if err := file.Sync(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
