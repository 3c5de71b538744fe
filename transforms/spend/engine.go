package spend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

const (
	minLedgerSlots  = 4
	maxLedgerRecord = 900 << 10 // below the usual message limit of 1 MiB
)

// Blob is one encoded message to a shard of the next stage.
type Blob struct {
	Shard int
	Data  []byte
}

// Pending is work whose writes are not yet durable. Wait waits for them and returns the results.
type Pending interface {
	Wait(ctx context.Context) ([]Blob, error)
}

// Options are the dependencies of an Engine.
type Options struct {
	Rules       *Rules
	Ledger      accounts.LedgerStore
	Settlements Settlements
	// Ending returns the metric windows that end with a turn, in admission order.
	Ending func(turn uint64) []schemas.MetricWindow
	// Windows maps windows to turns. nil: a window is one turn's slice, and budgets are for life.
	Windows Windows
	// Lost, if set, is called when another writer has acquired a shard. epoch is this engine's
	// epoch. Unless the other writer belongs to a newer run, the turn must be opened again in a new
	// epoch.
	Lost func(epoch int64)
}

// Engine is the SPEND stage without Beam. It decides the turns of the shards that are assigned to
// this process. The ledger is the authoritative copy of the accounts. The engine's memory is only a
// cache; it uses no keyed state. Safe for concurrent use; a shard's turns are serialised.
type Engine struct {
	opts      Options
	maxRecord int // maximum size of a ledger record, in bytes
	// scratch holds memory for decisions, one element for each core. This limits the number of
	// shards that are decided at a time, and so the decoded contributions in memory.
	scratch chan *scratch
	mu      sync.Mutex
	shards  map[int]*shard
}

// shard is the state of one shard in this process.
type shard struct {
	mu    sync.Mutex
	epoch int64
	last  uint64 // the last decided turn of the epoch
	// observe, if set, is called for every charge since the oldest usable snapshot.
	observe onCharge
	restorable
}

// restorable is the part of a shard's state that is restored from the ledger after a failed turn.
type restorable struct {
	writer   accounts.LedgerWriter
	accounts *shardAccounts              // nil: must be restored
	wait     func(context.Context) error // waits for the append of the decided turn; nil if there is no append

	laterDeltas map[uint64]schemas.Delta // complete deltas after the settled turn, read when the shard was acquired
	snapshot    uint64                   // turn of the newest snapshot
	slot        int                      // slot of that snapshot
}

// NewEngine checks the options and returns an engine.
func NewEngine(o Options) (*Engine, error) {
	if o.Rules == nil || o.Ledger == nil || o.Settlements == nil || o.Ending == nil {
		return nil, errors.New("creating an engine: Rules, Ledger, Settlements and Ending are required")
	}
	if o.Windows == nil {
		o.Windows = oneSlice{}
	}
	e := &Engine{opts: o, maxRecord: maxLedgerRecord, shards: map[int]*shard{},
		scratch: make(chan *scratch, runtime.GOMAXPROCS(0))}
	for range cap(e.scratch) {
		e.scratch <- nil // allocated on first use
	}
	return e, nil
}

func (e *Engine) shard(n int) *shard {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, ok := e.shards[n]
	if !ok {
		s = &shard{epoch: -1}
		e.shards[n] = s
	}
	return s
}

