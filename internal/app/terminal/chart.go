package terminal

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// ChartOptions configure a chart.
type ChartOptions struct {
	From, To time.Time     // settled windows
	Window   time.Duration // size of a window
	Width    int           // columns
	MaxKeys  int           // the most keys to draw; the largest ones are drawn
}

// Chart returns a line of bars, one for each window, and figures for each key and each of its
// statistics. It is empty without rows.
func Chart(rows []Row, opt ChartOptions) string {
	if len(rows) == 0 {
		return ""
	}
	keys := groups(rows, keyOf)
	slices.SortFunc(keys, func(a, b []Row) int { return cmp.Compare(a[0].Key, b[0].Key) })
	largestFirst(keys)

	// Times may be thousands of years apart, too far for a time.Duration.
	windows := max(1, int((opt.To.UnixMilli()-opt.From.UnixMilli())/opt.Window.Milliseconds()))
	group := (windows + opt.Width - 1) / opt.Width
	var b strings.Builder
	means := ""
	if group > 1 {
		means = fmt.Sprintf(", means of %d", group)
	}
	const layout = "2006-01-02 15:04"
	fmt.Fprintf(&b, "windows from %s to %s%s; · no value\n", opt.From.UTC().Format(layout), opt.To.UTC().Format(layout),
		means)
	for _, key := range keys[:min(len(keys), opt.MaxKeys)] {
		for _, values := range groups(key, func(r Row) string { return r.Statistic }) {
			title := cmp.Or(Key(values[0].Key, 30), "all together")
			if values[0].Statistic != "" {
				title += ", " + values[0].Statistic
			}
			fmt.Fprintf(&b, "\n%s\n%s\n%s\n", title, bars(values, opt, windows, group), figures(values))
		}
	}
	if left := len(keys) - opt.MaxKeys; left > 0 {
		fmt.Fprintf(&b, "\nkeys without a chart: %s\n", Number(float64(left), 0))
	}
	return b.String()
}

// figures summarizes the values of a key or of one of its statistics.
func figures(values []Row) string {
	margins, least, most := []float64(nil), math.Inf(1), math.Inf(-1)
	for _, r := range values {
		least, most, margins = min(least, r.Value), max(most, r.Value), append(margins, r.margin())
	}
	fine := values[0].Lopsided
	rangeOf := func(low, high float64) string {
		digits := decimals(slices.Min(margins), fine)
		from, to := Number(low, digits), Number(high, digits)
		if from == to {
			return from
		}
		return from + " to " + to
	}
	return fmt.Sprintf("%s, noise ± %s", rangeOf(least, most), rangeOf(slices.Min(margins), slices.Max(margins)))
}

// bars returns a bar for each group of windows. The scale reaches from 0, or from the least value
// if that is negative, to the greatest.
func bars(values []Row, opt ChartOptions, windows, group int) string {
	sums, counts := make([]float64, (windows+group-1)/group), make([]float64, (windows+group-1)/group)
	for _, r := range values {
		window := int((r.Start.UnixMilli() - opt.From.UnixMilli()) / opt.Window.Milliseconds())
		i := min(max(0, window/group), len(sums)-1)
		sums[i], counts[i] = sums[i]+r.Value, counts[i]+1
	}
	least, most := 0.0, 0.0
	for i, n := range counts {
		if n > 0 {
			sums[i] /= n
			least, most = min(least, sums[i]), max(most, sums[i])
		}
	}
	heights := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for i, n := range counts {
		bar := '·'
		if n > 0 {
			bar = heights[min(int((sums[i]-least)/max(most-least, math.SmallestNonzeroFloat64)*8), 7)]
		}
		b.WriteRune(bar)
	}
	return b.String()
}
