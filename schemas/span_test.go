package schemas

import (
	"errors"
	"testing"
)

// First is left out for an ordinary turn, never 0 in a span of several, and never MaxSpan turns
// away.
func TestSpansHaveAFirstTurnAndABound(t *testing.T) {
	for _, c := range []struct{ first, turn, want uint64 }{
		{0, 7, 7}, {7, 7, 7}, {6, 7, 6}, {1, MaxSpan, 1}, {0, 0, 0},
	} {
		got, err := DecodeOpen(EncodeOpen(Open{First: c.first, Turn: c.turn}))
		if err != nil || got.First != c.want || got.Turn != c.turn {
			t.Errorf("%d to %d: decoded %d to %d (%v)", c.first, c.turn, got.First, got.Turn, err)
		}
		for turn := range c.turn + 3 {
			if want := turn >= c.want && turn <= c.turn; got.Holds(turn) != want {
				t.Errorf("%d to %d: turn %d is one of the span: %v", c.want, c.turn, turn, !want)
			}
		}
	}
	for _, c := range [][2]uint64{{8, 7}, {1, MaxSpan + 1}, {1, 1 << 60}} {
		if _, err := DecodeOpen(EncodeOpen(Open{First: c[0], Turn: c[1]})); !errors.Is(err, ErrMalformed) {
			t.Errorf("%v: %v", c, err)
		}
		if _, err := EncodePartial(Partial{First: c[0], Turn: c[1]}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: %v", c, err)
		}
		if _, err := EncodeAck(Ack{First: c[0], Turn: c[1]}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: %v", c, err)
		}
		if _, err := SplitSettled(Settled{First: c[0], Turn: c[1]}, 1<<20); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// A span's CLOSE has the number of records of each turn: tallies need it.
func TestTheTurnsOfASpanAddUpToItsContributions(t *testing.T) {
	good := Close{First: 3, Turn: 5, Contributions: 9, Each: []uint64{2, 0, 7}}
	b, err := EncodeControl(Control{Body: &good})
	if err != nil {
		t.Fatal(err)
	}
	c, err := DecodeControl(b)
	if err != nil {
		t.Fatal(err)
	}
	got := c.Body.(*Close)
	for turn, want := range map[uint64]uint64{3: 2, 4: 0, 5: 7} {
		if got.Of(turn) != want {
			t.Errorf("turn %d has %d records, want %d", turn, got.Of(turn), want)
		}
	}
	if one := (&Close{First: 4, Turn: 4, Contributions: 6}); one.Of(4) != 6 {
		t.Errorf("an ordinary turn has %d records, want 6", one.Of(4))
	}
	for name, bad := range map[string]Close{
		"too few turns":    {First: 3, Turn: 5, Contributions: 9, Each: []uint64{2, 7}},
		"another sum":      {First: 3, Turn: 5, Contributions: 9, Each: []uint64{2, 0, 6}},
		"beyond 64 bits":   {First: 4, Turn: 5, Contributions: 9, Each: []uint64{10, 1<<64 - 1}},
		"of one turn":      {First: 5, Turn: 5, Contributions: 9, Each: []uint64{9}},
		"none":             {First: 4, Turn: 5, Contributions: 9},
		"too many turns":   {First: 1, Turn: MaxSpan + 1, Each: make([]uint64, MaxSpan+1)},
		"first after last": {First: 6, Turn: 5},
	} {
		if _, err := EncodeControl(Control{Body: &bad}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
