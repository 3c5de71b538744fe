package publishing

import (
	"context"
	"fmt"
	"sync"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// turnEnds writes the ends of turns to the turns topic. It does so in the background, so that no
// turn waits for it. It writes an end only after control contains the turn's SETTLED. So readers of
// the topic never see a turn that a later start could treat as unpublished, even if the turn
// released no value.
type turnEnds struct {
	client     *kafkalog.Client
	control    *controllog.Log
	producer   *kafkalog.Producer
	grid       grid
	turns      *calendar.Turns
	counts     string // the counts topic
	generation uint32

	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	queue  []schemas.TurnEnd
	closed bool
	wake   chan struct{} // receives an element when waiting or closed changes
	err    error
}

// endsPerInstant is how many instants for ends of turns there are per instant for counts. An end
// appears soon after the turn's values, and its time reveals no more than theirs.
const endsPerInstant = 16

// newTurnEnds returns a turnEnds. It queues the end of the last settled turn, in case the run that
// settled the turn died before it wrote the end.
func newTurnEnds(ctx context.Context, client *kafkalog.Client, control *controllog.Log, d *deployment.Deployment,
	turns *calendar.Turns) (*turnEnds, error) {
	producer, err := client.NewProducer(ctx, d.Config.Outputs.Turns, 0, "")
	if err != nil {
		return nil, fmt.Errorf("preparing to write the ends of turns: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	e := &turnEnds{client: client, control: control, producer: producer,
		grid: grid{d.Config.Outputs.PublishEvery / endsPerInstant, control.Clock}, turns: turns,
		counts: d.Config.Outputs.Counts, generation: control.Header.Generation,
		cancel: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	var settled uint64
	control.WithView(func(v *controllog.View) { settled = v.Settled })
	if settled >= control.Header.FromTurn { // the values of an earlier generation may be on another topic
		err = e.add(settled, control.CountsFrom(d.Config.ReleaseShards))
	}
	go e.write(ctx)
	return e, err
}

// add queues the end of a turn whose SETTLED is on control. It returns the error of writing an
// earlier end, if any.
func (e *turnEnds) add(turn uint64, countsEnd []int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = append(e.queue, schemas.TurnEnd{Turn: turn, End: e.turns.End(turn), Generation: e.generation,
		Counts: e.counts, CountsEnd: countsEnd})
	e.signal()
	return e.err
}

func (e *turnEnds) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// close writes the queued ends, unless the run was cancelled, and returns the error of writing.
func (e *turnEnds) close() error {
	e.mu.Lock()
	e.closed = true
	e.signal()
	e.mu.Unlock()
	<-e.done
	e.cancel()
	e.producer.Close()
	return e.err
}

func (e *turnEnds) write(ctx context.Context) {
	defer close(e.done)
	for {
		select {
		case <-e.wake:
		case <-ctx.Done():
			return
		}
		e.mu.Lock()
		batch, closed := e.queue, e.closed
		e.queue = nil
		e.mu.Unlock()
		err := e.append(ctx, batch)
		if err != nil && ctx.Err() == nil {
			e.mu.Lock()
			e.err = fmt.Errorf("writing the ends of turns: %w", err)
			e.mu.Unlock()
		}
		if err != nil || closed {
			return
		}
	}
}

// append writes the ends in a batch, up to the first whose SETTLED does not count.
func (e *turnEnds) append(ctx context.Context, batch []schemas.TurnEnd) error {
	var msgs []kafkalog.Message
	for _, end := range batch {
		settled, err := e.control.AwaitSettled(ctx, end.Turn)
		if err != nil {
			return err
		}
		if !settled {
			break // a newer run has started an epoch, and writes this end itself
		}
		value, err := schemas.EncodeTurnEnd(end)
		if err != nil {
			return err
		}
		msgs = append(msgs, kafkalog.Message{Key: schemas.TurnEndKey(), Value: value, Timestamp: kafkalog.At(end.End)})
	}
	if len(msgs) == 0 {
		return nil
	}
	if err := e.grid.wait(ctx, e.client.Done()); err != nil {
		return err
	}
	return e.control.At.Around(crashpoint.EndWriting, crashpoint.EndWritten, -1, func() error {
		_, err := e.producer.Append(ctx, msgs)
		return err
	})
}
