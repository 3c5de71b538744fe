package pipeline

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// settlementQueue passes settlements to OnSettled, in order, without blocking a stage.
type settlementQueue struct {
	notify func(Settlement)
	done   chan struct{}

	mu      sync.Mutex
	changed sync.Cond // of waiting and closed
	waiting []Settlement
	closed  bool
}

// notifySettled calls notify, which may be nil, with every turn that this run settles, and adds the
// outcomes of the turn's records to losses, including those of reading if workers read. The
// returned function waits until the last settlement is passed on, and ends the calls.
func notifySettled(s *stages, workers bool, notify func(Settlement)) func() {
	if notify == nil {
		notify = func(Settlement) {}
	}
	n := &settlementQueue{notify: notify, done: make(chan struct{})}
	n.changed.L = &n.mu
	metrics := s.dep.Specs() // in the order of the tallies and keys of a SETTLED
	s.control.OnSettled(func(settled schemas.Settled, read schemas.ReadTallies, run int64) {
		if run != s.terms.Run {
			return
		}
		outcomes := watch.OutcomesOf(metrics, settled.Tallies)
		if workers {
			outcomes.AddRead(read)
		}
		s.losses.Observe(time.Now(), &outcomes)
		n.put(Settlement{Turn: settled.Turn, WindowEnd: time.UnixMilli(s.turns.End(settled.Turn)).UTC(),
			Keys: valuesOf(metrics, settled.Keys)})
	})
	go n.deliver()
	return func() {
		s.control.OnSettled(nil)
		n.mu.Lock()
		n.closed = true
		n.mu.Unlock()
		n.changed.Signal()
		<-n.done
	}
}

// valuesOf returns the number of values published for settled keys. A mean settles a key once for
// each component, but publishes one value.
func valuesOf(metrics []schemas.MetricSpec, keys []schemas.SettledKey) (values int) {
	each := make([]int, len(metrics))
	for i := range metrics {
		switch kind := metrickind.Of(metrics[i].Kind); {
		case kind.Statistic != nil:
			if base := slices.IndexFunc(metrics, func(m schemas.MetricSpec) bool {
				return m.Name == metrics[i].Of
			}); base >= 0 {
				each[base]++
			}
		case kind.Part == nil:
			each[i]++
		}
	}
	for i := range keys {
		if metric := int(keys[i].Metric); metric >= len(metrics) {
			values++
		} else {
			values += each[metric]
		}
	}
	return values
}

func (n *settlementQueue) put(s Settlement) {
	n.mu.Lock()
	n.waiting = append(n.waiting, s)
	n.mu.Unlock()
	n.changed.Signal()
}

func (n *settlementQueue) deliver() {
	defer close(n.done)
	for {
		n.mu.Lock()
		for len(n.waiting) == 0 && !n.closed {
			n.changed.Wait()
		}
		batch, closed := n.waiting, n.closed
		n.waiting = nil
		n.mu.Unlock()
		for _, s := range batch {
			n.notify(s)
		}
		if closed {
			return
		}
	}
}

// drainOn writes a DRAIN to control once drain is closed. The returned function stops waiting for
// that.
func (r *run) drainOn(ctx context.Context, drain <-chan struct{}) func() {
	ctx, cancel := context.WithCancel(ctx)
	ask := func() {
		if err := r.appendControl(ctx, &schemas.Drain{Run: r.terms.Run}); err != nil && ctx.Err() == nil {
			r.log.Warn("asking the run to end failed: a second signal stops it at once", "error", err)
		}
	}
	select {
	case <-drain:
		ask()
		return cancel
	default:
	}
	var asking sync.WaitGroup
	asking.Go(func() {
		select {
		case <-drain:
			ask()
		case <-ctx.Done():
		}
	})
	return func() {
		cancel()
		asking.Wait()
	}
}
