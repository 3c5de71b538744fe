package schemas

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestATurnEndComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := TurnEnd{Turn: rapid.Uint64Range(0, math.MaxInt64).Draw(t, "turn"), End: rapid.Int64().Draw(t, "end"), Generation: rapid.Uint32().Draw(t, "generation")}
		b, err := EncodeTurnEnd(e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeTurnEnd(b)
		if err != nil || got != e {
			t.Fatalf("%+v, %v, want %+v", got, err, e)
		}
		if _, err := DecodeTurnEnd(append(b, 0)); !errors.Is(err, ErrMalformed) {
			t.Fatalf("with a byte left over: %v", err)
		}
	})
	if _, err := EncodeTurnEnd(TurnEnd{Turn: math.MaxUint64}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a turn that is no long: %v", err)
	}
	release, err := EncodeRelease(someRelease())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeTurnEnd(release); !errors.Is(err, ErrVersion) {
		t.Errorf("a release is taken for a turn's end: %v", err)
	}
}

func FuzzTurnEnd(f *testing.F) {
	b, err := EncodeTurnEnd(TurnEnd{Turn: 3, End: 1700000000000, Generation: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:9])
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := DecodeTurnEnd(data)
		if err != nil {
			return
		}
		again, err := EncodeTurnEnd(e)
		if err != nil || len(again) > len(data) {
			t.Fatalf("%+v: %v", e, err)
		}
		if back, err := DecodeTurnEnd(again); err != nil || back != e {
			t.Fatalf("%x became %x", data, again)
		}
	})
}
