package pipeline

import (
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
)

// decoded is a record as it comes from the topic.
func decoded(t *testing.T, b schemas.ControlBody) schemas.Control {
	t.Helper()
	data, err := schemas.EncodeControl(schemas.Control{Body: b})
	if err != nil {
		t.Fatal(err)
	}
	c, err := schemas.DecodeControl(data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// feedView numbers records from offset 0.
func feedView(t *testing.T, v *view, bodies ...schemas.ControlBody) {
	t.Helper()
	for _, b := range bodies {
		if err := v.observe(v.next, decoded(t, b)); err != nil {
			t.Fatal(err)
		}
	}
}

func settledParts(t *testing.T, epoch int64, turn uint64, keys int) []schemas.ControlBody {
	t.Helper()
	s := schemas.Settled{Epoch: epoch, Turn: turn, CountsEnd: []int64{int64(turn)}}
	for i := range keys {
		s.Keys = append(s.Keys, schemas.SettledKey{Key: []byte{byte('a' + i)}})
	}
	parts, err := schemas.SplitSettled(s, 160)
	if err != nil {
		t.Fatal(err)
	}
	var out []schemas.ControlBody
	for i := range parts {
		out = append(out, &parts[i])
	}
	return out
}

// TestRuleControlIsFencedByItsContent: a CLOSE or SETTLED counts only if its
// epoch is the last EPOCH before it, and only for the next turn.
func TestRuleControlIsFencedByItsContent(t *testing.T) {
	v := newView(64)
	v.beginAt(0, -1, -1)
	feedView(t, v, &schemas.Header{}, &schemas.Epoch{}) // offsets 0 and 1
	feedView(t, v, &schemas.Close{Epoch: 1, Turn: 1}, &schemas.Close{Epoch: 1, Turn: 3}, &schemas.Close{Epoch: 0, Turn: 2})
	if v.closed != 1 {
		t.Fatalf("closed %d, want 1: turn 3 is not next and epoch 0 is none", v.closed)
	}
	feedView(t, v, &schemas.Epoch{}) // offset 5: a new run
	feedView(t, v, &schemas.Close{Epoch: 1, Turn: 2}, settledParts(t, 1, 1, 1)[0])
	if v.closed != 1 || v.settled != 0 {
		t.Fatalf("closed %d, settled %d: the old run's records counted", v.closed, v.settled)
	}
	feedView(t, v, settledParts(t, 5, 1, 1)...)
	feedView(t, v, &schemas.Close{Epoch: 5, Turn: 2})
	if v.closed != 2 || v.settled != 1 || v.countsEnd[1][0] != 1 {
		t.Fatalf("closed %d, settled %d", v.closed, v.settled)
	}
	feedView(t, v, &schemas.Close{Epoch: 5, Turn: 2, Contributions: 9})
	if v.closes[2].Contributions != 0 {
		t.Error("a second CLOSE of a turn replaced the first")
	}
}

// TestRuleSettledCountsWithItsLastPart: a turn is settled by the last part, and
// parts of a run that was taken over are forgotten.
func TestRuleSettledCountsWithItsLastPart(t *testing.T) {
	v := newView(64)
	v.beginAt(0, -1, -1)
	feedView(t, v, &schemas.Header{}, &schemas.Epoch{}, &schemas.Close{Epoch: 1, Turn: 1})
	parts := settledParts(t, 1, 1, 20)
	if len(parts) < 3 {
		t.Fatalf("%d parts, want several", len(parts))
	}
	feedView(t, v, parts[:len(parts)-1]...)
	if v.settled != 0 {
		t.Fatal("settled before the last part")
	}
	feedView(t, v, &schemas.Epoch{}) // the run dies
	feedView(t, v, parts[len(parts)-1])
	if v.settled != 0 {
		t.Fatal("a part behind a newer EPOCH settled the turn")
	}
	feedView(t, v, settledParts(t, v.epoch, 1, 20)...)
	if v.settled != 1 || v.settlements[1].Keys() != 20 {
		t.Fatalf("settled %d", v.settled)
	}
}

// TestBackPointsFarEnough: a view that begins where a record's Back points
// knows the same turns as one that read everything.
func TestBackPointsFarEnough(t *testing.T) {
	const slots = 4
	log := newControlLog(t, slots)
	whole, write := log.whole, log.write
	for turn := uint64(1); turn <= 40; turn++ {
		if turn%7 == 0 {
			write(&schemas.Epoch{})
		}
		write(&schemas.Close{Epoch: whole.epoch, Turn: whole.closed + 1})
		if turn > 2 {
			for _, b := range settledParts(t, whole.epoch, whole.settled+1, 3) {
				write(b)
			}
		}
		log.checkBack()
	}
	if back, _ := whole.back(); back == 0 {
		t.Error("back never moved")
	}
}

// controlLog is a log of control, begun with a HEADER and an EPOCH, and a view that
// has read all of it.
type controlLog struct {
	t      *testing.T
	slots  int
	whole  *view
	bodies []schemas.ControlBody
}

func newControlLog(t *testing.T, slots int) *controlLog {
	l := &controlLog{t: t, slots: slots, whole: newView(slots)}
	l.whole.beginAt(0, -1, -1)
	l.write(&schemas.Header{})
	l.write(&schemas.Epoch{})
	return l
}

func (l *controlLog) write(b schemas.ControlBody) {
	l.t.Helper()
	l.bodies = append(l.bodies, b)
	feedView(l.t, l.whole, b)
}

// checkBack fails unless a view that begins where the newest record points to knows
// what a restart needs.
func (l *controlLog) checkBack() {
	l.t.Helper()
	back, backEpoch := l.whole.back()
	late := newView(l.slots)
	late.beginAt(back, backEpoch, l.whole.run)
	for _, b := range l.bodies[back:] {
		if err := late.observe(late.next, decoded(l.t, b)); err != nil {
			l.t.Fatal(err)
		}
	}
	if late.settled != l.whole.settled || late.closed != l.whole.closed || late.epoch != l.whole.epoch ||
		len(late.countsEnd[late.settled]) != len(l.whole.countsEnd[l.whole.settled]) {
		l.t.Fatalf("back %d: settled %d of %d, closed %d of %d", back, late.settled, l.whole.settled, late.closed, l.whole.closed)
	}
	for w := max(int64(l.whole.settled)-int64(l.slots), 0) + 1; w <= int64(l.whole.settled); w++ {
		if _, ok := late.settledAt[uint64(w)]; !ok || late.closes[uint64(w)] == nil {
			l.t.Fatalf("turn %d of %d is not known from back %d", w, l.whole.settled, back)
		}
	}
}

func TestStopHoldsUntilRecover(t *testing.T) {
	v := newView(64)
	v.beginAt(0, -1, -1)
	feedView(t, v, &schemas.Header{}, &schemas.Epoch{}, &schemas.Stop{Epoch: 1, Turn: 1, Reason: "x"}, &schemas.Epoch{})
	if v.stop == nil {
		t.Fatal("a new EPOCH lifted the STOP")
	}
	feedView(t, v, &schemas.Recover{By: "somebody", Stop: 2})
	if v.stop != nil {
		t.Fatal("RECOVER did not lift the STOP")
	}
}

func generationFrom(epoch int64, from uint64) *schemas.Generation {
	return &schemas.Generation{Epoch: epoch, CountsEnd: []int64{77}, Header: schemas.Header{
		Generation: 2, FromTurn: from, LedgerSlots: 8, Past: []schemas.PastGeneration{{FromTurn: 1}}}}
}

// TestRuleAChangeBeginsBehindTheLastSettledTurn: a GENERATION counts only in the
// last epoch and right behind what is settled; CLOSEs that stand ahead of it are
// taken back.
func TestRuleAChangeBeginsBehindTheLastSettledTurn(t *testing.T) {
	v := newView(64)
	v.beginAt(0, -1, -1)
	feedView(t, v, &schemas.Header{Generation: 1}, &schemas.Epoch{}) // offsets 0 and 1
	first := v.header
	for turn := range uint64(4) {
		feedView(t, v, &schemas.Close{Epoch: 1, Turn: turn + 1})
	}
	feedView(t, v, settledParts(t, 1, 1, 1)...)
	feedView(t, v, settledParts(t, 1, 2, 1)...)
	for _, g := range []*schemas.Generation{generationFrom(0, 3), generationFrom(1, 2), generationFrom(1, 4)} {
		feedView(t, v, g)
		if v.header != first || v.closed != 4 || v.headerAt != 0 {
			t.Fatalf("epoch %d, turn %d: the generation counted", g.Epoch, g.Header.FromTurn)
		}
	}
	feedView(t, v, &schemas.Epoch{})
	epoch := v.epoch
	feedView(t, v, generationFrom(1, 3))
	if v.header != first {
		t.Fatal("a generation of an older epoch counted")
	}
	at := v.next
	feedView(t, v, generationFrom(epoch, 3))
	if v.header == first || v.headerAt != at || v.closed != 2 || v.closes[3] != nil || v.closes[4] != nil || v.closes[2] == nil {
		t.Fatalf("behind the change: closed %d, %d CLOSEs", v.closed, len(v.closes))
	}
	if v.countsEnd[2][0] != 77 || v.history != 16 {
		t.Errorf("counts begin at %v, history %d", v.countsEnd[2], v.history)
	}
	feedView(t, v, &schemas.Close{Epoch: epoch, Turn: 3, Contributions: 5})
	if v.closed != 3 || v.closes[3].Contributions != 5 {
		t.Error("the turn could not be closed again")
	}
}
