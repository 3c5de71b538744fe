package commands

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// adviceText writes an answer for people.
func adviceText(a *advice.Advice, f *planFlags, broken uint64) string {
	var b strings.Builder
	wrapped(&b, "TRUSTED: "+a.Trusted+".", "")
	b.WriteString("\n")
	users := terminal.Number(a.Users, 0)
	if a.UsersError > 0 {
		users += " ± " + terminal.Number(a.UsersError, 0)
	}
	if users += " user"; a.Users != 1 {
		users += "s"
	}
	fmt.Fprintf(&b, "%s of %s, %s, %s to %s\n", terminal.Count(a.Events, "event"), users, terminal.Count(a.Keys, "key"),
		a.From.Format("2006-01-02 15:04"), a.To.Format("2006-01-02 15:04"))
	if broken > 0 {
		fmt.Fprintf(&b, "%s: no %s that can be used\n", terminal.Count(int(broken), "record"), f.needed())
	}
	if f.badValues > 0 {
		wrapped(&b, fmt.Sprintf("%s of these have a value that cannot be read. Errors are measured from %s of the other values", terminal.Number(float64(f.badValues), 0), a.Sizes[0].Best().Of()), "")
	}
	switch outside := terminal.Count(int(a.Outside), "event"); {
	case a.Outside == 0:
	case f.from.IsZero() && f.to.IsZero():
		fmt.Fprintf(&b, "%s before 1970, which do not count\n", outside)
	default:
		fmt.Fprintf(&b, "%s outside of --from and --to\n", outside)
	}
	for i := range a.Sizes {
		if s := &a.Sizes[i]; s.Window == a.Chosen || f.exact {
			writeSize(&b, s, f.exact)
		} else {
			fmt.Fprintf(&b, "\nwindows of %s: %s\n", s.Window, s.Best().TypicalText())
		}
	}
	if a.Nothing != "" {
		b.WriteString("\n")
		wrapped(&b, "NOTHING OF USE CAN BE SHOWN "+a.Nothing+".", "")
		if a.Need != nil {
			writeNeed(&b, a.Need, a.Chosen)
		}
	}
	if a.Nothing != "" && a.Block.Point.Shown < 0.5 {
		return b.String()
	}
	writeBlock(&b, &a.Block, a.Chosen)
	if a.Nothing == "" && a.Need != nil {
		writeNeed(&b, a.Need, a.Chosen)
	}
	place := "takes the place of the sections privacy and metrics of a configuration"
	if f.config != "" {
		place = "takes the place of the metric of that name in " + f.config
	}
	b.WriteString("\n")
	wrapped(&b, "The recommended setting "+place+": it names nothing of the data. See docs/guarantee.md for what may be published.", "")
	if f.config == "" && f.times.zone != "" {
		wrapped(&b, "For local days, also set time.window_zone: "+string(f.times.zone)+"; it needs windows of whole days.", "")
	}
	if f.config == "" && f.decimals > 0 {
		wrapped(&b, fmt.Sprintf("For values with decimals, also set events.decimals: %d. All values above are in units of %s.", f.decimals, f.layout().ValueUnit()), "")
	}
	return b.String()
}

// writeBlock writes the recommended setting, which is the best one in windows of one size: larger
// windows may have a smaller error.
func writeBlock(b *strings.Builder, block *advice.Block, window string) {
	aim := map[advice.Aim]string{advice.LeastError: "LEAST ERROR", advice.MostKeys: "MOST KEYS", advice.LongestLife: "LONGEST LIFE"}[block.Aim]
	b.WriteString("\n")
	wrapped(b, fmt.Sprintf("%s IN WINDOWS OF %s: %s", aim, window, block.Sentence), "")
	fmt.Fprintf(b, "\n%s", indented(block.YAML))
	if block.Demo != "" {
		fmt.Fprintf(b, "\n%s\n", folded(block.Demo, "  "))
	}
}

