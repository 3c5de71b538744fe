package controllog

import (
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
)

func closeOf(epoch int64, first, turn uint64) *schemas.Close {
	c := &schemas.Close{Epoch: epoch, First: first, Turn: turn}
	if turn > first {
		c.Each = make([]uint64, turn-first+1)
	}
	return c
}

func settledSpan(t *testing.T, epoch int64, first, turn uint64) schemas.ControlBody {
	t.Helper()
	parts, err := schemas.SplitSettled(
		schemas.Settled{Epoch: epoch, First: first, Turn: turn, CountsEnd: []int64{int64(turn)}}, 1<<10)
	if err != nil || len(parts) != 1 {
		t.Fatal(len(parts), err)
	}
	return &parts[0]
}

// A span is closed and settled as one: by a CLOSE that begins with the turn after the last
// closed one, and by a SETTLED of exactly its turns.
func TestASpanIsClosedAndSettledAsOne(t *testing.T) {
	v := NewView(64)
	v.BeginAt(0, -1, -1)
	feedView(t, v, &schemas.Header{Counts: inJSON}, &schemas.Epoch{}, closeOf(1, 1, 1), closeOf(1, 3, 5),
		closeOf(1, 1, 4), closeOf(1, 2, 5))
	if v.Closed != 5 || v.Closes[1] == v.Closes[2] || v.Closes[2] != v.Closes[5] || v.Closes[2].First != 2 {
		t.Fatalf("closed %d", v.Closed)
	}
	feedView(t, v, settledSpan(t, 1, 1, 1), settledSpan(t, 1, 2, 2), settledSpan(t, 1, 2, 4))
	if v.Settled != 1 {
		t.Fatalf("settled %d by a SETTLED of a part of the span", v.Settled)
	}
	feedView(t, v, settledSpan(t, 1, 2, 5))
	if v.Settled != 5 || v.CountsEnd[5][0] != 5 {
		t.Fatalf("settled %d", v.Settled)
	}
	for turn := uint64(2); turn <= 5; turn++ {
		if s := v.settlements[turn]; s == nil || s.First != 2 || s.Turn != 5 || v.SettledAt[turn] != v.SettledAt[5] {
			t.Errorf("turn %d of the span is not found", turn)
		}
	}
}

// Spans change neither which settled turns are forgotten nor where a later reader must begin.
func TestBackPointsFarEnoughForSpans(t *testing.T) {
	const slots = 16
	log := newControlLog(t, slots)
	whole, write := log.whole, log.write
	for i := range uint64(60) {
		first := whole.Closed + 1
		write(closeOf(whole.Epoch, first, first+i%4))
		if c := whole.Closes[whole.Settled+1]; i > 1 {
			write(settledSpan(t, whole.Epoch, c.First, c.Turn))
		}
		if n := len(whole.settlements); n > 2*keepSettlements {
			t.Fatalf("%d settlements are kept", n)
		}
		if n := len(whole.Closes); n > 2*slots+12 {
			t.Fatalf("%d CLOSEs are kept", n)
		}
		log.checkBack()
	}
	if back, _ := whole.back(); back == 0 {
		t.Error("back never moved")
	}
}
