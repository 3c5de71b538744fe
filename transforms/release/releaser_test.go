package release

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// losing returns a Releaser that notes the epochs reported as lost.
func losing(t *testing.T, p Publisher, lost *[]int64) *Releaser {
	t.Helper()
	r := must.Have(New(Options{Metrics: testMetrics(t), Ending: testWindows, Incarnation: [16]byte{1},
		Noise:  noisereduction.NoiseKey{ID: "k", Secret: secret.New([32]byte{1})},
		Counts: schemas.CountsEncoding{Format: schemas.CountsJSON}, Publisher: p, Lost: func(epoch int64) {
			*lost = append(*lost, epoch)
		}}))
	return r
}

// A Releaser never draws along the ladder of another metric.
func TestAPlanOfAnotherLadderIsRefused(t *testing.T) {
	metrics := testMetrics(t)
	plan := must.Have(PlanOf(&metrics[0]))
	o := Options{Metrics: metrics, Plans: []*noisereduction.Plan{plan}, Ending: testWindows,
		Counts: schemas.CountsEncoding{Format: schemas.CountsJSON}, Publisher: &published{}}
	if r, err := New(o); err != nil || r.ladders.plans[0] != plan {
		t.Errorf("the metric's plan: %v", err)
	}
	metrics[0].First = must.Have(units.PrecisionFromSigma(20))
	if _, refused := New(o); refused == nil {
		t.Error("the plan of another first precision is taken")
	}
}

// acknowledged releases a group and waits for it; nil if nothing is acknowledged.
func acknowledged(r *Releaser, blobs [][]byte) (*schemas.Ack, error) {
	pending, err := r.Release(context.Background(), 0, blobs)
	if err != nil || pending == nil {
		return nil, err
	}
	acks, err := pending.Wait(context.Background())
	if err != nil || acks == nil {
		return nil, err
	}
	ack, err := schemas.DecodeAck(acks[0].Data)
	return &ack, err
}

// The values that an earlier epoch has published of the turn are compared, and only missing ones
// are written.
func TestRuleAReleasedValueIsTheSameOrTheRunStops(t *testing.T) {
	first := &published{}
	if ack, err := acknowledged(testReleaser(t, first), twoPartials(t, 1)); err != nil || ack == nil {
		t.Fatal(ack, err)
	}
	a, b := first.there[0], first.there[1]
	with := func(change func(r *Record)) Record {
		r := a
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		there  []Record
		writes int
		stops  bool
	}{
		"nothing":         {nil, 2, false},
		"everything":      {[]Record{a, b}, 0, false},
		"one value":       {[]Record{b}, 1, false},
		"one value twice": {[]Record{b, b}, 1, false},
		"one of a settled turn": {[]Record{with(func(r *Record) {
			r.Release.Turn, r.Value = 0, []byte("x")
		})}, 2, false},
		"another value":               {[]Record{with(func(r *Record) { r.Value = []byte("x") })}, 0, true},
		"two values":                  {[]Record{a, with(func(r *Record) { r.Value = []byte("x") })}, 0, true},
		"two values, the other first": {[]Record{with(func(r *Record) { r.Value = []byte("x") }), a}, 0, true},
		"one that is not due":         {[]Record{a, b, with(func(r *Record) { r.Key = []byte("x") })}, 0, true},
		"one that is not due, of two": {[]Record{a, with(func(r *Record) { r.Key = []byte("x") })}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := &published{there: c.there}
			r := testReleaser(t, p)
			for try := range 2 { // even if the engine repeats the bundle
				ack, err := acknowledged(r, twoPartials(t, 2))
				var stop *spend.StopError
				if stopped := errors.As(err, &stop) && errors.Is(err, ErrConflict); stopped != c.stops ||
					(ack == nil) != c.stops {
					t.Fatalf("try %d: acknowledged %v, %v", try, ack, err)
				}
				if !c.stops && (len(p.values) != c.writes || p.writes != 1) {
					t.Fatalf("try %d: %d values written, want %d, in %d appends", try, len(p.values), c.writes,
						p.writes)
				}
			}
			if c.stops {
				return
			}
			if ack, err := acknowledged(r, partialsOf(t, 2, 2)); err != nil || ack == nil ||
				len(p.values) != c.writes+2 || len(p.epochs) != 1 {
				t.Fatalf("the next turn: acknowledged %v, %v, %d values written", ack, err, len(p.values))
			}
			// The turn again, within the epoch, with another count.
			other := must.Have(schemas.DecodePartial(partialsOf(t, 2, 2)[1]))
			other.Cells[0].Count++
			ack, err := acknowledged(r, [][]byte{partialsOf(t, 2, 2)[0], partialBlob(t, other)})
			if ack != nil || !errors.Is(err, ErrConflict) || len(p.values) != c.writes+2 {
				t.Fatalf("another count: acknowledged %v, %v, %d values written", ack, err, len(p.values))
			}
		})
	}
}

