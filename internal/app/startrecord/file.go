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

// contents reads the file of a record. It returns nil if there is no file. If another process is
// writing the last line, contents waits up to half a second until the line is complete.
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

// decode calls entry with each line. A line must be a JSON object with the fields of type line, and
// entry must return true. The error names the line and wraps ErrRecord.
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

// add appends a line and syncs it to disk.
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
	return unwritable(path, syncAndClose(path, file, err))
}

// unwritable adds the path of a record to an error that occurred when it was written.
func unwritable(path string, err error) error {
	if err == nil {
		return nil
	}
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return fmt.Errorf("the file %s cannot be written: %w", path, err)
}

// Unwritable reports whether Add failed because this process cannot create the record or write to
// it. An example is a record beside a mounted secret. A full disk does not count, because it may
// have space later.
func Unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EROFS)
}

// syncAndClose syncs a record and its directory to disk, and closes the record. err is the error of
// the preceding write.
func syncAndClose(path string, file *os.File, err error) error {
	if err == nil {
		err = syncFile(file)
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	var dir *os.File
	if err == nil {
		dir, err = os.Open(filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // it was only read
	return syncFile(dir)
}

// syncFile syncs a file or directory to disk, if the file system supports that.
func syncFile(file *os.File) error {
	if err := file.Sync(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
