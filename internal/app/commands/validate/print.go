package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/words"

	"github.com/tollgate-dp/tollgate/internal/app/plan"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// validateText is the data of validate_output.txt.
type validateText struct {
	*plan.Plan
	Exact bool
}

// UserRows returns the shares of a user's events that count, for users with few and with many
// events.
func (p validateText) UserRows() (rows [][]string) {
	for i := range p.Metrics {
		m := &p.Metrics[i]
		if len(m.Users) == 0 {
			continue
		}
		head, row := []string{"of the events of a user with"}, []string{terminal.Key(m.Name, 40) + " counts"}
		if value := m.Users[0].Value; value != 0 {
			row[0] += fmt.Sprintf(" (values of %s)", terminal.Number(float64(value), 0))
		}
		for _, who := range m.Users {
			head, row = append(head, who.String()), append(row, words.Percent(who.Share))
		}
		if i == 0 {
			rows = append(rows, head)
		}
		rows = append(rows, row)
	}
	return rows
}

// kindText returns the name of a kind for people. The names of derived kinds are for programs.
func kindText(name string) string {
	if kind := metrickind.Of(name); kind.Statistic != nil {
		return kind.Texts.Label
	}
	return name
}

func targetOf(m *plan.Metric) string {
	target := terminal.Target(m.Relative, m.Absolute)
	switch {
	case metrickind.Of(m.Kind).ValueOf() != "":
		return "none of its own"
	case target == "":
		return "as exact as target.noise allows"
	case metrickind.Of(m.Kind).Statistic != nil:
		target = statisticTarget(metrickind.Of(m.Kind), m.Absolute)
	}
	target += " at " + words.Digits(m.Confidence*100) + "%"
	if tree := metrickind.Of(m.Kind).Tree; tree != nil { // the target of the number of events follows from them
		target = "set by its " + metrickind.Of(tree.Statistic).Texts.Label + "s"
	}
	return target
}

// statisticTarget formats the target of a statistic, which is computed from another kind's draws.
func statisticTarget(kind metrickind.Kind, absolute float64) string {
	return strings.NewReplacer("{absolute}", words.Digits(absolute), "{percent}",
		words.Digits(100*absolute)).Replace(kind.Texts.Target)
}

func meetableFrom(m *plan.Metric) string {
	switch {
	case m.Relative == 0 && m.Absolute == 0:
		return "–"
	case m.MeetableFrom == nil:
		return "none"
	case *m.MeetableFrom == 0:
		return "all"
	}
	return strings.TrimSpace("from " + terminal.Ceiling(*m.MeetableFrom) + " " + metrickind.Of(m.Kind).Texts.Size)
}

// CountTables returns what to expect of counts of several sizes.
func (p validateText) CountTables() (tables []string) {
	stated := false
	for i := range p.Metrics {
		m := &p.Metrics[i]
		if metrickind.Of(m.Kind).Statistic != nil {
			continue
		}
		size := cmp.Or(metrickind.Of(m.Kind).Texts.Size, "count")
		rows := [][]string{{size, "typical noise", "released", "noise at " + words.Digits(100*m.Confidence) + "%",
			"meets the target"}}
		for _, c := range m.Expected {
			half, met, typical := "–", "–", "–"
			if c.Typical != nil && c.Shown > 0 {
				if typical, stated = words.Percent(*c.Typical), true; *c.Typical > 1 {
					typical = "> 100%"
				}
			}
			if c.Shown > 0 {
				half, met = terminal.Rounded(c.Error), chance(c.Met)
				if m.Relative == 0 && m.Absolute == 0 {
					met = "no target"
				}
			}
			rows = append(rows, []string{terminal.Number(c.Count, 0), typical, chance(c.Shown), half, met})
		}
		if metrickind.Of(m.Kind).Vector != nil { // its noise also depends on the values
			for i := range rows {
				rows[i] = slices.Delete(rows[i], 1, 2)
			}
		}
		tables = append(tables, terminal.Key(m.Name, 40)+": what becomes of a count\n"+words.Table(rows...))
	}
	if stated {
		tables = append(tables, words.Paragraph("Typical noise is how far values typically are from counts of that "+
			"size; a missing value counts as 100%. Events beyond the allowance add to that error: tollgate plan "+
			"forecasts both from your events."))
	}
	return tables
}

// chance formats a probability roughly.
func chance(v float64) string {
	switch {
	case v <= 0:
		return "never"
	case v < 0.05:
		return "rarely"
	case v > 0.995:
		return "always"
	}
	return fmt.Sprintf("%.0f%%", 100*v)
}
