package secret_test

import (
	"encoding/hex"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas/secret"
)

func TestHMACSeparatesEveryDivision(t *testing.T) {
	seen := map[[32]byte]int{}
	for i, key := range [][32]byte{
		secret.HMAC([32]byte{1}, "ab"), secret.HMAC([32]byte{2}, "ab"), secret.HMAC([32]byte{1}, "a", []byte("b")),
		secret.HMAC([32]byte{1}, "", []byte("ab")),
		secret.HMAC([32]byte{1}, "a", []byte("b"), nil), secret.HMAC([32]byte{1}, "a", nil, []byte("b")),
		secret.HMAC([32]byte{1}, "a", []byte("b\x00")),
		secret.HMAC([32]byte{1}, "c", []byte("b")),
	} {
		if other, twice := seen[key]; twice {
			t.Errorf("inputs %d and %d have one digest", other, i)
		}
		seen[key] = i
	}
}

// Names of choices, repeated runs and noise rest on these bytes: Python's hmac gives the same
// value.
func TestHMACKeepsItsBytes(t *testing.T) {
	const want = "bfed6ab121831df2d39d872f165a2b4e00ffafffdcc4c3618ca03ff63611ab55"
	if got := secret.HMAC([32]byte{1}, "domain", []byte("part"), nil); hex.EncodeToString(got[:]) != want {
		t.Errorf("got %x, want %s", got, want)
	}
}
