package keyedstate

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// engine is what an engine keeps of one key.
type engine struct {
	meta, base []byte
	deltas     [][]byte
}

func (e *engine) Save(meta, base, delta []byte) error {
	if e.meta = meta; base != nil {
		e.base, e.deltas = base, nil
	}
	if delta != nil {
		e.deltas = append(e.deltas, delta)
	}
	return nil
}

// Whatever is saved comes back, in order, whether it stands in the base or after it.
func TestWhatIsKeptComesBackInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const least = 20
		var e engine
		var s State
		var all []byte // one byte a change
		for range rapid.IntRange(1, 40).Draw(t, "saves") {
			last := s.Last + 1
			delta := []byte{byte(last)}
			var base []byte
			asOf := s.Base
			if s.Due(len(delta), least) {
				asOf = last - rapid.Uint64Range(0, 1).Draw(t, "before the change")
				base = append([]byte{}, append(slices.Clone(all), delta...)[:asOf]...)
			}
			all = append(all, delta...)
			if asOf == last {
				delta = nil
			}
			if err := s.Save(&e, base, asOf, delta, last, func(s State) []byte { return AppendMeta(nil, 7, s.Base, s.Last) }); err != nil {
				t.Fatal(err)
			}
		}
		var base, last uint64
		if !ReadMeta(e.meta, 7, &base, &last) || base != s.Base || last != s.Last {
			t.Fatalf("described as %d to %d, want %d to %d", base, last, s.Base, s.Last)
		}
		number := func(d []byte) uint64 { return uint64(d[0]) }
		rand.New(runseed.PCG(t, 1, last)).Shuffle(len(e.deltas), func(i, j int) { e.deltas[i], e.deltas[j] = e.deltas[j], e.deltas[i] })
		got := e.base
		if !InOrder(e.deltas, base, last, number) {
			t.Fatalf("%d deltas after %d do not lead to %d", len(e.deltas), base, last)
		}
		if got = append(got, slices.Concat(e.deltas...)...); !bytes.Equal(got, all) {
			t.Fatalf("came back as %v, want %v", got, all)
		}
		if len(e.deltas) > max(len(e.base), least)+1 {
			t.Errorf("%d deltas after a base of %d bytes", len(e.deltas), len(e.base))
		}
		if n := len(e.deltas); n > 0 {
			if InOrder(slices.Clone(e.deltas[1:]), base, last, number) || InOrder(append(slices.Clone(e.deltas[1:]), e.deltas[n-1]), base, last, number) && n > 1 {
				t.Error("a delta is missing and nothing was said")
			}
		}
	})
}

func TestBlobsAndDescriptionsAreReadWholeOrNotAtAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 200)).Draw(t, "blobs")
		var b []byte
		for _, blob := range want {
			b = AppendBlob(b, blob)
		}
		got, ok := SplitBlobs(b)
		if !ok || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("%v came back as %v", want, got)
		}
		n := rapid.Uint64().Draw(t, "n")
		meta := AppendMeta(nil, 3, n, 5)
		var x, y uint64
		if !ReadMeta(meta, 3, &x, &y) || x != n || y != 5 {
			t.Errorf("%d came back as %d, %d", n, x, y)
		}
		for _, bad := range [][]byte{nil, meta[:len(meta)-1], append(slices.Clone(meta), 0), AppendMeta(nil, 4, n, 5)} {
			if ReadMeta(bad, 3, &x, &y) {
				t.Errorf("%v was read", bad)
			}
		}
	})
	if _, ok := SplitBlobs([]byte{2, 1}); ok {
		t.Error("a cut blob was read")
	}
}
