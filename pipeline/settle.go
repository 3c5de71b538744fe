package pipeline

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
)

// settler is SETTLE: once every release shard has acknowledged a turn, which
// implies that all its ledger deltas are durable, it writes SETTLED. It
// implements transforms.Settler.
type settler struct {
	dep     *Deployment
	tail    *tail
	control *controlWriter
	notify  func(Settlement)

	mu   sync.Mutex
	done map[int64]uint64 // by epoch: the last turn settled here
}

// Settle implements transforms.Settler. Acknowledgements of older epochs, and
// a group in which one is missing, settle nothing.
func (s *settler) Settle(ctx context.Context, blobs [][]byte) error {
	acks, err := newestAcks(blobs)
	if err != nil || acks == nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	head := acks[0]
	if s.done[head.Epoch] >= head.Turn {
		return nil
	}
	settled := schemas.Settled{Epoch: head.Epoch, Turn: head.Turn, CountsEnd: make([]int64, len(acks))}
	for i := range s.dep.metrics {
		settled.FirstRungs = append(settled.FirstRungs, s.dep.metrics[i].Spec.First)
		settled.Tallies = append(settled.Tallies, schemas.MetricTally{Metric: uint32(i)})
	}
	for i, a := range acks {
		settled.CountsEnd[i] = a.CountsEnd
		settled.Keys = append(settled.Keys, a.Keys...)
		// Every shard's tallies came along with release shard 0.
		for _, t := range a.Tallies {
			if int(t.Metric) < len(settled.Tallies) {
				settled.Tallies[t.Metric] = t
			}
		}
	}
	if err := s.write(ctx, settled); err != nil {
		return err
	}
	s.done[head.Epoch] = head.Turn
	if s.notify != nil {
		end := s.dep.turns(s.tail.header.StartMillis).end(head.Turn)
		s.notify(Settlement{Turn: head.Turn, WindowEnd: time.UnixMilli(end).UTC(), Keys: len(settled.Keys)})
	}
	return nil
}

func (s *settler) write(ctx context.Context, settled schemas.Settled) error {
	parts, err := schemas.SplitSettled(settled, maxControlRecord)
	if err != nil {
		return fmt.Errorf("writing turn %d: %w", settled.Turn, err)
	}
	bodies := make([]schemas.ControlBody, len(parts))
	for i := range parts {
		bodies[i] = &parts[i]
	}
	if _, err := s.control.append(ctx, bodies...); err != nil {
		return fmt.Errorf("writing turn %d: %w", settled.Turn, err)
	}
	return nil
}

// newestAcks decodes the acknowledgements of the largest epoch, by release
// shard; nil when one is missing.
func newestAcks(blobs [][]byte) ([]schemas.Ack, error) {
	var acks []schemas.Ack
	newest := int64(-1)
	for _, b := range blobs {
		a, err := schemas.DecodeAck(b)
		if err != nil {
			return nil, fmt.Errorf("reading acknowledgements: %w", err)
		}
		if a.Epoch > newest {
			newest, acks = a.Epoch, make([]schemas.Ack, a.ReleaseShards)
		}
		if a.Epoch == newest && int(a.ReleaseShard) < len(acks) {
			acks[a.ReleaseShard] = a
		}
	}
	for i := range acks {
		if acks[i].Turn == 0 || acks[i].Turn != acks[0].Turn {
			return nil, nil
		}
	}
	return acks, nil
}
