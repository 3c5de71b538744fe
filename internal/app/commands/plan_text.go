package commands

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
)

// adviceText writes an answer for people.
func adviceText(a *advice.Advice, f *planFlags, broken uint64) string {
	var b strings.Builder
	mark := "TRUSTED"
	if f.spendShare > 0 {
		mark = "PROTECTED"
	}
	wrapped(&b, mark+": "+a.Trusted+".", "")
	b.WriteString("\n")
	users := terminal.Number(a.Users, 0)
	if a.UsersError > 0 {
		users += " ± " + terminal.Number(a.UsersError, 0)
	}
	if users += " user"; a.Users != 1 {
		users += "s"
	}
	fmt.Fprintf(&b, "%s of %s, %s, %s to %s\n", counted(a.Events, "event"), users, plural(a.Keys, "key"),
		a.From.Format("2006-01-02 15:04"), a.To.Format("2006-01-02 15:04"))
	if broken > 0 {
		fmt.Fprintf(&b, "%s: no user, key or time that can be used\n", plural(int(broken), "record"))
	}
	if a.Outside > 0 {
		fmt.Fprintf(&b, "%s outside of --from and --to\n", plural(int(a.Outside), "event"))
	}
	for i := range a.Sizes {
		if s := &a.Sizes[i]; s.Window == a.Chosen || len(f.windows) > 0 || f.exact {
			writeSize(&b, s, f.exact)
		} else {
			fmt.Fprintf(&b, "\nwindows of %s show %s\n", s.Window, percent(most(s.Grid)))
		}
	}
	for i := range a.Blocks {
		writeBlock(&b, a.Blocks, i)
	}
	for i := range a.Reverse {
		writeReverse(&b, &a.Reverse[i], f.config == "")
	}
	place := "takes the place of the sections privacy and metrics of a configuration"
	if f.config != "" {
		place = "goes into the metric of that name in " + f.config
	}
	b.WriteString("\n")
	wrapped(&b, "A block "+place+": it names nothing of the data. See docs/guarantee.md for what may be published.", "")
	return b.String()
}

// writeBlock writes a recommended setting, unless one before it is the same.
func writeBlock(b *strings.Builder, blocks []advice.Block, i int) {
	block := &blocks[i]
	b.WriteString("\n")
	goal := strings.ToUpper(block.Goal) + ": "
	if same := slices.IndexFunc(blocks, func(o advice.Block) bool { return o.YAML == block.YAML }); same < i {
		fmt.Fprintf(b, "%sthe same as %s\n", goal, strings.ToUpper(blocks[same].Goal))
		return
	}
	wrapped(b, goal+terminal.Key(block.Sentence, 400), "")
	fmt.Fprintf(b, "\n%s", indented(block.YAML))
	if block.Demo != "" {
		fmt.Fprintf(b, "\n  %s\n", folded(block.Demo))
	}
}

