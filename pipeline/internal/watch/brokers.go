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
	// awayAfter is how long a broker must be unreachable before it is logged. A restart of a broker
	// that delays no run is shorter.
	awayAfter = 2 * time.Second
	// maxAttemptAge is the maximum age of the last attempt to reach a broker that is logged. The
	// client has stopped using brokers that it has not tried since. A dial times out after 10 s.
	maxAttemptAge = 15 * time.Second
)

// brokers logs which brokers cannot be reached, and which can be reached again.
type brokers struct {
	log  *slog.Logger
	away map[string]*condition // by address
}

func newBrokers(log *slog.Logger) brokers {
	return brokers{log: log, away: map[string]*condition{}}
}

// update logs the brokers that are due, every second. If quiet, it logs each broker only once.
func (b *brokers) update(now time.Time, unreachable []kafkalog.Away, quiet bool) {
	for i := range unreachable {
		a := &unreachable[i]
		t := b.away[a.Broker]
		if t == nil {
			t = &condition{since: a.Since}
			b.away[a.Broker] = t
		}
		if now.Sub(a.Since) < awayAfter || now.Sub(a.TriedAt) >= maxAttemptAge || t.Reported() && quiet {
			continue
		}
		if t.Due(now) {
			b.log.Warn(awayText(a))
		}
	}
	for broker, t := range b.away {
		if slices.ContainsFunc(unreachable, func(a kafkalog.Away) bool { return a.Broker == broker }) {
			continue
		}
		if delete(b.away, broker); t.Reported() {
			b.log.Warn(fmt.Sprintf("broker %s answers again after %v", broker, now.Sub(t.since).Round(time.Second)))
		}
	}
}

// Brokers logs which brokers a client cannot reach, any other reason why Kafka does not respond,
// and the end of each such condition. It returns when ctx ends.
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

// WithUnreachable adds the unreachable brokers to the error of a run, which may mention only a call
// that took too long. It leaves deployment.ErrNoBroker as it is, because that error already names
// them.
func WithUnreachable(client *kafkalog.Client, err error) error {
	if err == nil || errors.Is(err, deployment.ErrNoBroker) {
		return err
	}
	for _, a := range StillUsed(client.Away(), time.Now()) {
		err = fmt.Errorf("%w; %s", err, awayText(&a))
	}
	return err
}

// StillUsed returns the brokers of away that the client still uses. The others may be addresses
// that the client has stopped using, because a broker moved or has a second address.
func StillUsed(away []kafkalog.Away, now time.Time) []kafkalog.Away {
	return slices.DeleteFunc(away, func(a kafkalog.Away) bool { return now.Sub(a.TriedAt) >= maxAttemptAge })
}