// writeSize writes what users do in windows of a size, and what settings give.
func writeSize(b *strings.Builder, s *advice.SizeAdvice, exact bool) {
	fmt.Fprintf(b, "\nWINDOWS OF %s (%s)\n\n", s.Window, terminal.Count(s.Stats.Windows, "window"))
	w := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	row := func(name string, q sample.Quantiles) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", name, terminal.Number(q.P50, 0), terminal.Number(q.P90, 0), terminal.Number(q.P99, 0), terminal.Number(q.Max, 0))
	}
	fmt.Fprintln(w, "what users do\tmedian\t90 %\t99 %\tmost")
	row("keys of a user in a window", s.Stats.Keys)
	row("events of a user and key in a window", s.Stats.PerKey)
	row("windows in which a user takes part", s.Stats.Active)
	row("events of a key in a window", s.Stats.Counts)
	vectors, tree := s.Best().Vectors(), s.Best().Tree()
	switch v := s.Stats.Spread; {
	case vectors || tree != nil && v != nil:
		row("values", sample.Quantiles{P50: v.P50, P90: v.P90, P99: v.P99, Max: v.Max})
		row("values, from the greatest down", sample.Quantiles{P50: v.P50, P90: v.P10, P99: v.P1, Max: v.Min})
	case s.Stats.Above != nil:
		row("values above 0", *s.Stats.Above)
		if s.Stats.Below.Max > 0 {
			row("values below 0, without sign", *s.Stats.Below)
		}
	}
	w.Flush() //nolint:errcheck // a strings.Builder takes everything
	fmt.Fprintln(b)
	head := "keys × events\tlasts\ttarget\terror\tnoise\tleft out\tkeys shown\tevents\tlost"
	if s.Stats.Above != nil {
		head = strings.Replace(head, "events\tlasts", "events, values\tlasts", 1)
		if s.Best().Sums() {
			head = strings.Replace(head, "\tevents", "\tof the sums", 1)
		}
	}
	if tree != nil {
		head = strings.Replace(head, "\terror", "\terror of the number", 1)
	}
	for _, b := range s.Best().Beside {
		head += "\terror of the " + b.Label()
	}
	if exact {
		head += "\tfirst σ\tleast σ\tthreshold"
	}
	fmt.Fprintln(w, head)
	shown, before, alike := []advice.Point{}, map[string]bool{}, false
	for _, p := range s.Tried {
		setting := advice.BoundsText(p.Setting) + "\t" + advice.Lasts(p.Setting)
		figures := fmt.Sprintf("%s\t%s\t%s\t%s of %s\t%s\t%s", percent(p.Typical), percent(p.Noise), percent(p.LeftOut),
			terminal.Number(p.KeysShown, 0), terminal.Number(p.Keys, 0), percent(p.ShownTruth), percent(p.Lost[len(p.Lost)-1].Share))
		for _, b := range p.Beside {
			figures += "\t" + percent(b.Typical)
		}
		if exact {
			figures += fmt.Sprintf("\t%s\t%s\t%s", rounded(p.FirstSigma), rounded(p.TopSigma), rounded(p.Threshold))
		} else if before[setting+figures] {
			alike = true
			continue
		} else if len(shown) == 8 {
			break
		}
		target := "none"
		switch {
		case tree != nil && p.Absolute > 0:
			target = statisticTarget(metrickind.Of(tree.Statistic), p.Absolute)
		case p.Relative > 0:
			target = "± " + percent(p.Relative)
		case p.Absolute > 0:
			target = "± " + number(p.Absolute)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", setting, target, figures)
		shown, before[setting+figures] = append(shown, p), true
	}
	w.Flush() //nolint:errcheck // a strings.Builder takes everything
	if vectors {
		wrapped(b, wholeOf(s.Best(), s.Stats.Spread), "")
	}
	if slices.ContainsFunc(shown, func(p advice.Point) bool { return p.Typical < 0.95*s.Best().Typical }) {
		wrapped(b, "The first row is the best over many draws of the noise. A row with a smaller error does not reach it in every run.", "")
	}
	if alike {
		wrapped(b, "Settings that differ from a row in nothing but their target are left out.", "")
	}
	if len(s.Keys) > 0 && s.Best().Shown >= 0.5 {
		fmt.Fprintln(b)
		what := "events\tnot counted"
		switch {
		case vectors:
			what = "value\tmissed without noise"
		case s.Stats.Above != nil:
			what = "value\tnot counted"
		}
		fmt.Fprintln(w, "largest keys, least error\t"+what+"\tnoise ±\tshown\twithin target")
		for _, k := range s.Keys {
			noise := "–"
			if k.Shown >= 0.5 {
				noise = rounded(k.Noise95)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s of %s\t%s\n", terminal.Key(orAll(k.Key), 40), terminal.Number(k.Truth, 0), terminal.Number(k.Bias, 0),
				noise, terminal.Number(k.Shown, 0), terminal.Number(k.Windows, 0), terminal.Number(k.Within, 0))
		}
		w.Flush() //nolint:errcheck // a strings.Builder takes everything
	}
}

