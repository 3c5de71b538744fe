package controllog

import (
	"errors"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// decoded is a record after a round trip through the topic's format.
func decoded(t *testing.T, b schemas.ControlBody) schemas.Control {
	t.Helper()
	data := must.Have(schemas.EncodeControl(schemas.Control{Body: b}))
	return must.Have(schemas.DecodeControl(data))
}

// feedView numbers records from offset 0.
func feedView(t *testing.T, v *View, bodies ...schemas.ControlBody) {
	t.Helper()
	for _, b := range bodies {
		must.Succeed(t, v.Observe(v.Next, decoded(t, b)))
	}
}

func settledParts(t *testing.T, epoch int64, turn uint64, keys int) []schemas.ControlBody {
	t.Helper()
	s := schemas.Settled{Epoch: epoch, Turn: turn, CountsEnd: []int64{int64(turn)}}
	for i := range keys {
		s.Keys = append(s.Keys, schemas.SettledKey{Key: []byte{byte('a' + i)}})
	}
	parts := must.Have(schemas.SplitSettled(s, 160))
	var out []schemas.ControlBody
	for i := range parts {
		out = append(out, &parts[i])
	}
	return out
}

// TestRuleSettledCountsWithItsLastPart: the last part settles a turn, and parts of a superseded run
// are forgotten.
func TestRuleSettledCountsWithItsLastPart(t *testing.T) {
	v := NewView(64)
	feedView(t, v, &schemas.Header{Counts: inJSON}, &schemas.Epoch{}, &schemas.Close{Epoch: 1, Turn: 1})
	parts := settledParts(t, 1, 1, 20)
	if len(parts) < 3 {
		t.Fatalf("%d parts, want several", len(parts))
	}
	feedView(t, v, parts[:len(parts)-1]...)
	if v.Settled != 0 {
		t.Fatal("settled before the last part")
	}
	feedView(t, v, &schemas.Epoch{}) // the run dies
	feedView(t, v, parts[len(parts)-1])
	if v.Settled != 0 {
		t.Fatal("a part of an older epoch settled the turn")
	}
	feedView(t, v, settledParts(t, v.Epoch, 1, 20)...)
	if v.Settled != 1 || v.settlements[1].Keys() != 20 {
		t.Fatalf("settled %d", v.Settled)
	}
}

// A SETTLED whose contents are not those that its digest was made of is refused with its offset and
// a remedy, as any damaged record.
func TestADamagedSettledIsNamed(t *testing.T) {
	v := NewView(64)
	feedView(t, v, &schemas.Header{Counts: inJSON}, &schemas.Epoch{}, &schemas.Close{Epoch: 1, Turn: 1})
	parts := settledParts(t, 1, 1, 1)
	parts[0].(*schemas.Settled).CountsEnd[0]++
	err := v.Observe(v.Next, decoded(t, parts[0]))
	if want := "at offset 3 of partition 0: "; !errors.Is(err, deployment.ErrLogFault) ||
		!strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "it is damaged: restore the topic") {
		t.Errorf("refused with %v, want %s and a remedy", err, want)
	}
}

