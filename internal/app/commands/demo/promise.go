package demo

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/words"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// promise says in a few lines what is promised to users and to readers: first what it means,
// then the exact terms.
func (j *job) promise() (string, error) {
	s, f := j.settings, j.flags
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("privacy", "released counts %s and all of", deployment.Meaning(s.Epsilon, s.Delta))
	line("", "their events: (%s, %s)-differential privacy,", words.Digits(s.Epsilon), words.Digits(s.Delta))
	line("", "if the times in the events are right (producer-time promise)")
	if s.NoUser == event.NoUserEach {
		for _, text := range words.Wrap(deployment.UnnamedUnit, 70) {
			line("", "%s", text)
		}
	}
	if j.flags.input == "" {
		line("", "but these events are made up and the noise is repeatable: no user is protected")
	}
	keys := terminal.Count(len(s.PublicKeys), "public key") + ", released in every window"
	switch {
	case s.Private():
		keys = "private: a key is released if more than about " +
			terminal.Number(math.Ceil(j.deployment.Metrics[0].Plan.Threshold()), 0) + " of its " + f.size() + " count"
	}
	line("keys", "%s", keys)
	if s.Private() {
		line("", "near that threshold it is released only if its noise is high: such")
		line("", "counts are too high on average")
	}
	line("accuracy", "%s", j.accuracy())
	if tree := f.kindOf().Tree; tree != nil && tree.Edges && s.Target.Absolute > 0 && s.Target.Absolute < 0.1 {
		line("", "%s percentage points is very fine: for %s points, give --absolute %s",
			words.Digits(s.Target.Absolute), words.Digits(100*s.Target.Absolute), words.Digits(100*s.Target.Absolute))
	}
	if f.kindOf().Values() {
		line("", "values below %s or above %s count as these", terminal.Number(float64(s.Min), 0),
			terminal.Number(float64(s.Max), 0))
		if f.Decimals > 0 {
			unit := f.layout().ValueUnit()
			line("", "values of %s are in units of %s: %d is %s", f.ValueField, unit, s.Max,
				strconv.FormatFloat(float64(s.Max)/math.Pow10(f.Decimals), 'f', -1, 64))
		}
	}
	for _, text := range words.Wrap(j.chosen, 70) {
		line("", "%s", text)
	}
	users, err := deployment.WhoCounts(j.deployment.Budget, j.deployment.Specs(), j.deployment.Metrics[0].Spec.Name)
	if err != nil {
		return "", err
	}
	for i, text := range words.Wrap(users.String(), 70) {
		line([]string{"allowance", ""}[min(i, 1)], "%s", text)
	}
	line("range", "%s", j.rangeText())
	return b.String(), nil
}

// accuracy says what the target is, and which counts can meet it.
func (j *job) accuracy() string {
	t := j.settings.Target
	targets := terminal.Target(t.Relative, t.Absolute, words.Digits)
	if targets == "" {
		return "no target: every value is as exact as --noise allows"
	}
	switch tree := j.flags.kindOf().Tree; {
	case tree == nil:
	case tree.Edges:
		targets += " percentage points of each share"
	default:
		targets += " of the rank"
	}
	text := targets + " at " + words.Digits(t.Confidence*100) + " % confidence"
	switch from := j.deployment.Metrics[0].Plan.MeetableFrom(); {
	case from == 0:
		return text + "; every count can meet this"
	case math.IsInf(from, 1):
		return text + "; no count can meet this"
	default:
		return text + "; counts of " + terminal.Number(math.Ceil(from), 0) + " or more can meet this"
	}
}

func (j *job) rangeText() string {
	switch {
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
