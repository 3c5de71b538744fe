package transforms

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

func TestACheckpointLeavesTheRest(t *testing.T) {
	restriction, next := Restriction{Epoch: 3, Calls: 7, Tick: 5}, Restriction{Epoch: 3, Calls: 8, Tick: 6}
	tr := &restrictionTracker{current: restriction}
	if tr.IsDone() || tr.IsBounded() {
		t.Fatal("a restriction with work left is done, or bounded")
	}
	if !tr.TryClaim(next) || tr.IsDone() {
		t.Fatal("a step was refused, or ended the restriction")
	}
	primary, residual, err := tr.TrySplit(0)
	if err != nil || residual != next || primary != (Restriction{Done: true}) {
		t.Fatalf("checkpoint into %+v and %+v (%v)", primary, residual, err)
	}
	if !tr.IsDone() || tr.GetError() != nil {
		t.Fatal("a checkpointed call is not done")
	}
	if tr.TryClaim(next) {
		t.Fatal("a checkpointed call took another step")
	}
	if _, residual, _ := tr.TrySplit(0); residual != nil {
		t.Fatal("the rest was handed out twice")
	}
	if tr.GetRestriction() != restriction {
		t.Fatal("the call's own position changed")
	}
}

// TestSplitsOfAnOpenEndedReadAreRefused: one Read over all partitions.
func TestSplitsOfAnOpenEndedReadAreRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		restriction := Restriction{Tick: 1}
		tr := &restrictionTracker{current: restriction}
		claimed := rapid.Bool().Draw(t, "claimed")
		if claimed {
			tr.TryClaim(Restriction{Tick: 2})
		}
		fraction := rapid.Float64Range(1e-9, 1).Draw(t, "fraction")
		primary, residual, err := tr.TrySplit(fraction)
		if err != nil || residual != nil || primary != restriction || tr.IsDone() {
			t.Fatalf("split at %v into %+v and %+v (%v)", fraction, primary, residual, err)
		}
	})
}

func TestACheckpointBeforeTheStepIsRefused(t *testing.T) {
	tr := &restrictionTracker{current: Restriction{Tick: 1}}
	if _, residual, err := tr.TrySplit(0); residual != nil || err != nil || tr.IsDone() {
		t.Fatal("a call that has not claimed was cut off: its step would be lost")
	}
	if !tr.TryClaim(Restriction{Tick: 2}) {
		t.Fatal("the step was refused then")
	}
}

func TestTheLastStepEndsTheRestriction(t *testing.T) {
	tr := &restrictionTracker{current: Restriction{Tick: 1}}
	if !tr.TryClaim(Restriction{Tick: 1, Done: true}) || !tr.IsDone() {
		t.Fatal("the last step does not end the restriction")
	}
	if _, residual, _ := tr.TrySplit(0); residual != nil {
		t.Fatal("there is a rest after the last step")
	}
	if !(&restrictionTracker{current: Restriction{Done: true}}).IsDone() {
		t.Fatal("a finished restriction is not done")
	}
	if (&restrictionTracker{}).TryClaim("no position") {
		t.Fatal("something else than a position was claimed")
	}
}

// TestADrainByTheEngineEndsReading: a truncated restriction has no step left.
func TestADrainByTheEngineEndsReading(t *testing.T) {
	f := &readFn{Layout: Layout{Readers: []int{5, 3}}}
	rest := f.CreateInitialRestriction(3)
	if rest.Group != 1 || rest.Done || rest.Tick != 1 || rest.Epoch != -1 {
		t.Fatalf("reading begins at %+v", rest)
	}
	if got := f.SplitRestriction(3, rest); len(got) != 1 || got[0] != rest {
		t.Fatalf("split at the start into %v", got)
	}
	if got := f.TruncateRestriction(f.CreateTracker(rest), 3); !got.Done {
		t.Fatalf("truncated to %+v", got)
	}
	if f.RestrictionSize(3, rest) <= 0 {
		t.Fatal("a restriction of no size may never be read")
	}
}

// TestTheWatermarkStandsAtTheNextTick: everything of a tick is before its end,
// everything of the next at it or after.
func TestTheWatermarkStandsAtTheNextTick(t *testing.T) {
	f := &readFn{}
	for _, tick := range []int64{1, 2, 1 << 30} {
		rest := Restriction{Tick: tick}
		w := f.CreateWatermarkEstimator(f.InitialWatermarkEstimatorState(0, rest, 3))
		if got, want := w.CurrentWatermark(), tickStart(tick).ToTime(); !got.Equal(want) {
			t.Errorf("tick %d: watermark %v, want %v", tick, got, want)
		}
		if f.WatermarkEstimatorState(w) != int64(tickStart(tick)) {
			t.Errorf("tick %d: the watermark's state does not come back", tick)
		}
		if d := tickStart(tick + 1).ToTime().Sub(tickStart(tick).ToTime()); d != tickLength {
			t.Errorf("tick %d is %v long", tick, d)
		}
	}
}

func pack(t testing.TB, blobs [][]byte) []byte {
	t.Helper()
	var packed []byte
	i := 0
	next := func(b *[]byte) bool {
		if i == len(blobs) {
			return false
		}
		*b = blobs[i]
		i++
		return true
	}
	if err := (&packFn{}).ProcessElement(0, next, func(_ int, p []byte) { packed = p }); err != nil {
		t.Fatal(err)
	}
	return packed
}

func TestPacksComeApartAsTheyWere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 200)).Draw(rt, "blobs")
		got, err := Unpack(pack(t, want))
		if err != nil || len(got) != len(want) {
			rt.Fatalf("%d blobs of %d (%v)", len(got), len(want), err)
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				rt.Fatalf("blob %d differs", i)
			}
		}
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(pack(f, [][]byte{nil, []byte("a"), bytes.Repeat([]byte{7}, 300)}))
	f.Add([]byte{5, 1})
	f.Add(binary.AppendUvarint(nil, 1<<63))
	f.Add(bytes.Repeat([]byte{0xff}, 11))
	f.Fuzz(func(t *testing.T, packed []byte) {
		blobs, err := Unpack(packed)
		if err != nil {
			return
		}
		size := 0
		for _, b := range blobs {
			size += len(b)
		}
		if size > len(packed) {
			t.Fatal("more came out than went in")
		}
		again, err := Unpack(pack(t, blobs))
		if err != nil || len(again) != len(blobs) {
			t.Fatalf("packed again: %d blobs of %d (%v)", len(again), len(blobs), err)
		}
	})
}
