package integration

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// trusted is the content of control and ledger, decoded by the rules of the design without code of
// the pipeline.
type trusted struct {
	epochs  []int64
	closes  map[uint64]schemas.Close   // by every turn of a span
	settled map[uint64]schemas.Settled // the same
	last    uint64                     // the largest turn up to which everything is settled
	ledgers []ledger                   // by shard
	stops   []schemas.Stop
	headers []schemas.Header // of all generations
}

// readTrusted decodes control and ledger and reports what must never stand there.
func (d *deployment) readTrusted() (trusted, error) {
	tr := trusted{closes: map[uint64]schemas.Close{}, settled: map[uint64]schemas.Settled{}}
	if err := tr.readControl(d.records(d.config.Outputs.Control, 0)); err != nil {
		return tr, err
	}
	for shard := range int32(d.config.Shards) {
		l, err := readLedger(schemas.NewLedgerSeal(d.config.Keys.UserHash.Reveal(), int(shard)),
			d.records(d.config.Outputs.Ledger, shard))
		if err != nil {
			return tr, fmt.Errorf("ledger of shard %d: %w", shard, err)
		}
		tr.ledgers = append(tr.ledgers, l)
	}
	return tr, nil
}

// readControl applies the rule of fencing by content: a CLOSE, SETTLED or STOP counts only if its
// epoch is the last EPOCH that counts before it, and an EPOCH unless a run of a greater number has
// taken one.
func (tr *trusted) readControl(records []kafkalog.Record) error {
	epoch, run := int64(-1), int64(-1)
	parts := map[uint64][]schemas.Settled{}
	for _, r := range records {
		c, err := schemas.DecodeControl(r.Value)
		if err != nil {
			return fmt.Errorf("control record %d: %w", r.Offset, err)
		}
		switch body := c.Body.(type) {
		case *schemas.Header:
			if r.Offset != 0 {
				return fmt.Errorf("control record %d is a second HEADER", r.Offset)
			}
			tr.headers = append(tr.headers, *body)
		case *schemas.Generation:
			if body.Epoch != epoch || body.Header.FromTurn != tr.last+1 {
				continue
			}
			tr.headers = append(tr.headers, body.Header)
			// taken back
			maps.DeleteFunc(tr.closes, func(turn uint64, _ schemas.Close) bool { return turn >= body.Header.FromTurn })
		case *schemas.Epoch:
			if body.Settled > tr.last {
				return fmt.Errorf("EPOCH at %d starts after turn %d, settled is %d", r.Offset, body.Settled, tr.last)
			}
			if body.Run < run {
				continue // of an older run, which started slowly
			}
			epoch, run = r.Offset, body.Run
			tr.epochs = append(tr.epochs, epoch)
		case *schemas.Close:
			if body.Epoch != epoch {
				continue
			}
			if err := tr.addClose(*body); err != nil {
				return err
			}
		case *schemas.Settled:
			if body.Epoch != epoch {
				continue
			}
			parts[body.Turn] = append(keepSet(parts[body.Turn], *body), *body)
			if err := tr.addSettled(parts[body.Turn]); err != nil {
				return err
			}
		case *schemas.Stop:
			if body.Epoch != epoch {
				continue
			}
			tr.stops = append(tr.stops, *body)
		}
	}
	return nil
}

// first returns the first turn of the span that a turn was closed with.
func (tr *trusted) first(turn uint64) uint64 { return tr.closes[turn].First }

// keepSet drops parts that belong to another writing of the turn.
func keepSet(parts []schemas.Settled, next schemas.Settled) []schemas.Settled {
	return slices.DeleteFunc(parts, func(p schemas.Settled) bool {
		return p.Epoch != next.Epoch ||
			p.Digest != next.Digest
	})
}

func (tr *trusted) addClose(c schemas.Close) error {
	for turn := c.First; turn <= c.Turn; turn++ {
		known, again := tr.closes[turn]
		if again && !slices.EqualFunc(known.Cuts, c.Cuts, func(a, b schemas.Cut) bool {
			return a.Partition == b.Partition && a.Cut == b.Cut
		}) {
			return fmt.Errorf("turn %d was closed twice with different cuts", turn)
		}
		if again && (known.First != c.First || known.Turn != c.Turn) {
			return fmt.Errorf("turn %d was closed twice, with turns %d to %d and %d to %d", turn, known.First,
				known.Turn, c.First, c.Turn)
		}
	}
	if c.First > 1 {
		if before, ok := tr.closes[c.First-1]; !ok || before.Turn != c.First-1 {
			return fmt.Errorf("turn %d was closed and does not follow the turns that were closed before it", c.First)
		}
	}
	for turn := c.First; turn <= c.Turn; turn++ {
		tr.closes[turn] = c
	}
	return nil
}

func (tr *trusted) addSettled(parts []schemas.Settled) error {
	whole, err := schemas.JoinSettled(parts)
	if errors.Is(err, schemas.ErrIncomplete) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("SETTLED of turn %d: %w", parts[0].Turn, err)
	}
	if known, again := tr.settled[whole.Turn]; again {
		if !sameKeys(known.Keys, whole.Keys) {
			return fmt.Errorf("turn %d was settled twice with different keys", whole.Turn)
		}
		return nil
	}
	if whole.First != tr.last+1 {
		return fmt.Errorf("turn %d was settled right after turn %d", whole.First, tr.last)
	}
	if c, closed := tr.closes[whole.Turn]; !closed || c.First != whole.First || c.Turn != whole.Turn {
		return fmt.Errorf("turns %d to %d were settled, and no CLOSE is theirs", whole.First, whole.Turn)
	}
	for turn := whole.First; turn <= whole.Turn; turn++ {
		tr.settled[turn] = whole
	}
	tr.last = whole.Turn
	return nil
}

func sameKeys(a, b []schemas.SettledKey) bool {
	order := func(x, y schemas.SettledKey) int {
		return slices.Compare(schemas.EncodeReleaseKey(fmt.Sprint(x.Metric), x.WindowStart, x.Key),
			schemas.EncodeReleaseKey(fmt.Sprint(y.Metric), y.WindowStart, y.Key))
	}
	a, b = slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order)
	return slices.EqualFunc(a, b, func(x, y schemas.SettledKey) bool {
		return order(x, y) == 0 &&
			x.Precision == y.Precision
	})
}

// completeTurn reports whether every shard has its delta of a turn, or a snapshot that holds it.
func (tr trusted) completeTurn(turn uint64) bool {
	for _, l := range tr.ledgers {
		_, ok := l.deltas[turn]
		for snapshot := range l.snapshots {
			ok = ok || snapshot >= turn
		}
		if !ok {
			return false
		}
	}
	return true
}
