package outfile

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Until Commit, and after Discard, the path has its old file.
func TestAFileAppearsWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	has := func(want string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if string(text) != want || (err != nil) != (want == "") {
			t.Errorf("the path has %q (%v), want %q", text, err, want)
		}
	}
	for _, was := range []string{"", "new"} {
		for _, commit := range []bool{false, true} {
			f, err := Create(path, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write([]byte("new")); err != nil {
				t.Fatal(err)
			}
			has(was)
			if commit {
				err = f.Commit()
				was = "new"
			}
			if discarded := f.Discard(); err != nil || discarded != nil {
				t.Fatal(err, discarded)
			}
			has(was)
			files, err := os.ReadDir(dir)
			if err != nil || len(files) > 1 {
				t.Errorf("%d files are left, %v", len(files), err)
			}
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info, err)
	}
}

// A path that is not a regular file is written directly, and stays in place.
func TestADeviceIsWrittenDirectly(t *testing.T) {
	f, err := Create(os.DevNull, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if err := f.Commit(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s is now %v (%v)", os.DevNull, info, err)
	}
}

// Errors name the requested path, not the temporary file beside it.
func TestErrorsNameThePath(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "no", "page.html"): "in directory " + filepath.Join(dir, "no") + ": no such file",
		filepath.Join(file, "page.html"):      "not a directory",
		dir:                                   "is a directory",
	} {
		_, err := Create(path, 0o600)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "/.page") {
			t.Errorf("%s: %v", path, err)
		}
	}
	path := filepath.Join(dir, "page.html")
	f, err := Create(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err == nil || !strings.HasPrefix(err.Error(), "writing "+path+": ") ||
		strings.Contains(err.Error(), "/.page") {
		t.Errorf("commit: %v", err)
	}
	full, err := Create("/dev/full", 0o600)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	if _, err := full.Write([]byte("x")); err == nil || !strings.HasPrefix(err.Error(), "writing /dev/full: ") {
		t.Errorf("write: %v", err)
	}
	full.Discard() //nolint:errcheck // nothing was written
}

// Check refuses an unwritable path, and does not wait for the reader of a pipe.
func TestCheckRefusesWhatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	pipe, socket, protected := filepath.Join(dir, "pipe"), filepath.Join(dir, "s"), filepath.Join(dir, "protected")
	for path, mode := range map[string]uint32{pipe: 0o600, protected: 0o400} {
		if err := syscall.Mkfifo(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]string{
		pipe: "", os.DevNull: "", filepath.Join(dir, "new"): "", socket: socket + " is a socket: give a file or a pipe",
		dir: "is a directory", filepath.Join(dir, "no", "file"): "no such file or directory",
		protected: "permission denied",
	} {
		if path == protected && os.Geteuid() == 0 {
			continue // root may write everything
		}
		if err := Check(path, 0o600, nil); (err != nil) != (want != "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("the check left %v (%v)", entries, err)
	}
}