// wholeOf says what errors are compared with if values have a range.
func wholeOf(p *advice.Point, v *sample.Spread) string {
	low, high := p.Span(v.P5, v.P95)
	text := "Errors are in percent of the real value, but never of more than " + terminal.Number(high-low, 0)
	if low == v.P5 && high == v.P95 {
		text += ", the width of the range of nine in ten values"
	} else {
		text += ", the value if half of the events were at each end of the range of nine in ten values"
	}
	if low < 0 && high > 0 {
		text += ". They are never of less than a quarter of that, because the range contains 0"
	}
	return text + "."
}

func percent(v float64) string {
	if v > 0 && v < 0.001 {
		return "<0.1 %"
	}
	return fmt.Sprintf("%.3g %%", math.Round(1000*v)/10)
}

func orAll(key string) string {
	if key == "" {
		return "(all events)"
	}
	return key
}

// writeNeed writes what would be enough where the recommended setting does not.
func writeNeed(b *strings.Builder, n *advice.Need, window string) {
	b.WriteString("\n")
	then, less := func(v float64) string { return "then typically " + percent(v) + " from " + n.Of }, ", which is not enough"
	if n.Key != "" {
		fmt.Fprintf(b, "TO SHOW %s within ± %s in nine of ten windows of %s\n", terminal.Key(advice.Named(n.Key), 40), percent(n.Within), window)
		then, less = func(v float64) string { return "then in " + percent(1-v) + " of windows" }, ", which is less than asked"
	}
	of := "typically within " + percent(n.Within) + " of " + n.Of
	switch enough := slices.ContainsFunc(n.Changes, func(c advice.Change) bool { return !c.Less }); {
	case n.Enough():
		fmt.Fprintf(b, "nothing more is needed: it is so in %s of them\n", percent(1-n.Now))
	case n.Key != "" && len(n.Changes) == 0:
		wrapped(b, "None of the settings that were tried (larger windows, other bounds, ε up to 20) does that.", "")
	case n.Key != "" && !enough:
		wrapped(b, "No single change does that. What comes closer:", "")
	case n.Key != "":
	case len(n.Changes) == 0:
		wrapped(b, "None of the settings that were tried (larger windows, other bounds, ε up to 20) brings values "+of+".", "")
	case !enough:
		wrapped(b, "No single change brings values "+of+". What comes closer:", "")
	default:
		wrapped(b, "What could be shown, "+of+":", "")
	}
	for _, c := range n.Changes {
		text := fmt.Sprintf("- %s: %s", c.What, then(c.Then))
		if c.Less {
			text += less
		}
		for i := range c.Point.Beside {
			text += "; " + c.Point.Beside[i].Label() + " beside it: " + c.Point.Beside[i].ErrorText()
		}
		wrapped(b, text, "  ")
		if c.Demo != "" {
			fmt.Fprintf(b, "%s\n", folded(c.Demo, "    "))
		}
	}
}
