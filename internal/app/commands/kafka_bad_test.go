package commands

import (
	"path/filepath"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/keyfile"
)

func TestKeysAreMadeOnceAndForTheOwnerOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", "key")
	made, err := keyfile.Make(path)
	if err != nil || !made {
		t.Fatal(made, err)
	}
	before, err := readNoiseKey(path)
	if err != nil {
		t.Fatal(err)
	}
	made, err = keyfile.Make(path)
	after, err2 := readNoiseKey(path)
	if made || err != nil || err2 != nil || !before.Secret.Equal(after.Secret) {
		t.Errorf("made %v again, %v %v", made, err, err2)
	}
}
