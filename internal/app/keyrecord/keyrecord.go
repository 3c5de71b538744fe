package keyrecord

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

// Of returns where a record of a key is: beside the key's file, where symbolic links lead to it, so
// that every name of a key has the same record.
func Of(keyFile, suffix string) string {
	if file, err := filepath.EvalSymlinks(keyFile); err == nil {
		keyFile = file
	}
	return keyFile + suffix
}

// Read returns what a record holds; nothing where there is no file. Another process may be writing
// the last line: Read waits until that is complete.
func Read(path string) ([]byte, error) {
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

// Decode calls entry for each line, which must be one object with the fields of T. Its error names
// the line, and wraps damaged.
func Decode[T any](path string, data []byte, damaged error, entry func(T) bool) error {
	for i, line := range bytes.SplitAfter(data, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var e T
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&e); err != nil || decoder.More() || !bytes.HasSuffix(line, []byte("\n")) || !entry(e) {
			return fmt.Errorf("reading line %d of %s: %w", i+1, path, damaged)
		}
	}
	return nil
}

// Append appends a line, and returns when it is on the disk. sync is (*os.File).Sync but in tests.
func Append(path string, line any, sync func(*os.File) error) error {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(line); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return unwritable(path, err)
	}
	_, err = file.Write(b.Bytes())
	return unwritable(path, settle(path, file, err, sync))
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

// Unwritable says whether Append failed because this process may not create the record or write to
// it, as beside a mounted secret. A full disk is another matter: it may have room later.
func Unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EROFS)
}

// Durable returns when all lines of a record are on the disk, also those of other processes.
func Durable(path string, sync func(*os.File) error) error {
	file, err := os.Open(path)
	if err != nil {
		return unwritable(path, err)
	}
	return unwritable(path, settle(path, file, nil, sync))
}

// settle closes a record after a write that returned err, and returns when the record is on the
// disk under its name.
func settle(path string, file *os.File, err error, sync func(*os.File) error) error {
	if err == nil {
		err = synced(file, sync)
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
	return synced(dir, sync)
}

// synced returns when a file or directory is on the disk, where the file system can do that.
func synced(file *os.File, sync func(*os.File) error) error {
	if err := sync(file); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