// writeSize writes what users do in windows of a size, and what settings give.
func writeSize(b *strings.Builder, s *advice.SizeAdvice, exact bool) {
	fmt.Fprintf(b, "\nWINDOWS OF %s (%s)\n\n", s.Window, plural(s.Stats.Windows, "window"))
	w := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	row := func(name string, q sample.Quantiles) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", name, terminal.Number(q.P50, 0), terminal.Number(q.P90, 0), terminal.Number(q.P99, 0), terminal.Number(q.Max, 0))
	}
	fmt.Fprintln(w, "what users do\tmedian\t90 %\t99 %\tmost")
	row("keys of a user in a window", s.Stats.Keys)
	row("events of a user and key in a window", s.Stats.PerKey)
	row("windows in which a user takes part", s.Stats.Active)
	row("events of a key in a window", s.Stats.Counts)
	if s.Stats.Above != nil {
		row("values above 0", *s.Stats.Above)
		if s.Stats.Below.Max > 0 {
			row("values below 0, without sign", *s.Stats.Below)
		}
	}
	w.Flush() //nolint:errcheck // a strings.Builder takes everything
	fmt.Fprintln(b)
	grid := s.Grid
	if !exact {
		grid = s.ByBounds()
	}
	head := "keys × events\tlasts\tcounted\tkeys shown\tevents\terror\tusers lost"
	if s.Stats.Above != nil {
		head = "keys × events, values\tlasts\tadded up\tkeys shown\tof the sums\terror\tusers lost"
	}
	if exact {
		head += " by window " + lostBy(&grid[0], func(l advice.Lost) string { return strconv.Itoa(l.Window) }) + "\tfirst σ\tleast σ\tthreshold"
	}
	fmt.Fprintln(w, head)
	for _, p := range grid {
		lost := lostBy(&p, func(l advice.Lost) string { return percent(l.Share) })
		if !exact {
			lost = percent(p.Lost[len(p.Lost)-1].Share)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s of %s\t%s\t%s\t%s", advice.BoundsText(p.Setting), advice.Lasts(p.Setting), percent(p.Counted),
			terminal.Number(p.KeysShown, 0), terminal.Number(p.Keys, 0), percent(p.ShownTruth), errorText(&p), lost)
		if exact {
			fmt.Fprintf(w, "\t%s\t%s\t%s", rounded(p.FirstSigma), rounded(p.TopSigma), rounded(p.Threshold))
		}
		fmt.Fprintln(w)
	}
	w.Flush() //nolint:errcheck // a strings.Builder takes everything
	if len(s.Keys) > 0 && most(s.Grid) > 0 {
		fmt.Fprintln(b)
		what := "events"
		if s.Stats.Above != nil {
			what = "value"
		}
		fmt.Fprintln(w, "largest keys, most accurate\t"+what+"\tnot counted\tnoise ±\tshown\twithin target")
		for _, k := range s.Keys {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.0f of %.0f\t%.0f\n", terminal.Key(orAll(k.Key), 40), terminal.Number(k.Truth, 0), terminal.Number(k.Bias, 0),
				rounded(k.Noise95), math.Round(k.Shown), k.Windows, math.Round(k.Within))
		}
		w.Flush() //nolint:errcheck // a strings.Builder takes everything
	}
}

// most returns the greatest share of events that a setting shows.
func most(grid []advice.Point) (share float64) {
	for i := range grid {
		share = max(share, grid[i].ShownTruth)
	}
	return share
}

// lostBy writes something of the numbers of windows by which lost users are told.
func lostBy(p *advice.Point, of func(advice.Lost) string) string {
	texts := make([]string, len(p.Lost))
	for i, l := range p.Lost {
		texts[i] = of(l)
	}
	return strings.Join(texts, ", ")
}

func errorText(p *advice.Point) string {
	if p.Shown < 0.5 {
		return "–"
	}
	return "± " + rounded(p.Error) + " (" + percent(p.Relative) + ")"
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

// writeReverse writes what a key needs.
func writeReverse(b *strings.Builder, r *advice.Reverse, file bool) {
	fmt.Fprintf(b, "\nTO SHOW %s within ± %s in nine of ten windows of %s\n", terminal.Key(orAll(r.Key), 40), percent(r.Within), r.Window)
	switch {
	case r.Enough():
		fmt.Fprintf(b, "nothing more is needed than the accurate block: it does in %s of them\n", percent(r.Share))
	case len(r.Answers) == 0:
		fmt.Fprintf(b, "no single change is enough (it is so in %s of them)\n", percent(r.Share))
	default:
		b.WriteString("change one thing of the accurate block:\n")
		for _, c := range r.Answers {
			wrapped(b, fmt.Sprintf("- %s: then in %s of windows", c.What, percent(c.Share)), "  ")
		}
	}
	if r.Together != "" {
		how := "- in a metric of its own: "
		if file {
			how = "- without --key-field: "
		}
		wrapped(b, how+r.Together, "  ")
	}
}
