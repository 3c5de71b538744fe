package pipeline

import (
	"errors"
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

func settledJoint(t *testing.T, epoch int64, first, turn uint64) schemas.ControlBody {
	t.Helper()
	parts, err := schemas.SplitSettled(schemas.Settled{Epoch: epoch, First: first, Turn: turn, CountsEnd: []int64{int64(turn)}}, 1<<10)
	if err != nil || len(parts) != 1 {
		t.Fatal(len(parts), err)
	}
	return &parts[0]
}

// A joint is closed and settled as one: by a CLOSE that begins behind the last one,
// and by a SETTLED of exactly its turns.
func TestAJointIsClosedAndSettledAsOne(t *testing.T) {
	v := newView(64)
	v.beginAt(0, -1, -1)
	feedView(t, v, &schemas.Header{}, &schemas.Epoch{}, closeOf(1, 1, 1), closeOf(1, 3, 5), closeOf(1, 1, 4), closeOf(1, 2, 5))
	if v.closed != 5 || v.closes[1] == v.closes[2] || v.closes[2] != v.closes[5] || v.closes[2].First != 2 {
		t.Fatalf("closed %d", v.closed)
	}
	feedView(t, v, settledJoint(t, 1, 1, 1), settledJoint(t, 1, 2, 2), settledJoint(t, 1, 2, 4))
	if v.settled != 1 {
		t.Fatalf("settled %d by a SETTLED of a part of the joint", v.settled)
	}
	feedView(t, v, settledJoint(t, 1, 2, 5))
	if v.settled != 5 || v.countsEnd[5][0] != 5 {
		t.Fatalf("settled %d", v.settled)
	}
	for turn := uint64(2); turn <= 5; turn++ {
		if s := v.settlements[turn]; s == nil || s.First != 2 || s.Turn != 5 || v.settledAt[turn] != v.settledAt[5] {
			t.Errorf("turn %d of the joint is not found", turn)
		}
	}
}

// What is forgotten of settled turns, and where a later reader must begin, with
// joints as without.
func TestBackPointsFarEnoughBehindJoints(t *testing.T) {
	const slots = 16
	log := newControlLog(t, slots)
	whole, write := log.whole, log.write
	for i := range uint64(60) {
		first := whole.closed + 1
		write(closeOf(whole.epoch, first, first+i%4))
		if c := whole.closes[whole.settled+1]; i > 1 {
			write(settledJoint(t, whole.epoch, c.First, c.Turn))
		}
		if n := len(whole.settlements); n > 2*keepSettlements {
			t.Fatalf("%d settlements are kept", n)
		}
		if n := len(whole.closes); n > 2*slots+12 {
			t.Fatalf("%d CLOSEs are kept", n)
		}
		log.checkBack()
	}
	if back, _ := whole.back(); back == 0 {
		t.Error("back never moved")
	}
}

// Which turns are joined: as many as have passed where nothing else is closed ahead
// of settlement, else full joints only; never a turn that has not passed.
func TestJointsAreOfTurnsThatHavePassed(t *testing.T) {
	for _, c := range []struct {
		most                    int
		passed, closed, settled uint64
		want                    []uint64
	}{
		{1, 3, 0, 0, []uint64{1, 2, 3}},
		{1, 99, 5, 2, []uint64{6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}}, // 16 ahead of settlement
		{4, 0, 0, 0, nil},
		{4, 1, 0, 0, []uint64{1}},
		{4, 3, 0, 0, []uint64{3}},
		{4, 9, 0, 0, []uint64{4, 8}}, // the ninth waits for settlement, not for a tenth
		{4, 9, 8, 4, nil},
		{4, 9, 8, 8, []uint64{9}},
		{4, 99, 0, 0, []uint64{4, 8, 12, 16}},
		{16, 99, 3, 3, []uint64{19, 35}},
	} {
		r := &reader{dep: &Deployment{Config: Config{CatchUp: c.most}, Metrics: make([]CompiledMetric, 1)}}
		r.fates.turns = &turns{tables: []table{{first: 1, terms: []term{{1000, 1}}}}}
		r.partitions = []*partition{{appendTime: int64(c.passed) * 1000, end: forever, idleUntil: never}}
		var got []uint64
		for closed := c.closed; ; {
			last := r.joint(closed, c.settled)
			if last == closed {
				break
			}
			got, closed = append(got, last), last
		}
		if len(got) != len(c.want) {
			t.Errorf("%+v: closed up to %v", c, got)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%+v: closed up to %v", c, got)
			}
		}
	}
}

func TestCatchUpIsAQuarterOfTheSlotsAtMost(t *testing.T) {
	for _, c := range []struct {
		turns, slots int
		ok           bool
	}{{0, 4, true}, {1, 4, true}, {2, 4, false}, {2, 7, false}, {2, 8, true}, {16, 64, true}, {17, 640, false}, {-1, 64, false}, {4, 15, false}} {
		cfg := testConfig("localhost:1")
		cfg.CatchUp, cfg.LedgerSlots = c.turns, c.slots
		_, err := Compile(cfg)
		var bad *ConfigError
		if c.ok && err != nil || !c.ok && (!errors.As(err, &bad) || bad.Field != "catch_up") {
			t.Errorf("%d turns in %d slots: %v", c.turns, c.slots, err)
		}
	}
}
