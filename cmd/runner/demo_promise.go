package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/terminal"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// promise says in a few lines what is promised to users and to readers.
func (j *job) promise() string {
	s := j.settings
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("privacy", "(%s, %s)-differential privacy, accountant %s, for each user with all of", number(s.Epsilon), number(s.Delta), s.Accountant)
	line("", "their events; producer-time promise: the times in the events must be right")
	if j.flags.input == "" {
		line("", "(made-up events, repeatable noise: this protects nobody)")
	}
	keys := fmt.Sprintf("%d public keys, released in every window", len(s.PublicKeys))
	switch {
	case s.Private():
		keys = "private: a key is released from about " + terminal.Number(math.Ceil(j.deployment.Metrics[0].Plan.Threshold()), 0) + " events of admitted users up"
	case len(s.PublicKeys) == 1:
		keys = "one public key, released in every window"
	}
	line("keys", "%s", keys)
	if s.Private() {
		line("", "a key near that threshold is released only when its noise is high: such counts are biased up")
	}
	line("accuracy", "%s", j.accuracy())
	line("bounds", "a user counts with at most %s per window and %s per key", plural(s.MaxKeysPerUser, "key"), plural(s.MaxEventsPerKey, "event"))
	windows := int(deployment.Lifetimes(j.deployment)[0].Windows)
	line("budget", "lasts every user for %s or more (%s)", plural(windows, "window"), plural(windows*s.MaxKeysPerUser, "release"))
	line("range", "%s", j.rangeText())
	return b.String()
}

// accuracy says which counts can meet the target.
func (j *job) accuracy() string {
	t := j.settings.Target
	var targets []string
	if t.Relative > 0 {
		targets = append(targets, "± "+number(t.Relative*100)+" %")
	}
	if t.Absolute > 0 {
		targets = append(targets, "± "+number(t.Absolute))
	}
	if len(targets) == 0 {
		return "no target: every release has all the precision that the budget pays for"
	}
	text := strings.Join(targets, " or ") + " at " + number(t.Confidence*100) + " % confidence"
	switch from := j.deployment.Metrics[0].Plan.MeetableFrom(); {
	case from == 0:
		return text + ", within reach for every count"
	case math.IsInf(from, 1):
		return text + ", within reach for no count"
	default:
		return text + ", within reach for counts from " + terminal.Number(math.Ceil(from), 0) + " up"
	}
}

func (j *job) rangeText() string {
	from, to := j.source.Range()
	switch {
	case from.IsZero() || to.IsZero():
		return "none: there is no event"
	case j.flags.input == "":
		return "of the made-up events"
	case j.flags.from.IsZero() && j.flags.to.IsZero():
		return "from the data, not protected (--from and --to protect it)"
	case j.flags.from.IsZero():
		return "its start from the data, not protected (--from protects it)"
	case j.flags.to.IsZero():
		return "its end from the data, not protected (--to protects it)"
	}
	return "protected, as given by --from and --to"
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return terminal.Number(float64(n), 0) + " " + what + "s"
}
