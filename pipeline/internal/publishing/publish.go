package publishing

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/fencing"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// publish writes what is not there yet. A value that is there and differs, or
// that would not be released now, stops the deployment: nothing is ever
// released twice with different values.
func (r *Releaser) publish(ctx context.Context, w *countsWriter, shard int, head *schemas.Partial, values []value, settled []schemas.SettledKey, sums []schemas.MetricTally) (spend.Pending, error) {
	conflict := func() error {
		return &spend.StopError{Shard: shard, Turn: head.Turn, Reason: "a value that was published differs from what the log gives now", Err: deployment.ErrConflict}
	}
	var msgs []klog.Message
	known := 0
	for _, v := range values {
		old, there := w.found[string(v.key)]
		if !there {
			old, there = w.written[string(v.key)]
		}
		if there {
			if !bytes.Equal(old, v.data) {
				return nil, conflict()
			}
			if _, found := w.found[string(v.key)]; found {
				known++
			}
			continue
		}
		w.written[string(v.key)] = v.data
		msgs = append(msgs, klog.Message{Key: v.key, Value: v.data, Timestamp: klog.At(v.windowEnd),
			Headers: []klog.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeRelease)}}})
	}
	if known != len(w.found) {
		return nil, conflict()
	}
	if w.turn == head.Turn && len(w.found) > 0 {
		// They belong to this span; the next one starts without them.
		for k, v := range w.found {
			w.written[k] = v
		}
		w.found = map[string][]byte{}
	}
	end, err := r.turnEnd(w, head.Turn)
	if err != nil {
		return nil, err
	}
	msgs = append(msgs, end...)
	ack := schemas.Ack{Epoch: head.Epoch, First: head.First, Turn: head.Turn, ReleaseShard: uint32(shard), ReleaseShards: head.ReleaseShards, Tallies: sums, Keys: settled}
	// The same turn again finds everything written and waits all the same: the
	// bundle before may have failed without ever waiting.
	if len(msgs) > 0 {
		w.wait = r.write(ctx, w, shard, msgs)
	}
	return &publishing{w: w, ack: ack, wait: w.wait, lost: r.lost}, nil
}

// turnEnd is what tells consumers that the partition is complete up to the turn:
// once in an epoch.
func (r *Releaser) turnEnd(w *countsWriter, turn uint64) ([]klog.Message, error) {
	key := schemas.TurnEndKey()
	if _, there := w.written[string(key)]; there {
		return nil, nil
	}
	end := r.turns.End(turn)
	data, err := schemas.EncodeTurnEnd(schemas.TurnEnd{Turn: turn, End: end, Generation: r.ladders.Generation})
	if err != nil {
		return nil, fmt.Errorf("publishing turn %d: %w", turn, err)
	}
	w.written[string(key)] = data
	return []klog.Message{{Key: key, Value: data, Timestamp: klog.At(end),
		Headers: []klog.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeTurnEnd)}}}}, nil
}

func (r *Releaser) write(ctx context.Context, w *countsWriter, shard int, msgs []klog.Message) func(context.Context) error {
	producer := w.producer
	return fencing.Background(func() error {
		if err := r.grid.wait(ctx, r.Client.Done()); err != nil {
			return err
		}
		var offsets []int64
		err := r.Control.At.Around(crashpoint.CountsWriting, crashpoint.CountsWritten, shard, func() error {
			var err error
			offsets, err = producer.AppendOffsets(ctx, msgs)
			return err
		})
		if err != nil {
			return fencing.AsSuperseded(err)
		}
		w.mu.Lock()
		w.end = max(w.end, offsets[len(offsets)-1]+1)
		w.mu.Unlock()
		return nil
	})
}

func (r *Releaser) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.writers {
		if w.producer != nil {
			w.producer.Close()
		}
	}
}

// publishing waits for the counts and then acknowledges the turn.
type publishing struct {
	w    *countsWriter
	ack  schemas.Ack
	wait func(context.Context) error
	lost func(epoch int64)
}

// Wait implements spend.Pending.
func (p *publishing) Wait(ctx context.Context) ([]spend.Blob, error) {
	if p.wait != nil {
		err := p.wait(ctx)
		if err != nil {
			p.w.abandon(p.ack.Epoch)
		}
		if errors.Is(err, state.ErrSuperseded) {
			p.lost(p.ack.Epoch)
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("publishing turn %d: %w", p.ack.Turn, err)
		}
	}
	p.w.mu.Lock()
	p.ack.CountsEnd = p.w.end
	p.w.mu.Unlock()
	data, err := schemas.EncodeAck(p.ack)
	if err != nil {
		return nil, fmt.Errorf("acknowledging turn %d: %w", p.ack.Turn, err)
	}
	return []spend.Blob{{Shard: 0, Data: data}}, nil
}
