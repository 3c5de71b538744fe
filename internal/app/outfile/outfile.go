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

// headBytes is the number of bytes that Kind.Wrote receives. It must be large, because a page
// begins with its style.
const headBytes = 64 << 10

// Kind is a kind of output file. An output file replaces only files of its own kind.
type Kind interface {
	String() string         // name of the kind, with its article
	Wrote(head []byte) bool // reports whether a file that begins with head is of the kind
}

// Check returns an error if path cannot be written, or is a nonempty file of another kind. It does
// not change the file.
func Check(path string, perm os.FileMode, kind Kind) error {
	const write = 2 // W_OK
	info, err := os.Stat(path)
	switch {
	case err != nil || info.IsDir() || info.Mode().IsRegular():
		if err := refuseOtherKind(path, kind); err != nil {
			return err
		}
		file, err := Create(path, perm)
		if err != nil {
			return err
		}
		return file.Discard()
	case info.Mode().Type() == os.ModeSocket:
		return fmt.Errorf("%s is a socket: give a file or a pipe", path)
	}
	// Do not open a pipe, because that would wait for its reader.
	if err := syscall.Access(path, write); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// refuseOtherKind returns an error if path is a nonempty file of another kind.
func refuseOtherKind(path string, kind Kind) error {
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
		return fmt.Errorf("%s exists and is not %s: give another file name, or remove this file", path, kind)
	}
	return nil
}

// File is a file that is being written.
type File struct {
	path string
	file *os.File
	temp bool // whether Commit renames file to path
	done bool // whether Commit or Discard was called
}

// Create creates a temporary file beside path, which Commit renames to path. If path exists but is
// not a regular file, Create opens path itself. perm is the mode of the new file, before the umask.
func Create(path string, perm os.FileMode) (*File, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory: give a file in it", path)
	case err == nil && !info.Mode().IsRegular():
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &File{path: path, file: file}, nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	// Most file systems limit names to 255 bytes.
	base := filepath.Base(path)
	name := fmt.Sprintf(".%s-%s", base[:min(len(base), 200)], rand.Text()[:10])
	file, err := os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, fmt.Errorf("creating %s in directory %s: %w", path, filepath.Dir(path), cause(err))
	}
	return &File{path: path, file: file, temp: true}, nil
}

// cause removes the path from an error of the operating system, because it may name a temporary
// file.
func cause(err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
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

// Commit makes the file durable under its path. If it fails, the old file is unchanged.
func (f *File) Commit() error {
	var err error
	if f.temp {
		err = f.file.Sync()
	}
	f.done = true
	if closeErr := f.file.Close(); err == nil {
		err = closeErr
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

// Discard removes the file, unless it was committed.
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

// Same reports whether two paths lead to the same file, even if that file does not exist yet.
func Same(a, b string) bool {
	same := func(a, b string) bool {
		infoA, errA := os.Stat(a)
		infoB, errB := os.Stat(b)
		return errA == nil && errB == nil && os.SameFile(infoA, infoB)
	}
	return filepath.Clean(a) == filepath.Clean(b) || same(a, b) ||
		filepath.Base(a) == filepath.Base(b) && same(filepath.Dir(a), filepath.Dir(b))
}
