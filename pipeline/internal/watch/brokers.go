package watch

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

const (
	// awayAfter is how long no connection to a broker can be made before that is told: at once, but
	// for a restart that nothing has to wait for.
	awayAfter = 2 * time.Second
	// awayAsked is how old the last attempt may be: a broker that is not asked any more is not told
	// again. A dial that times out takes 10 s.
	awayAsked = 15 * time.Second
)

// tickBrokers names the brokers that cannot be reached, and those that can be again.
func (s *Stalls) tickBrokers(now time.Time, away []kafkalog.Away) {
	for i := range away {
		a := &away[i]
		t := s.away[a.Broker]
		if t == nil {
			t = &told{since: a.Since}
			s.away[a.Broker] = t
		}
		if now.Sub(a.Since) < awayAfter || now.Sub(a.Asked) >= awayAsked || t.Told() && s.told[stallCluster] != nil {
			continue // nothing moves, and that is told again, with the broker
		}
		if t.Due(now) {
			s.log.Warn(awayText(a))
		}
	}
	for broker, t := range s.away {
		if slices.ContainsFunc(away, func(a kafkalog.Away) bool { return a.Broker == broker }) {
			continue
		}
		if delete(s.away, broker); t.Told() {
			s.log.Warn(fmt.Sprintf("broker %s is back, after %v", broker, now.Sub(t.since).Round(time.Second)))
		}
	}
}

func awayText(a *kafkalog.Away) string {
	return fmt.Sprintf("broker %s unreachable since %s: %s", a.Broker, clockTime(a.Since), a.Why)
}

// Named adds to the error with which a run ends the brokers that its client cannot reach: the
// error may say only what took too long. deployment.ErrNoBroker names them already.
func Named(client *kafkalog.Client, err error) error {
	if err == nil || errors.Is(err, deployment.ErrNoBroker) {
		return err
	}
	for _, a := range client.Away() {
		if time.Since(a.Asked) < awayAsked {
			err = fmt.Errorf("%w; %s", err, awayText(&a))
		}
	}
	return err
}
