package mechanisms

import (
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// fast is a Source for the law tests, which concern the algorithms: a fast
// generator lets them see more of it.
type fast struct{ *rand.PCG }

func (f fast) Word() uint64 { return f.Uint64() }

func seeded(t testing.TB, seed uint64) fast { return fast{runseed.PCG(t, seed, 0x6d656368)} }

// script plays chosen digits, then fails the test.
type script struct {
	t     testing.TB
	words []uint64
}

func (s *script) Word() uint64 {
	if len(s.words) == 0 {
		s.t.Fatal("asked for more digits than the script has")
	}
	w := s.words[0]
	s.words = s.words[1:]
	return w
}

// TestKeyedDigitsStay pins the digits of one label: they decide what a keyed release shows, and a
// change of them needs another keyedFormat. The words were computed by this code; that they are
// ChaCha8 under HMAC-SHA-256 is the business of the standard library's tests.
func TestKeyedDigitsStay(t *testing.T) {
	k := NewKeyed([32]byte{1, 2, 3}, []byte("metric"), []byte("window"))
	for i, want := range []uint64{0xdda24590a331f395, 0xb99a81c97f3b1529} {
		if w := k.Word(); w != want {
			t.Errorf("word %d is %#x, want %#x", i, w, want)
		}
	}
}

func TestKeyedDigitsDependOnEveryFieldAndItsEnd(t *testing.T) {
	base := NewKeyed([32]byte{1}, []byte("ab"), []byte("c")).Word()
	for name, other := range map[string]*Keyed{
		"secret":          NewKeyed([32]byte{2}, []byte("ab"), []byte("c")),
		"field":           NewKeyed([32]byte{1}, []byte("ab"), []byte("d")),
		"end of a field":  NewKeyed([32]byte{1}, []byte("a"), []byte("bc")),
		"number of them":  NewKeyed([32]byte{1}, []byte("abc")),
		"an empty field":  NewKeyed([32]byte{1}, []byte("ab"), []byte("c"), nil),
		"an empty before": NewKeyed([32]byte{1}, nil, []byte("ab"), []byte("c")),
	} {
		if other.Word() == base {
			t.Errorf("%s: the same digits", name)
		}
	}
	if NewKeyed([32]byte{1}, []byte("ab"), []byte("c")).Word() != base {
		t.Error("the same label gave other digits")
	}
}

// TestSystemDigitsAreBalanced counts ones over 64·4096 bits: 6 deviations (256
// each), false-reject rate 2e-9. Words are compared besides: a buffer that is read
// twice repeats them (collision probability 2^-41).
func TestSystemDigitsAreBalanced(t *testing.T) {
	var s System
	const n = 4096
	ones, seen := 0, make(map[uint64]bool, n)
	for range n {
		w := s.Word()
		seen[w] = true
		for ; w != 0; w &= w - 1 {
			ones++
		}
	}
	if off := ones - 32*n; off > 6*256 || off < -6*256 {
		t.Errorf("%d ones of %d bits", ones, 64*n)
	}
	if len(seen) != n {
		t.Errorf("%d different words of %d", len(seen), n)
	}
}
