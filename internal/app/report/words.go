package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// fact is a line in a list of facts. Exact facts are hidden until the reader expands them.
type fact struct {
	Name, Text string
	Exact      bool
}

func plain(name, text string) fact   { return fact{name, text, false} }
func exactly(name, text string) fact { return fact{name, text, true} }

// promised returns the promise to every user. An empty scope stands for all events, for ever.
func (p promise) promised(scope string) []fact {
	unit, over := "every user, with all of their events, for ever", "deployment"
	if scope != "" {
		unit, over = "every user, with all of their events "+scope, "run"
	}
	if p.period > 0 {
		unit = "every user within every period of " + timespan.Text(p.period) + " (" + p.zoneName() +
			"); a user who is active in several periods has this promise for each, and the privacy losses add up"
	}
	out := []fact{
		plain("How far", p.factor()),
		plain("For", unit),
		plain("Over", "everything that this "+over+" releases, all metrics together"),
		exactly("Guarantee", fmt.Sprintf("(ε, δ)-differential privacy with ε = %s and δ = %s", digits(p.epsilon),
			digits(p.delta))),
		exactly("Budget", fmt.Sprintf("for each user as much as one release with Gaussian noise and μ = %s costs; "+
			"accountant %s", digits(p.mu), p.accountant)),
	}
	if p.deltaKeys > 0 {
		out = append(out, exactly("δ for private keys", digits(p.deltaKeys)+", the part of δ for hiding which private "+
			"keys exist"))
	}
	if len(p.noiseKeys) > 0 {
		name := "Noise key"
		if len(p.noiseKeys) > 1 {
			name = "Noise keys"
		}
		out = append(out, exactly(name, strings.Join(p.noiseKeys, ", ")))
	}
	return out
}

// factor describes ε and δ in words: P(S) ≤ e^ε P'(S) + δ for any set S of results and any two
// inputs that differ in one user.
func (p promise) factor() string {
	relation := "is at most"
	if f := math.Exp(p.epsilon); f >= deployment.Countless {
		relation = "can be"
	}
	return fmt.Sprintf("the probability of any result with a user %s %s times that without the user, plus %s; and "+
		"vice versa", relation, deployment.Factor(p.epsilon), digits(p.delta))
}

// uncovered returns the limits of the promise.
func (p promise) uncovered(notes []string) []string {
	out := append([]string(nil), notes...)
	if p.trust == deployment.TrustProducer {
		out = append(out, "Tollgate trusts the times in the records: someone who can forge them can decide which "+
			"records count.")
	} else {
		out = append(out, "Records that become visible after their window was closed are left out. Which records "+
			"these are depends on the brokers and their clock, and one person's traffic can influence that.")
	}
	if p.unnamed {
		out = append(out, "An"+strings.TrimPrefix(deployment.UnnamedUnit, "an")+".")
	}
	return append(out,
		"A person with several user ids counts as several users; people who share an id count as one.",
		"Targets, bounds and lists of public keys that were chosen by looking at the data can reveal some of it.",
		"When a value appears, and whether the deployment runs at all, is visible.",
		"Anyone who has the noise key can compute the exact counts: the noise is only as secret as that key.",
		"What others publish about the same people is not part of this promise.",
	)
}

// zoneName returns the name of the time zone of windows.
func (p promise) zoneName() string { return cmp.Or(p.zone, "UTC") }

// facts returns the list of facts about a metric.
func (f metricFacts) facts(valueField, valueUnit, zone string) []fact {
	if !f.known {
		return []fact{plain("Definition", "not in this configuration: released under an earlier one")}
	}
	out := []fact{plain("Value", f.counted(valueField, valueUnit))}
	if f.Filter != "" {
		out = append(out, plain("Filter", f.Filter))
	}
	if f.joined() {
		var names []string
		for _, q := range f.parts {
			names = append(names, q.Name)
		}
		out = append(out, plain("Metrics", strings.Join(names, ", ")))
	}
	size, slide := millis(f.WindowSize), millis(f.WindowSlide)
	window := size + ", one after the other, " + zone
	if f.WindowSlide != f.WindowSize {
		window = size + ", a new one every " + slide + ", " + zone
	}
	out = append(out, plain("Windows", window))
	if !metrickind.Of(f.Kind).Derived() {
		out = append(out, plain("Keys", f.keys()))
	}
	if metrickind.Of(f.Kind).Statistic != nil {
		return append(out, plain("Exactness", f.target()))
	}
	return append(out, plain("Exactness", f.target()),
		exactly("Least noise", "standard deviation σ of "+terminal.Rounded(f.sigmaTop)))
}

