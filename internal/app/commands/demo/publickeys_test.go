package demo

import (
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
)

func TestPublicKeysFromAFile(t *testing.T) {
	t.Parallel()
	path := commandtest.Write(t, "keys", "\uFEFFnorth\r\nsouth, east\r\n\r\nnorth\n")
	keys, err := readPublicKeys(path)
	if err != nil || strings.Join(keys, "|") != "north|south, east" {
		t.Errorf("got %q (%v)", keys, err)
	}
	keys, err = readPublicKeys("b,a,b")
	if err != nil || strings.Join(keys, "|") != "a|b" {
		t.Errorf("got %q (%v)", keys, err)
	}
	keys, err = readPublicKeys("only")
	if err != nil || strings.Join(keys, "|") != "only" {
		t.Errorf("got %q (%v)", keys, err)
	}
}
