package keyfile

import (
	"strings"
	"testing"
)

func FuzzParseNoiseKey(f *testing.F) {
	good := strings.Repeat("0123456789abcdef", 4)
	for _, seed := range []string{"", good, "k 1 " + good, good + "\n", "k 2 " + good, good + good,
		strings.Repeat("g", 64)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := ParseNoiseKey(text)
		if err == nil && (key.Secret.Reveal() == [32]byte{} || key.ID == "" || len(key.ID) > 64) {
			t.Errorf("accepted %+v", key)
		}
	})
}
