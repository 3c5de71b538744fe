package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

var errPlanned = errors.New("planned")

func testMetrics(t *testing.T) []schemas.MetricSpec {
	t.Helper()
	u := must.Have(units.PrecisionFromSigma(10))
	return []schemas.MetricSpec{{Name: "m", Kind: "events", WindowSize: 1000, WindowSlide: 1000, MaxKeysPerUser: 1,
		MaxEventsPerKey: 1, LadderKind: "geometric", LadderFactor: 2, First: u, Top: u, Confidence: 0.95,
		KeyMode: "public", PublicKeys: [][]byte{[]byte("a"), []byte("b")}}}
}

func testWindows(turn uint64) []schemas.MetricWindow {
	return []schemas.MetricWindow{{WindowStart: int64(turn-1) * 1000, WindowEnd: int64(turn) * 1000}}
}

// published keeps what a Publisher was given.
type published struct {
	values []schemas.Release
	there  []Record // the values that Acquire finds
	epochs []int64  // their epochs
	taking error
	err    error
	closed bool
	writes int // appends
	let    int // writers that were closed
}

func (p *published) Acquire(_ context.Context, _ int, epoch int64, settled uint64,
	each func(turn uint64, key, value []byte) error) (CountsWriter, error) {
	p.epochs = append(p.epochs, epoch)
	for _, r := range p.there {
		if err := each(r.Release.Turn, r.Key, r.Value); err != nil {
			return nil, fmt.Errorf("reading what stands after turn %d: %w", settled, err)
		}
	}
	return publishedShard{p}, p.taking
}

type publishedShard struct{ *published }

func (p publishedShard) Append(_ context.Context, _ uint64, records []Record) func(context.Context) (int64, error) {
	p.writes++
	p.there = append(p.there, records...)
	for _, r := range records {
		p.values = append(p.values, r.Release)
	}
	return func(context.Context) (int64, error) { return int64(len(p.there)), p.err }
}

func (p publishedShard) Close() error {
	p.let++
	return nil
}

func (p *published) Close() error {
	p.closed = true
	return nil
}

func testReleaser(t *testing.T, p Publisher) *Releaser {
	t.Helper()
	r := must.Have(New(Options{Metrics: testMetrics(t), Ending: testWindows, Incarnation: [16]byte{1},
		Noise:  noisereduction.NoiseKey{ID: "k", Secret: secret.New([32]byte{1})},
		Counts: schemas.CountsEncoding{Format: schemas.CountsJSON}, Publisher: p}))
	return r
}

func partialBlob(t *testing.T, p schemas.Partial) []byte {
	t.Helper()
	return must.Have(schemas.EncodePartial(p))
}

// twoPartials returns the partials of two shards, for one release shard.
func twoPartials(t *testing.T, epoch int64) [][]byte {
	t.Helper()
	return partialsOf(t, epoch, 1)
}

func partialsOf(t *testing.T, epoch int64, turn uint64) [][]byte {
	t.Helper()
	end := int64(turn) * 1000
	head := schemas.Partial{Epoch: epoch, Turn: turn, Shards: 2, ReleaseShards: 1, Records: 3, Total: 6,
		Cells: []schemas.Cell{{WindowStart: end - 1000, WindowEnd: end, Key: []byte("a"), Count: 2}}}
	second := head
	second.Shard = 1
	return [][]byte{partialBlob(t, second), partialBlob(t, head)}
}

func TestReleaserPublishesPublicKeysOfACompleteTurn(t *testing.T) {
	p := &published{}
	r := testReleaser(t, p)
	blobs := twoPartials(t, 3)
	for name, incomplete := range map[string][][]byte{"nothing": nil, "a shard is missing": blobs[:1],
		"the newest is incomplete": append(twoPartials(t, 2), blobs[0])} {
		if pending, err := r.Release(t.Context(), 0, incomplete); pending != nil || err != nil {
			t.Errorf("%s: %v, %v", name, pending, err)
		}
	}
	pending := must.Have(r.Release(t.Context(), 0, append(blobs, blobs[0])))
	acks, err := pending.Wait(t.Context())
	if err != nil || len(acks) != 1 {
		t.Fatal(acks, err)
	}
	ack, err := schemas.DecodeAck(acks[0].Data)
	if err != nil || ack.Epoch != 3 || ack.Turn != 1 || len(ack.Keys) != 2 || len(p.values) != 2 {
		t.Fatalf("%d keys acknowledged, %d published, %v", len(ack.Keys), len(p.values), err)
	}
	if ack.CountsEnd != 2 {
		t.Errorf("the counts end at %d", ack.CountsEnd)
	}
	again := &published{}
	if _, err := testReleaser(t, again).Release(t.Context(), 0, blobs); err != nil ||
		!reflect.DeepEqual(p.values, again.values) {
		t.Fatal("the same group again gives other values", err)
	}
	if _, err := r.Release(t.Context(), 0, blobs); err != nil || p.writes != 1 {
		t.Fatal("the same group again was published again", err)
	}
	p.err = errPlanned
	if pending, err = r.Release(t.Context(), 0, blobs); err != nil {
		t.Fatal(err)
	}
	if _, err := pending.Wait(t.Context()); !errors.Is(err, errPlanned) {
		t.Error("acknowledged what is not published:", err)
	}
	if err := r.Close(); err != nil || !p.closed {
		t.Error("the publisher was not closed", err)
	}
}

func TestReleaserRefusesLostRecords(t *testing.T) {
	for _, records := range []uint64{0, 3, 5} {
		p := &published{}
		head := schemas.Partial{Epoch: 1, Turn: 7, Shards: 1, ReleaseShards: 1, Records: records, Total: 4}
		_, err := testReleaser(t, p).Release(t.Context(), 0, [][]byte{partialBlob(t, head)})
		var stop *spend.StopError
		if !errors.As(err, &stop) || stop.Turn != 7 || len(p.values) != 0 {
			t.Errorf("%d records of 4: %v, %d values published; want a stop at turn 7", records, err, len(p.values))
		}
	}
}

func TestSettlerNeedsAllAcknowledgements(t *testing.T) {
	w := &settledTurns{}
	s := must.Have(NewSettler(testMetrics(t), w))
	var acks [][]byte
	for shard := range uint32(2) {
		b := must.Have(schemas.EncodeAck(schemas.Ack{Epoch: 1, Turn: 4, ReleaseShard: shard, ReleaseShards: 2,
			Keys: []schemas.SettledKey{{Key: []byte{'a' + byte(shard)}}}}))
		acks = append(acks, b)
	}
	for _, incomplete := range [][][]byte{nil, acks[:1], {acks[1], acks[1]}} {
		if err := s.Settle(t.Context(), incomplete); err != nil || len(w.turns) != 0 {
			t.Fatal("settled with an acknowledgement missing", err)
		}
	}
	if err := s.Settle(t.Context(), [][]byte{acks[1], acks[0]}); err != nil || len(w.turns) != 1 {
		t.Fatal(err)
	}
	got := w.turns[0]
	if got.Turn != 4 || len(got.FirstRungs) != 1 || len(got.Keys) != 2 || !bytes.Equal(got.Keys[0].Key, []byte("a")) {
		t.Errorf("settled %+v", got)
	}
}

type settledTurns struct{ turns []schemas.Settled }

func (w *settledTurns) WriteSettlement(_ context.Context, s schemas.Settled) error {
	w.turns = append(w.turns, s)
	return nil
}
