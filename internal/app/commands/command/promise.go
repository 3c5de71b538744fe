package command

import (
	"fmt"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/words"

	"github.com/tollgate-dp/tollgate/internal/app/plan"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// WritePromise writes what users are promised; with the exact terms where they are asked for.
func WritePromise(b *strings.Builder, p *plan.Plan, exact bool) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	what := "all of their events, for ever"
	if p.Period != "" {
		what = "all of their events in one period of " + p.Period
	}
	line("privacy", "released counts %s and", deployment.Meaning(p.Epsilon, p.Delta))
	line("", "%s: (%s, %s)-differential privacy", what, words.Digits(p.Epsilon), words.Digits(p.Delta))
	if p.Trust == pipeline.TrustProducer {
		line("", "if the times in the records are right (producer-time promise)")
	} else {
		line("", "the brokers' clocks decide about times, whatever producers write (append-time promise)")
	}
	if p.Zone != "" {
		line("windows", "begin at midnight in %s", p.Zone)
	}
	for i, n := range p.Periods {
		if n.Periods > 1 {
			name := ""
			if i == 1 {
				name = "periods"
			}
			line(name, "for a user who is active in %d periods, over all of them: (%s, %s)", n.Periods,
				words.Digits(n.Epsilon), words.Digits(n.Delta))
		}
	}
	if p.Planned > 0 {
		line("budget", "%s %% of the promise is already spent on choosing settings by the data",
			words.Digits(100*p.Planned))
	}
	if exact {
		line("exactly", "accountant %s: each user can pay a privacy loss μ of %s (that of one release with Gaussian "+
			"noise)", p.Accountant, words.Digits(p.Mu))
		switch {
		case p.DeltaKeys > 0 && p.HasPrivate():
			line("", "δ: %s of the %s hides which private keys exist", words.Digits(p.DeltaKeys), words.Digits(p.Delta))
		case p.DeltaKeys > 0:
			line("", "δ: %s of the %s is reserved for metrics with private keys that may be added later",
				words.Digits(p.DeltaKeys), words.Digits(p.Delta))
		}
	}
	for _, text := range p.Notes {
		line("note", "%s", text)
	}
}