// counted describes the value that a metric releases.
func (f metricFacts) counted(valueField, unit string) string {
	least, most := f.span()
	r := strings.NewReplacer("{value}", valueField, "{min}", terminal.Number(float64(least), 0), "{max}",
		terminal.Number(float64(most), 0), "{of}", f.Of, "{rank}", f.ranks())
	text := metrickind.Of(f.Kind).Texts.Value
	if f.joined() && f.ranked() {
		text = strings.Replace(text, "quantile ", "quantiles ", 1)
	}
	text = r.Replace(text)
	if unit != "" && metrickind.Of(f.Kind).Values() {
		text += fmt.Sprintf("; %s is in units of %s", valueField, unit)
	}
	return text
}

func (f metricFacts) keys() string {
	switch {
	case f.KeyMode == deployment.KeysFrom:
		return "the keys that " + f.KeysFrom + " released for the same window"
	case f.KeyMode == deployment.KeysPrivate:
		from := "a value of about " + terminal.Ceiling(f.threshold)
		if size := metrickind.Of(f.Kind).Texts.Size; size != "" {
			from = "about " + terminal.Ceiling(f.threshold) + " " + size
		}
		return "private: a key is released only at " + from + " or more. A key that is not released is absent, which " +
			"does not mean zero"
	case len(f.PublicKeys) == 1 && len(f.PublicKeys[0]) == 0:
		return "no keys: everything is counted together"
	}
	return terminal.Count(len(f.PublicKeys), "public key") + ", released in every window, even at zero"
}

// bounds describes the configured caps on each user, or returns "" if there are none, if they are
// unknown, or if another metric shows them.
func (f metricFacts) bounds() string {
	kind := metrickind.Of(f.Kind)
	if !f.known || kind.Derived() {
		return ""
	}
	var caps []string
	if f.MaxKeysPerUser > 0 {
		caps = append(caps, terminal.Count(uint64(f.MaxKeysPerUser), "key")+" per window")
	}
	if kind.EventBound() && f.MaxEventsPerKey > 0 {
		caps = append(caps, terminal.Count(uint64(f.MaxEventsPerKey), "event")+" per key")
	}
	if len(caps) == 0 {
		return ""
	}
	return "Of each user, at most " + strings.Join(caps, " and ") + " count."
}

// targeted reports whether the metric has, or may have, a target.
func (f metricFacts) targeted() bool { return !f.known || f.HasTarget() }

// wanted describes the error that the target permits, or returns "" if there is no target.
func (f metricFacts) wanted() string {
	kind := metrickind.Of(f.Kind)
	if kind.Statistic == nil || !f.HasTarget() {
		target := terminal.Target(f.Relative, f.Absolute)
		if kind.Tree != nil && target != "" { // the target is derived, not configured
			target += " (needed for the target of its " + metrickind.Of(kind.Tree.Statistic).Texts.Label + "s)"
		}
		return target
	}
	if f.joined() && f.ranked() {
		return fmt.Sprintf("a value whose rank is off by at most %s", rank(int64(f.Absolute*metrickind.RankUnit)))
	}
	off := int64(f.Absolute * metrickind.RankUnit)
	return strings.NewReplacer("{absolute}", digits(f.Absolute), "{least rank}", rank(max(f.Max-off, 0)),
		"{greatest rank}", rank(min(f.Max+off, metrickind.RankUnit))).Replace(kind.Texts.Wanted)
}

func (f metricFacts) target() string {
	confidence := digits(f.Confidence*100) + "% confidence"
	if metrickind.Of(f.Kind).ValueOf() != "" {
		return "no target of its own: the noise follows from the noise of " + f.Of + "; intervals at " + confidence
	}
	if !f.HasTarget() {
		return "every value is as exact as the least noise allows; intervals at " + confidence
	}
	return "target: " + f.wanted() + ", at " + confidence + "; " + f.reached()
}

// reached describes which values can meet the target. It returns "" if there is no target or if
// this is unknown.
func (f metricFacts) reached() string {
	switch {
	case !f.known || !f.HasTarget():
		return ""
	case f.meetableFrom == 0:
		return "every value can reach it"
	case math.IsInf(f.meetableFrom, 1):
		return "no value can reach it"
	}
	kind := metrickind.Of(f.Kind)
	size := kind.Texts.Size
	if kind.Statistic != nil {
		size = "events"
	}
	from := strings.TrimSpace(terminal.Ceiling(f.meetableFrom) + " " + size)
	return "values of about " + from + " or more reach it"
}

// rank formats a rank, given in millionths.
func rank(millionths int64) string {
	return digits(float64(millionths)/(metrickind.RankUnit/100)) + "%"
}

// digits formats a number with six digits. It writes exponents as powers of ten, such as 10⁻⁶.
func digits(v float64) string {
	mantissa, exponent, found := strings.Cut(words.Digits(v), "e")
	if !found {
		return mantissa
	}
	n, _ := strconv.Atoi(exponent) //nolint:errcheck // strconv formatted the exponent
	power := "10" + strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶",
		"7", "⁷", "8", "⁸", "9", "⁹").Replace(strconv.Itoa(n))
	if mantissa == "1" {
		return power
	}
	return mantissa + "·" + power
}

func millis(ms int64) string { return timespan.Text(time.Duration(ms) * time.Millisecond) }
