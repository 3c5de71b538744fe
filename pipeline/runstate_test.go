package pipeline

import (
	"errors"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
)

// A broker that refuses a right is there; one that does not answer is away after a while, also
// while another one refuses.
func TestABrokerThatRefusesARightIsNotAway(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	denied := kafkalog.Trouble{Doing: "appending to counts", Since: now.Add(-time.Hour), Cause: &kafkalog.DeniedError{Operation: kafkalog.Write, Name: "counts"}}
	silent := func(long time.Duration) kafkalog.Trouble {
		return kafkalog.Trouble{Doing: "waiting", Since: now.Add(-long), Cause: errors.New("no answer")}
	}
	for name, test := range map[string]struct {
		troubles []kafkalog.Trouble
		want     bool
	}{
		"no trouble":           {nil, true},
		"a right that is gone": {[]kafkalog.Trouble{denied}, true},
		"silent for a moment":  {[]kafkalog.Trouble{silent(brokerAway - 1)}, true},
		"silent":               {[]kafkalog.Trouble{silent(brokerAway)}, false},
		"both":                 {[]kafkalog.Trouble{denied, silent(brokerAway)}, false},
	} {
		if got := answering(test.troubles, now); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
