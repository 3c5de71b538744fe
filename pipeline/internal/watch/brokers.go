package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

const (
	// awayAfter is how long a broker must be unreachable before this is logged: long enough for a
	// restart that delays nothing.
	awayAfter = 2 * time.Second
	// awayAsked limits the age of the last attempt: a broker that the client no longer uses is not
	// logged again. A dial that times out takes 10 s.
	awayAsked = 15 * time.Second
)

// brokers logs which brokers cannot be reached, and which can be reached again.
type brokers struct {
	log  *slog.Logger
	away map[string]*lasting // by address
}

func newBrokers(log *slog.Logger) brokers {
	return brokers{log: log, away: map[string]*lasting{}}
}

// update is called every second. If quiet, it logs a broker only once.
func (b *brokers) update(now time.Time, away []kafkalog.Away, quiet bool) {
	for i := range away {
		a := &away[i]
		t := b.away[a.Broker]
		if t == nil {
			t = &lasting{since: a.Since}
			b.away[a.Broker] = t
		}
		if now.Sub(a.Since) < awayAfter || now.Sub(a.Asked) >= awayAsked || t.Reported() && quiet {
			continue
		}
		if t.Due(now) {
			b.log.Warn(awayText(a))
		}
	}
	for broker, t := range b.away {
		if slices.ContainsFunc(away, func(a kafkalog.Away) bool { return a.Broker == broker }) {
			continue
		}
		if delete(b.away, broker); t.Reported() {
			b.log.Warn(fmt.Sprintf("broker %s answers again after %v", broker, now.Sub(t.since).Round(time.Second)))
		}
	}
}

// Brokers logs, until ctx ends, which brokers a client cannot reach, other reasons why Kafka does
// not respond, and the end of each condition.
func Brokers(ctx context.Context, client *kafkalog.Client, log *slog.Logger) {
	s, second := New(Rules{}, log), time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-second.C:
			s.update(now, client.Troubles(), client.Away())
		}
	}
}

func awayText(a *kafkalog.Away) string {
	return fmt.Sprintf("broker %s unreachable since %s: %s", a.Broker, clockTime(a.Since), a.Why)
}

// Named adds the unreachable brokers to the error of a run, which may mention only a call that took
// too long. deployment.ErrNoBroker already names them.
func Named(client *kafkalog.Client, err error) error {
	if err == nil || errors.Is(err, deployment.ErrNoBroker) {
		return err
	}
	for _, a := range Asked(client.Away(), time.Now()) {
		err = fmt.Errorf("%w; %s", err, awayText(&a))
	}
	return err
}

// Asked returns the unreachable brokers that the client still uses. The client may know a broker by
// a second address, or by an old one, and have stopped using it.
func Asked(away []kafkalog.Away, now time.Time) []kafkalog.Away {
	return slices.DeleteFunc(away, func(a kafkalog.Away) bool { return now.Sub(a.Asked) >= awayAsked })
}
