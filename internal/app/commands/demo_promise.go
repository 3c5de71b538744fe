package commands

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// promise says in a few lines what is promised to users and to readers: first what it means,
// then the exact terms.
func (j *job) promise() string {
	s := j.settings
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("privacy", "what is released %s and all of", deployment.Meaning(s.Epsilon, s.Delta))
	line("", "their events: (%s, %s)-differential privacy, accountant %s,", number(s.Epsilon), number(s.Delta), s.Accountant)
	line("", "if the times in the events are right (producer-time promise)")
	if j.flags.input == "" {
		line("", "but: made-up events and noise that can be repeated protect no user")
	}
	keys := plural(len(s.PublicKeys), "public key") + ", released in every window"
	switch {
	case s.Private():
		keys = "private: a key is released from about " + terminal.Number(math.Ceil(j.deployment.Metrics[0].Plan.Threshold()), 0) + " events (of users whose budget lasts) on"
	}
	line("keys", "%s", keys)
	if s.Private() {
		line("", "a key near that threshold is released only when its noise is high: such counts are biased up")
	}
	line("accuracy", "%s", j.accuracy())
	line("bounds", "each user counts with at most %s per window and %s per key", plural(s.MaxKeysPerUser, "key"), plural(s.MaxEventsPerKey, "event"))
	for _, text := range linesOf(j.chosen, 70) {
		line("", "%s", text)
	}
	windows := int(deployment.Lifetimes(j.deployment)[0].Windows)
	line("budget", "every user can take part in at least %s (%s) before", plural(windows, "window"), plural(windows*s.MaxKeysPerUser, "count"))
	line("", "their budget is spent and they are left out")
	line("range", "%s", j.rangeText())
	return b.String()
}

// accuracy says what the target is, and which counts can meet it.
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
		return "no target: every count is as precise as the budget allows"
	}
	text := strings.Join(targets, " or ") + " at " + number(t.Confidence*100) + " % confidence"
	switch from := j.deployment.Metrics[0].Plan.MeetableFrom(); {
	case from == 0:
		return text + ", which every count can meet"
	case math.IsInf(from, 1):
		return text + ", which no count can meet"
	default:
		return text + ", which counts from " + terminal.Number(math.Ceil(from), 0) + " on can meet"
	}
}

func (j *job) rangeText() string {
	from, to := j.source.Range()
	switch {
	case from.IsZero() || to.IsZero():
		return "no window: there is no event"
	case j.flags.input == "":
		return "the windows of the made-up events"
	case j.flags.from.IsZero() && j.flags.to.IsZero():
		return "follows from the data, not protected (--from and --to protect it)"
	case j.flags.from.IsZero():
		return "its start follows from the data, not protected (--from protects it)"
	case j.flags.to.IsZero():
		return "its end follows from the data, not protected (--to protects it)"
	}
	return "as given by --from and --to, so that it is protected"
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

func plural(n int, what string) string { return counted(uint64(n), what) }
