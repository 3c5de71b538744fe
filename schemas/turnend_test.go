package schemas

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestATurnEndComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := TurnEnd{Turn: rapid.Uint64Range(0, math.MaxInt64).Draw(t, "turn"), End: rapid.Int64().Draw(t, "end"),
			Generation: rapid.Uint32().Draw(t, "generation"),
			Counts:     rapid.StringMatching(`[a-z.]*`).Draw(t, "counts"),
			CountsEnd:  rapid.SliceOf(rapid.Int64Min(0)).Draw(t, "ends")}
		b, err := EncodeTurnEnd(e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeTurnEnd(b)
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Fatalf("%+v, %v, want %+v", got, err, e)
		}
		if _, err := DecodeTurnEnd(append(b, 0)); !errors.Is(err, ErrMalformed) {
			t.Fatalf("with a byte left over: %v", err)
		}
	})
	for _, bad := range []TurnEnd{{Turn: math.MaxUint64, CountsEnd: []int64{0}}, {Turn: 1}, {CountsEnd: []int64{-1}}} {
		if _, err := EncodeTurnEnd(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v was encoded: %v", bad, err)
		}
	}
	for _, bad := range []string{"", "{}",
		`{"turn":1,"end":"2025-02-30T00:00:00Z","generation":0,"counts":"c","counts_end":[]}`,
		`{"turn":1,"end":"","generation":0,"counts":"c","counts_end":[]}`,
		`{"end":"2025-03-01T00:00:00Z","generation":0,"counts":"c","counts_end":[1]}`} {
		if _, err := DecodeTurnEnd([]byte(bad)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s was decoded: %v", bad, err)
		}
	}
}

func TestATurnEndIsWhatConsumersRead(t *testing.T) {
	b, err := EncodeTurnEnd(TurnEnd{Turn: 7, End: 253402300800000, Generation: 1, Counts: "visits-counts",
		CountsEnd: []int64{12, 40}})
	const want = `{"turn":7,"end":"10000-01-01T00:00:00Z","generation":1,"counts":"visits-counts","counts_end":[12,40]}`
	if err != nil || string(b) != want {
		t.Errorf("%s (%v), want %s", b, err, want)
	}
}

func FuzzTurnEnd(f *testing.F) {
	b, err := EncodeTurnEnd(TurnEnd{Turn: 3, End: 1700000000000, Generation: 1, Counts: "c", CountsEnd: []int64{4, 0}})
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
		if err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
		if back, err := DecodeTurnEnd(again); err != nil || !reflect.DeepEqual(back, e) {
			t.Fatalf("%x became %x", data, again)
		}
	})
}
