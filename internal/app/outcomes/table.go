package outcomes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// row is one line of the table: an outcome, and the number of records with it.
type row struct {
	indent  int
	name    string
	records uint64
	total   uint64
}

// Part formats a part of a whole with its share: "3 of 40 records (7.5%)".
func Part(part, total uint64, noun string) string {
	return fmt.Sprintf("%s of %s (%s)", terminal.Number(float64(part), 0), terminal.Count(total, noun),
		Share(float64(part), float64(total)))
}

// Table formats the tallies as aligned lines with shares, from read records to counted ones. The
// shares of a metric are relative to the metric's own records, each counted once per window. The
// numbers are exact, so the text is only for the holder of the data, which the first line states.
func Table(t pipeline.Tallies) string {
	rows := rowsOf(t)
	name, number := 0, 0
	for _, r := range rows {
		name = max(name, 2*r.indent+len(r.name))
		number = max(number, len(count(r.records)))
	}
	var b strings.Builder
	b.WriteString("outcomes of the records (exact, for the holder of the data only):\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "  %-*s  %*s  %8s\n", name, strings.Repeat("  ", r.indent)+r.name, number, count(r.records),
			Share(float64(r.records), float64(r.total)))
	}
	return b.String()
}

func rowsOf(t pipeline.Tallies) []row {
	rows := []row{{0, "read", t.Read, t.Read}}
	add := func(indent int, name string, n, total uint64) {
		if n > 0 {
			rows = append(rows, row{indent, name, n, total})
		}
	}
	for _, class := range slices.Sorted(maps.Keys(t.DeadLettered)) {
		add(1, "broken: "+class, t.DeadLettered[class], t.Read)
	}
	add(1, "skipped: no value, deletes, filtered", t.Skipped, t.Read)
	add(1, "before the start", t.BeforeStart, t.Read)
	add(1, "late", t.Late, t.Read)
	add(1, "in the future", t.Future, t.Read)
	add(1, "overtaken", t.Overtaken, t.Read)
	add(0, "accepted", t.Accepted, t.Read)
	for _, m := range t.Metrics {
		all := m.Pairs()
		if all == 0 {
			continue
		}
		if len(t.Metrics) > 1 || all != t.Accepted {
			add(0, "metric "+m.Metric+", by window", all, all)
		}
		add(1, "filtered, or with a key that is not on the list", m.Filtered, all)
		add(1, "beyond the allowance", m.Beyond, all)
		add(1, "in windows that are not released", m.Open, all)
		add(1, "in windows that a change gave up", m.GivenUp, all)
		add(0, "counted", m.Counted, all)
	}
	return rows
}

func count(n uint64) string { return terminal.Number(float64(n), 0) }

// Share formats a part of a whole as a percentage.
func Share(part, total float64) string { return words.Percent(part / max(part, total, 1)) }
