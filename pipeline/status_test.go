package pipeline

import (
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Old events that are counted as they arrive have no lag: with producers' times the next counts are
// due a turn after the last ones. With append times the clock decides.
func TestStatusHasNoLagWhereOldEventsAreCountedAsTheyCome(t *testing.T) {
	t.Parallel()
	d := *tenTurns(t, func(c *deployment.Config) {
		c.Time.Trust, c.Outputs.PublishEvery = deployment.TrustProducer, 250*time.Millisecond
	})
	lag := func(after time.Duration) time.Duration {
		t.Helper()
		s, err := ReadStatus(t.Context(), &d, time.Now())
		if err == nil && s.SettledAt != nil {
			s, err = ReadStatus(t.Context(), &d, s.SettledAt.Add(after))
		}
		if err != nil {
			t.Fatal(err)
		}
		return s.Lag
	}
	if got := lag(0); got != 0 {
		t.Errorf("before the first counts: %v", got)
	}
	ran(t, &d)
	for after, want := range map[time.Duration]time.Duration{0: 0, time.Second: 0,
		11250 * time.Millisecond: 10 * time.Second} {
		if got := lag(after); got != want {
			t.Errorf("%v after the last counts: %v, want %v", after, got, want)
		}
	}
	d.Config.Time.Trust = deployment.TrustBroker
	if got := lag(0); got < 24*time.Hour {
		t.Errorf("with append times: %v", got)
	}
}
