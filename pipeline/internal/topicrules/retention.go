package topicrules

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

const (
	// minRetention and retentionFactor determine how long the records that a restart may read again
	// must be kept: see neededRetention.
	minRetention    = time.Hour
	retentionFactor = 3
)

// neededRetention returns the minimum retention of events. A restart reads from the cut of the last
// settled turn, so it needs the open turn, the late events of that turn and the wait for silent
// partitions. The retention is three times that, and at least an hour, to give an operator time to
// restart the run.
func neededRetention(d *deployment.Deployment) time.Duration {
	turn := time.Duration(deployment.LeastSlide(d)) * time.Millisecond
	t := &d.Config.Time
	return max(minRetention, retentionFactor*(turn+t.Lateness+t.Skew+t.Slack+t.IdleGrace))
}

func retentionRule(retention time.Duration) topicRule {
	return func(t *state) {
		got := t.setting(Retention)
		ms, err := strconv.ParseInt(got, 10, 64)
		if got == forEver || (err == nil && ms >= retention.Milliseconds()) ||
			!slices.Contains(t.policies(), "delete") {
			return
		}
		want := strconv.FormatInt(retention.Milliseconds(), 10)
		t.addFault(Retention, fmt.Sprintf("%s (%s) or more, or %s", want, retention, forEver),
			"a restart could miss records that it needs: "+t.alter(Retention, want))
	}
}

func keptForEver(t *state) {
	if len(t.policies()) == 0 {
		return // nothing is ever cleaned up
	}
	for _, s := range []string{Retention, RetentionBytes} {
		if v := t.setting(s); v != forEver {
			t.addFault(s, forEver, "control must keep its records forever: "+t.alter(s, forEver))
		}
	}
}

// bytesRule reports a limit in bytes, because such a limit leaves the retention time unknown.
func bytesRule(instead string) topicRule {
	return func(t *state) {
		if t.limitedInBytes() {
			t.addFault(RetentionBytes, forEver,
				"a restart could miss records that it needs: "+t.alter(RetentionBytes, forEver)+instead)
		}
	}
}

// eventBytesRule is bytesRule for the events topic. It only warns if the configuration accepts a
// limit in bytes, because the topic may belong to another team.
func eventBytesRule(d *deployment.Deployment) topicRule {
	return func(t *state) {
		switch {
		case !d.Config.Events.AcceptSizeRetention:
			bytesRule(", or set events.accept_size_retention: true and make sure that records last for days")(t)
		case t.limitedInBytes():
			t.warnings = append(t.warnings, fmt.Sprintf("topic %s: %s is %s, which the configuration accepts: a "+
				"restart fails if records that it needs are gone", t.name, RetentionBytes, t.setting(RetentionBytes)))
		}
	}
}

func (t *state) limitedInBytes() bool {
	return t.setting(RetentionBytes) != forEver && slices.Contains(t.policies(), "delete")
}
