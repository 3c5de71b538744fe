package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Control holds the contents of the control topic. Package audit interprets them on its own,
// without the code that a run uses.
type Control struct {
	Headers []schemas.Header // of all generations, oldest first
	Closes  map[uint64]schemas.Close
	Settled map[uint64]schemas.Settled
	Last    uint64 // the last settled turn; all turns before it are settled too
	Stops   []schemas.Stop
	Epochs  []int64
	Forgets []uint64 // turns after which a user was forgotten
	// Differences lists records that no correct run writes.
	Differences []Difference

	epoch, run int64                        // the epoch in force and the number of the run that began it
	parts      map[uint64][]schemas.Settled // by turn, until its SETTLED is complete
	ahead      map[int32]map[int64]bool     // by partition: offsets of records ahead of a reader's clock
}

// ReadControl reads the control topic. Errors: schemas.ErrMalformed, schemas.ErrVersion, or the
// broker's error.
func ReadControl(ctx context.Context, client *kafkalog.Client, topic string) (*Control, error) {
	c := &Control{Closes: map[uint64]schemas.Close{}, Settled: map[uint64]schemas.Settled{}, epoch: -1, run: -1,
		parts: map[uint64][]schemas.Settled{}, ahead: map[int32]map[int64]bool{}}
	err := readAll(ctx, client, topic, 0, func(r kafkalog.Record) error {
		if !schemas.Ours(r.Value) {
			return nil // a foreign record, which runs ignore
		}
		record, err := schemas.DecodeControl(r.Value)
		if err != nil {
			return fmt.Errorf("reading record %d of %s: %w", r.Offset, topic, err)
		}
		c.observe(r.Offset, record.Body)
		return nil
	})
	if err == nil && len(c.Headers) == 0 {
		err = fmt.Errorf("reading %s: no deployment has begun on it", topic)
	}
	return c, err
}

// readAll reads a partition from its first record to its current end.
func readAll(ctx context.Context, client *kafkalog.Client, topic string, partition int32,
	fn func(kafkalog.Record) error) error {
	offsets, err := client.Offsets(ctx, topic, partition)
	if err != nil {
		return err
	}
	return client.ReadRange(ctx, topic, partition, offsets.Start, offsets.High, fn)
}

func (c *Control) differ(turn uint64, what string) {
	c.Differences = append(c.Differences, Difference{Turn: turn, What: what})
}

// observe adds one record. It fences by content: a GENERATION, CLOSE, SETTLED, FORGET or STOP is
// ignored unless it names the epoch in force. An EPOCH comes into force unless a run with a greater
// number has already written one.
func (c *Control) observe(offset int64, body any) {
	switch body := body.(type) {
	case *schemas.Header:
		if offset != 0 {
			c.differ(0, "control has a second HEADER")
			return
		}
		c.Headers = append(c.Headers, *body)
	case *schemas.Generation:
		if body.Epoch != c.epoch || body.Header.FromTurn <= c.Last {
			return
		}
		c.checkGap(body.Header.FromTurn)
		c.Headers = append(c.Headers, body.Header)
		for turn := range c.Closes {
			if turn >= body.Header.FromTurn { // undone by the change
				delete(c.Closes, turn)
			}
		}
	case *schemas.Epoch:
		c.checkGap(body.Settled + 1)
		if body.Run >= c.run { // otherwise, an older run that started slowly wrote it
			c.epoch, c.run = offset, body.Run
			c.Epochs = append(c.Epochs, offset)
		}
	case *schemas.Close:
		if body.Epoch == c.epoch {
			c.close(*body)
		}
	case *schemas.Settled:
		if body.Epoch == c.epoch {
			// Parts that another attempt to settle the turn wrote do not belong to this attempt.
			parts := slices.DeleteFunc(c.parts[body.Turn], func(p schemas.Settled) bool {
				return p.Epoch != body.Epoch || p.Digest != body.Digest
			})
			c.parts[body.Turn] = append(parts, *body)
			c.settle(body.Turn)
		}
	case *schemas.Forget:
		if body.Epoch == c.epoch {
			c.Forgets = append(c.Forgets, body.Turn)
		}
	case *schemas.Stop:
		if body.Epoch == c.epoch {
			c.Stops = append(c.Stops, *body)
		}
	}
}

func (c *Control) close(n schemas.Close) {
	earlier, duplicate := c.Closes[n.Turn]
	if duplicate && !slices.EqualFunc(earlier.Cuts, n.Cuts, func(a, b schemas.Cut) bool {
		return a.Partition == b.Partition && a.Cut == b.Cut
	}) {
		c.differ(n.Turn, "the turn was closed twice, with different cuts")
	}
	if _, previousClosed := c.Closes[n.Turn-1]; n.Turn > 1 && !previousClosed {
		c.differ(n.Turn, "the turn was closed, but the turn before it was not")
	}
	c.Closes[n.Turn] = n
	for _, cut := range n.Cuts {
		for _, offset := range cut.Ahead {
			if c.ahead[cut.Partition] == nil {
				c.ahead[cut.Partition] = map[int64]bool{}
			}
			c.ahead[cut.Partition][offset] = true
		}
	}
}

func (c *Control) settle(turn uint64) {
	joined, err := schemas.JoinSettled(c.parts[turn])
	if errors.Is(err, schemas.ErrIncomplete) {
		return
	}
	delete(c.parts, turn)
	earlier, duplicate := c.Settled[turn]
	_, closed := c.Closes[turn]
	switch {
	case err != nil:
		c.differ(turn, "SETTLED is damaged")
	case duplicate && !sameKeys(earlier.Keys, joined.Keys):
		c.differ(turn, "the turn was settled twice, with different keys")
	case duplicate:
	case turn != c.Last+1:
		c.checkGap(turn)
	case !closed:
		c.differ(turn, "the turn was settled, but not closed")
	default:
		c.Settled[turn], c.Last = joined, turn
	}
}

// checkGap adds a difference if the SETTLED of a turn before the given turn is missing.
func (c *Control) checkGap(turn uint64) {
	d := Difference{Turn: c.Last + 1, What: "control has later records, but no SETTLED for the turn"}
	if turn > d.Turn && !slices.Contains(c.Differences, d) {
		c.Differences = append(c.Differences, d)
	}
}

func sameKeys(a, b []schemas.SettledKey) bool {
	order := func(x, y schemas.SettledKey) int {
		return cmp.Or(cmp.Compare(x.Metric, y.Metric), cmp.Compare(x.WindowStart, y.WindowStart),
			slices.Compare(x.Key, y.Key))
	}
	a, b = slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order)
	return slices.EqualFunc(a, b, func(x, y schemas.SettledKey) bool {
		return order(x, y) == 0 && x.WindowEnd == y.WindowEnd && x.Precision == y.Precision
	})
}
