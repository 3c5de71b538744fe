package pipeline

import (
	"errors"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
)

// A broker that does not respond is away after a while.
func TestABrokerThatIsSilentForLongIsAway(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	silent := func(long time.Duration) kafkalog.Trouble {
		return kafkalog.Trouble{Doing: "waiting", Since: now.Add(-long), Cause: errors.New("no answer")}
	}
	away := func(asked time.Duration) []kafkalog.Away {
		return []kafkalog.Away{{Broker: "b:9092", Since: now.Add(-time.Hour), TriedAt: now.Add(-asked)}}
	}
	for name, test := range map[string]struct {
		away     []kafkalog.Away
		troubles []kafkalog.Trouble
		want     bool
	}{
		"no trouble":          {nil, nil, true},
		"silent for a moment": {nil, []kafkalog.Trouble{silent(responseLimit - 1)}, true},
		"silent":              {nil, []kafkalog.Trouble{silent(responseLimit)}, false},
		"unreachable":         {away(time.Second), nil, false},
		"its bootstrap address was unreachable, and is not used any more": {away(time.Minute), nil, true},
	} {
		if got := allRespond(test.away, test.troubles, now); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
