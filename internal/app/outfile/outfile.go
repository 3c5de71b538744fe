package outfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// headBytes is how much of a file Spare shows: a page has its style first.
const headBytes = 64 << 10

// A Kind of file replaces only files of the same kind.
type Kind interface {
	String() string         // a file of the kind, as the middle of a sentence
	Wrote(head []byte) bool // whether a file that begins like this is one
}

// Check refuses a path that cannot be written, and a foreign file: one that has contents, and is
// not of a kind. It changes nothing under the path.
func Check(path string, perm os.FileMode, kind Kind) error {
	const write = 2 // W_OK
	info, err := os.Stat(path)
	switch {
	case err != nil || info.IsDir() || info.Mode().IsRegular():
		if err := spare(path, kind); err != nil {
			return err
		}
		file, err := Create(path, perm)
		if err != nil {
			return err
		}
		return file.Discard()
	case info.Mode().Type() == os.ModeSocket:
		return fmt.Errorf("%s is a socket: name a file or a pipe", path)
	}
	// It is not opened: to open a pipe is to wait for its reader.
	if err := syscall.Access(path, write); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// spare refuses to replace a foreign file.
func spare(path string, kind Kind) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil //nolint:nilerr // Create reports the fault of a path
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	head, err := io.ReadAll(io.LimitReader(file, headBytes))
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, cause(err))
	}
	if !kind.Wrote(head) {
		return fmt.Errorf("%s exists and is not %s: name another file, or remove this one", path, kind)
	}
	return nil
}

// File is a file on its way to its path.
type File struct {
	path string
	file *os.File
	temp bool // file is a new one, to be renamed to path
	done bool
}

// Create opens what will be the file of a path: a new file beside it, which nothing else finds
// under that path before Commit, or the path itself if that is not an ordinary file. perm is the
// mode of the new file, before the umask. It is an error if the path is a directory, or if its
// directory cannot be written.
func Create(path string, perm os.FileMode) (*File, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory: name a file in it", path)
	case err == nil && !info.Mode().IsRegular():
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &File{path: path, file: file}, nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	// Names are limited to 255 bytes in most file systems: a longer path's own name is cut.
	base := filepath.Base(path)
	name := fmt.Sprintf(".%s-%s", base[:min(len(base), 200)], rand.Text()[:10])
	file, err := os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, uncreated(path, err)
	}
	return &File{path: path, file: file, temp: true}, nil
}

// uncreated is the error of a path whose new file could not be opened; err has the name of
// that file, which no caller knows.
func uncreated(path string, err error) error {
	dir := filepath.Dir(path)
	info, missing := os.Stat(dir)
	switch reason := cause(err); {
	case errors.Is(missing, os.ErrNotExist):
		return fmt.Errorf("creating %s: there is no directory %s: make it, or name a file elsewhere: %w", path, dir,
			reason)
	case missing == nil && !info.IsDir():
		return fmt.Errorf("creating %s: %s is a file, not a directory: %w", path, dir, reason)
	default:
		return fmt.Errorf("creating %s in directory %s: %w", path, dir, reason)
	}
}

// cause returns an error of the operating system without its path, which may be a temporary file's;
// any other error unchanged.
func cause(err error) error {
	var pathError *os.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &pathError):
		return pathError.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	if err != nil {
		err = fmt.Errorf("writing %s: %w", f.path, cause(err))
	}
	return n, err
}

// Commit makes the file durable, under the path. After an error the path has its old file.
func (f *File) Commit() error {
	var err error
	if f.temp {
		err = f.file.Sync()
	}
	f.done = true
	if closed := f.file.Close(); err == nil {
		err = closed
	}
	if f.temp && err == nil {
		err = os.Rename(f.file.Name(), f.path)
	}
	if err == nil {
		return nil
	}
	if f.temp {
		os.Remove(f.file.Name()) //nolint:errcheck // nothing more can be done
	}
	return fmt.Errorf("writing %s: %w", f.path, cause(err))
}

// Discard removes the file, unless it has been committed. The error is from closing or removing it.
func (f *File) Discard() error {
	if f.done {
		return nil
	}
	f.done = true
	err := f.file.Close()
	if f.temp {
		err = errors.Join(err, os.Remove(f.file.Name()))
	}
	return err
}

// Same reports whether two paths lead to one file, also to one that is not there yet.
func Same(a, b string) bool {
	one, errA := os.Stat(a)
	other, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(one, other)
	}
	if filepath.Base(a) != filepath.Base(b) {
		return false
	}
	one, errA = os.Stat(filepath.Dir(a))
	other, errB = os.Stat(filepath.Dir(b))
	return filepath.Clean(a) == filepath.Clean(b) || errA == nil && errB == nil && os.SameFile(one, other)
}