// TestBackPointsFarEnough: a view that begins at a record's Back knows the same turns as one that
// read everything.
func TestBackPointsFarEnough(t *testing.T) {
	const slots = 4
	log := newControlLog(t, slots)
	whole, write := log.whole, log.write
	for turn := uint64(1); turn <= 40; turn++ {
		if turn%7 == 0 {
			write(&schemas.Epoch{})
		}
		write(&schemas.Close{Epoch: whole.Epoch, Turn: whole.Closed + 1})
		if turn > 2 {
			for _, b := range settledParts(t, whole.Epoch, whole.Settled+1, 3) {
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
	whole  *View
	bodies []schemas.ControlBody
}

func newControlLog(t *testing.T, slots int) *controlLog {
	l := &controlLog{t: t, slots: slots, whole: NewView(slots)}
	l.write(&schemas.Header{Counts: inJSON})
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
	late := NewView(l.slots)
	late.BeginAt(back, backEpoch, l.whole.Run)
	for _, b := range l.bodies[back:] {
		must.Succeed(l.t, late.Observe(late.Next, decoded(l.t, b)))
	}
	if late.Settled != l.whole.Settled || late.Closed != l.whole.Closed || late.Epoch != l.whole.Epoch ||
		len(late.CountsEnd[late.Settled]) != len(l.whole.CountsEnd[l.whole.Settled]) {
		l.t.Fatalf("back %d: settled %d of %d, closed %d of %d", back, late.Settled, l.whole.Settled, late.Closed,
			l.whole.Closed)
	}
	for w := max(int64(l.whole.Settled)-int64(l.slots), 0) + 1; w <= int64(l.whole.Settled); w++ {
		if _, ok := late.SettledAt[uint64(w)]; !ok || late.Closes[uint64(w)] == nil {
			l.t.Fatalf("turn %d of %d is not known from back %d", w, l.whole.Settled, back)
		}
	}
}

func generationFrom(epoch int64, from uint64) *schemas.Generation {
	return &schemas.Generation{Epoch: epoch, CountsEnd: []int64{77}, Header: schemas.Header{
		Counts:     inJSON,
		Generation: 2, FromTurn: from, LedgerSlots: 8, Past: []schemas.PastGeneration{{}}}}
}

// TestRuleAChangeBeginsAfterTheLastSettledTurn: a GENERATION counts only in the last epoch and for
// the turn right after the settled one; CLOSEs of that turn and later ones are taken back.
func TestRuleAChangeBeginsAfterTheLastSettledTurn(t *testing.T) {
	v := NewView(64)
	feedView(t, v, &schemas.Header{Counts: inJSON, Generation: 1}, &schemas.Epoch{}) // offsets 0 and 1
	first := v.Header
	for turn := range uint64(4) {
		feedView(t, v, &schemas.Close{Epoch: 1, Turn: turn + 1})
	}
	feedView(t, v, settledParts(t, 1, 1, 1)...)
	feedView(t, v, settledParts(t, 1, 2, 1)...)
	for _, g := range []*schemas.Generation{generationFrom(0, 3), generationFrom(1, 2), generationFrom(1, 4)} {
		feedView(t, v, g)
		if v.Header != first || v.Closed != 4 || v.HeaderAt != 0 {
			t.Fatalf("epoch %d, turn %d: the generation counted", g.Epoch, g.Header.FromTurn)
		}
	}
	feedView(t, v, &schemas.Epoch{})
	epoch := v.Epoch
	feedView(t, v, generationFrom(1, 3))
	if v.Header != first {
		t.Fatal("a generation of an older epoch counted")
	}
	offset := v.Next
	feedView(t, v, generationFrom(epoch, 3))
	if v.Header == first || v.HeaderAt != offset || v.Closed != 2 || v.Closes[3] != nil || v.Closes[4] != nil ||
		v.Closes[2] == nil {
		t.Fatalf("after the change: closed %d, %d CLOSEs", v.Closed, len(v.Closes))
	}
	if v.CountsEnd[2][0] != 77 || v.history != 16 {
		t.Errorf("counts begin at %v, history %d", v.CountsEnd[2], v.history)
	}
	feedView(t, v, &schemas.Close{Epoch: epoch, Turn: 3, Contributions: 5})
	if v.Closed != 3 || v.Closes[3].Contributions != 5 {
		t.Error("the turn could not be closed again")
	}
}

// A monitor must go on while a stage that holds the lock waits for a broker.
func TestTryViewDoesNotWait(t *testing.T) {
	l, looks := &Log{view: NewView(1)}, 0
	l.WithView(func(*View) { l.TryView(func(*View) { looks++ }) })
	if l.TryView(func(*View) { looks++ }); looks != 1 {
		t.Errorf("%d looks, wanted one at the unlocked Log only", looks)
	}
}
