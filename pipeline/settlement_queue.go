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

// notifySettled calls notify, which may be nil, for every turn that this run settles. It also adds
// the outcomes of the turn's records to losses; with workers, these include the outcomes of
// reading. The returned function ends the calls, after the last settlement has been delivered.
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

// valuesOf returns the number of values published for settled keys. For example, a mean settles a
// key once for each component, but publishes one value.
func valuesOf(metrics []schemas.MetricSpec, keys []schemas.SettledKey) (values int) {
	valuesPerKey := make([]int, len(metrics))
	for i := range metrics {
		switch kind := metrickind.Of(metrics[i].Kind); {
		case kind.Statistic != nil:
			if base := slices.IndexFunc(metrics, func(m schemas.MetricSpec) bool {
				return m.Name == metrics[i].Of
			}); base >= 0 {
				valuesPerKey[base]++
			}
		case kind.Part == nil:
			valuesPerKey[i]++
		}
	}
	for i := range keys {
		if metric := int(keys[i].Metric); metric >= len(metrics) {
			values++
		} else {
			values += valuesPerKey[metric]
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

// drainOn writes a DRAIN to control when drain is closed. The returned function ends the wait.
func (r *run) drainOn(ctx context.Context, drain <-chan struct{}) func() {
	ctx, cancel := context.WithCancel(ctx)
	writeDrain := func() {
		if err := r.appendControl(ctx, &schemas.Drain{Run: r.terms.Run}); err != nil && ctx.Err() == nil {
			r.log.Warn("requesting the end of the run failed: a second signal stops the run at once", "error", err)
		}
	}
	select {
	case <-drain:
		writeDrain()
		return cancel
	default:
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-drain:
			writeDrain()
		case <-ctx.Done():
		}
	})
	return func() {
		cancel()
		waiting.Wait()
	}
}