func TestRuleASupersededEpochPublishesAndAcknowledgesNothing(t *testing.T) {
	superseded := fmt.Errorf("fenced: %w", accounts.ErrSuperseded)
	for name, p := range map[string]*published{"taking": {taking: superseded}, "writing": {err: superseded}} {
		var lost []int64
		r := losing(t, p, &lost)
		if ack, err := acknowledged(r, twoPartials(t, 5)); ack != nil || err != nil || !slices.Equal(lost, []int64{5}) {
			t.Errorf("%s: acknowledged %v, %v, lost %v", name, ack, err, lost)
		}
		p.taking, p.err = nil, nil
		if ack, err := acknowledged(r, twoPartials(t, 4)); ack != nil || err != nil || len(p.epochs) != 1 {
			t.Errorf("%s: an older epoch: acknowledged %v, %v, taken in %v", name, ack, err, p.epochs)
		}
		if ack, err := acknowledged(r, twoPartials(t, 6)); ack == nil || err != nil ||
			!slices.Equal(p.epochs, []int64{5, 6}) || len(p.values) != 2 {
			t.Errorf("%s: the newer epoch: acknowledged %v, %v, taken in %v, %d values", name, ack, err, p.epochs,
				len(p.values))
		}
	}
}

// A write that failed may have reached the counts or not: they are read again.
func TestCountsAreTakenAgainAfterAFailedWrite(t *testing.T) {
	p := &published{err: errPlanned}
	r := testReleaser(t, p)
	if ack, err := acknowledged(r, twoPartials(t, 1)); ack != nil || !errors.Is(err, errPlanned) || p.let != 1 {
		t.Fatalf("acknowledged %v, %v, %d writers closed", ack, err, p.let)
	}
	p.err, p.there = nil, p.there[:1]
	if ack, err := acknowledged(r, twoPartials(t, 1)); ack == nil || err != nil || len(p.epochs) != 2 ||
		len(p.values) != 3 {
		t.Errorf("acknowledged %v, %v, taken in %v, %d values", ack, err, p.epochs, len(p.values))
	}
}

func TestATurnIsSettledOnceInAnEpoch(t *testing.T) {
	w := &settledTurns{}
	s := must.Have(NewSettler(testMetrics(t), w))
	for _, c := range []struct {
		epoch  int64
		turn   uint64
		writes int
	}{{1, 4, 1}, {1, 4, 1}, {1, 3, 1}, {2, 4, 2}, {2, 5, 3}, {1, 4, 3}} {
		b := must.Have(schemas.EncodeAck(schemas.Ack{Epoch: c.epoch, Turn: c.turn, ReleaseShards: 1}))
		if err := s.Settle(t.Context(), [][]byte{b}); err != nil || len(w.turns) != c.writes {
			t.Errorf("epoch %d, turn %d: %d settlements, %v", c.epoch, c.turn, len(w.turns), err)
		}
	}
}
