package keyfile

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// If many run at once, one makes the key, and all read that key, whole.
func TestAKeyFileAppearsWhole(t *testing.T) {
	for range 50 {
		path := filepath.Join(t.TempDir(), "keys", "noise.key")
		var made, read [8]string
		var all sync.WaitGroup
		for i := range made {
			all.Go(func() {
				mine, err := Make(path)
				if err != nil {
					t.Error(err)
				}
				if mine {
					made[i] = "made"
				}
				text, err := os.ReadFile(path)
				if err != nil {
					t.Error(err)
				}
				read[i] = string(text)
			})
		}
		all.Wait()
		makers := 0
		for i := range made {
			if made[i] != "" {
				makers++
			}
			if len(read[i]) != 65 || read[i] != read[0] {
				t.Fatalf("a reader saw %d bytes", len(read[i]))
			}
		}
		files, err := os.ReadDir(filepath.Dir(path))
		if err != nil || makers != 1 || len(files) != 1 {
			t.Fatalf("%d made the key, %d files are there, %v", makers, len(files), err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("mode %v, %v", info.Mode(), err)
		}
	}
}

// The longest name that a file system takes is a name that a key file can have.
func TestALongNameIsTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("a", 255))
	if made, err := Make(path); !made || err != nil {
		t.Errorf("made: %v, %v", made, err)
	}
}