// Spend decides one turn of a shard from the blobs in an envelope. It returns a nil Pending if
// there is nothing to decide: there is no OPEN, the turn has been settled, or a newer epoch owns
// the shard. A *StopError means that the deployment must stop.
func (e *Engine) Spend(ctx context.Context, n int, blobs [][]byte) (Pending, error) {
	open, batches, err := readEnvelope(n, blobs)
	if err != nil || open == nil {
		return nil, err
	}
	if int(open.Shards) != e.opts.Rules.Shards || open.Turn == 0 {
		return nil, &StopError{Shard: n, Turn: open.Turn, Reason: "the turn was opened for another number of shards"}
	}
	s := e.shard(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	if open.Epoch < s.epoch || (open.Epoch == s.epoch && open.Turn < s.last) {
		return nil, nil // a restore of the engine repeats the turn
	}
	pending, err := e.spend(ctx, n, s, open, batches)
	if err != nil {
		s.forget()
		if errors.Is(err, accounts.ErrSuperseded) {
			e.lost(open.Epoch)
			return nil, nil
		}
		if errors.Is(err, errAlreadySettled) {
			return nil, nil
		}
		return nil, err
	}
	s.last = open.Turn
	return pending, nil
}

// lost reports to the caller that another writer has acquired a shard.
func (e *Engine) lost(epoch int64) {
	if e.opts.Lost != nil {
		e.opts.Lost(epoch)
	}
}

func (s *shard) forget() { s.restorable = restorable{} }

func (e *Engine) spend(ctx context.Context, n int, s *shard, open *schemas.Open, batches [][]byte) (Pending, error) {
	if err := e.restore(ctx, n, s, open); err != nil {
		return nil, err
	}
	if s.hasDecided(open) { // the engine repeats the bundle within the epoch
		return e.pendingPartials(n, s, open)
	}
	if err := e.chargeDecided(ctx, n, s.accounts); err != nil {
		return nil, err
	}
	records, err := e.snapshotRecords(n, s, open)
	if err != nil {
		return nil, err
	}
	delta, err := e.decideTurn(n, s, open, batches)
	if err != nil {
		return nil, err
	}
	s.laterDeltas = nil
	s.write(ctx, append(records, delta...))
	return e.pendingPartials(n, s, open)
}

// decideTurn decides the open turn. It returns the delta's records that the ledger lacks.
func (e *Engine) decideTurn(n int, s *shard, open *schemas.Open, batches [][]byte) ([]schemas.LedgerRecord, error) {
	s.accounts.scratch = cmp.Or(<-e.scratch, new(scratch))
	defer func() {
		s.accounts.scratch.invalidate()
		e.scratch <- s.accounts.scratch
	}()
	d, err := e.applyOrDecide(n, s, open, batches)
	if err != nil {
		return nil, err
	}
	records, err := e.deltaRecords(s, d)
	d.Users = nil // they may use the memory of the scratch
	return records, err
}

// applyOrDecide returns the delta of the open turn. If the turn must be redone from the ledger
// alone, it applies the delta in the ledger. Otherwise it decides the turn from the events; if the
// ledger also contains a delta, the two must be equal.
func (e *Engine) applyOrDecide(n int, s *shard, open *schemas.Open, batches [][]byte) (*schemas.Delta, error) {
	turn := open.Turn
	logged, known := s.laterDeltas[turn]
	if open.FromLedger {
		if !known {
			return nil, &StopError{Shard: n, Turn: turn,
				Reason: "the turn must be redone from the ledger, which does not contain it"}
		}
		if err := s.accounts.applyDelta(&logged, e.opts.Ending(turn)); err != nil {
			return nil, &StopError{Shard: n, Turn: turn, Reason: "the ledger's decisions cannot be applied", Err: err}
		}
		return &logged, nil
	}
	contributions, err := s.accounts.scratch.decode(n, open, batches)
	if err != nil {
		return nil, err
	}
	slice, records, err := mergeBatches(e.opts.Rules, &s.accounts.scratch.merged, contributions)
	if err != nil {
		return nil, err
	}
	slice.removeForgotten(s.accounts)
	for i := range slice.users {
		if schemas.ShardOf(slice.users[i].ID, e.opts.Rules.Shards) != n {
			return nil, &StopError{Shard: n, Turn: turn, Reason: errMisrouted}
		}
	}
	d, err := s.accounts.decide(turn, e.opts.Ending(turn), slice, records)
	if err != nil {
		return nil, err
	}
	d.Epoch = open.Epoch
	if known && logged.BodyDigest() != d.BodyDigest() {
		return nil, &StopError{Shard: n, Turn: turn,
			Reason: "the events and the ledger lead to different decisions (has the log or the configuration changed?)"}
	}
	return d, nil
}

// chargeDecided charges the decided turn of the shard, if there is one.
func (e *Engine) chargeDecided(ctx context.Context, n int, a *shardAccounts) error {
	if a.decided == nil {
		return nil
	}
	s, err := e.opts.Settlements.Settlement(ctx, a.turn)
	if err != nil {
		return fmt.Errorf("charging turn %d: %w", a.turn, err)
	}
	if err := a.charge(s); err != nil {
		return &StopError{Shard: n, Turn: a.turn, Reason: "the turn cannot be charged", Err: err}
	}
	return nil
}

// pendingPartials returns the partial counts of the decided turn. They wait for the append of the
// turn's delta, even if the engine repeats the bundle: the first attempt may not have waited.
func (e *Engine) pendingPartials(n int, s *shard, open *schemas.Open) (Pending, error) {
	blobs, err := s.accounts.partials(n, open)
	if err != nil {
		return nil, err
	}
	return &partialCounts{shard: s, epoch: open.Epoch, wait: s.wait, lost: e.lost, blobs: blobs}, nil
}

// partialCounts is a Pending with the counts of a turn. It passes them on when the delta is
// durable, unless a newer epoch owns the shard.
type partialCounts struct {
	shard *shard
	epoch int64
	wait  func(context.Context) error
	lost  func(epoch int64)
	blobs []Blob
}

// Wait implements Pending.
func (h *partialCounts) Wait(ctx context.Context) ([]Blob, error) {
	if h.wait == nil {
		return h.blobs, nil
	}
	err := h.wait(ctx)
	if err == nil {
		return h.blobs, nil
	}
	h.shard.mu.Lock()
	if h.shard.epoch == h.epoch {
		h.shard.forget()
	}
	h.shard.mu.Unlock()
	if errors.Is(err, accounts.ErrSuperseded) {
		h.lost(h.epoch)
		return nil, nil
	}
	return nil, fmt.Errorf("writing the ledger: %w", err)
}

// readEnvelope returns the OPEN and the encoded contributions of the newest epoch among a shard's
// blobs. It ignores the blobs of older epochs, which a restore of the engine repeats. The OPEN is
// nil unless the readers of all groups have opened the same turn: a reader that has ended, or is in
// a newer epoch, does not contribute to the tick.
func readEnvelope(n int, blobs [][]byte) (*schemas.Open, [][]byte, error) {
	newest := int64(-1)
	for _, b := range blobs {
		_, epoch, _, err := schemas.PeekEpoch(b)
		if err != nil {
			return nil, nil, fmt.Errorf("reading an envelope: %w", err)
		}
		newest = max(newest, epoch)
	}
	var open *schemas.Open
	var batches [][]byte
	opens := map[uint32]schemas.Open{} // by group
	for _, b := range blobs {
		kind, epoch, _, err := schemas.PeekEpoch(b)
		if err != nil {
			return nil, nil, fmt.Errorf("reading an envelope: %w", err)
		}
		if epoch != newest {
			continue
		}
		switch kind {
		case schemas.KindOpen:
			o, err := schemas.DecodeOpen(b)
			if err != nil {
				return nil, nil, fmt.Errorf("reading an envelope: %w", err)
			}
			opens[o.Group] = o
			if o.Group == 0 {
				open = &o
			}
		case schemas.KindContributions:
			batches = append(batches, b)
		default:
			return nil, nil, fmt.Errorf("reading an envelope of shard %d: it contains a blob of kind %d, which does "+
				"not belong there", n, kind)
		}
	}
	if open == nil {
		return nil, nil, nil
	}
	if int(open.Shard) != n {
		return nil, nil, &StopError{Shard: n, Turn: open.Turn, Reason: errMisrouted}
	}
	for g := uint32(1); g < open.Groups; g++ {
		if o, ok := opens[g]; !ok || o.Turn != open.Turn {
			return nil, nil, nil
		}
	}
	return open, batches, nil
}

// decode decodes the batches and returns the contributions to the open turn.
func (s *scratch) decode(n int, open *schemas.Open, batches [][]byte) ([]schemas.Contributions, error) {
	var current []schemas.Contributions
	for _, b := range batches {
		c, err := schemas.DecodeContributions(&s.batches, b)
		switch {
		case err != nil:
			return nil, fmt.Errorf("reading an envelope: %w", err)
		case int(c.Shard) != n:
			return nil, &StopError{Shard: n, Turn: open.Turn, Reason: errMisrouted}
		case c.Turn == open.Turn:
			current = append(current, c)
		}
	}
	return current, nil
}

// errMisrouted is the reason for a STOP: in another shard, the user would have a second account.
const errMisrouted = "the engine handed over elements of another shard"
