package report

import (
	"fmt"
	"math"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// CountedShare is the share of the events of a metric's window that was counted.
type CountedShare struct {
	Metric                 string // metric of the events
	WindowStart, WindowEnd int64  // Unix milliseconds
	Share                  metrickind.Interval
	// Confidence is a lower bound on the probability that the interval contains the share, if no
	// user counts with more than Counted.MaxEvents events.
	Confidence float64
}

// CountedShares computes the counted shares from released values. A share appears at the place of
// the second of its two values, which need not follow the first one immediately.
func CountedShares(d *deployment.Deployment, released []schemas.Release) (all []CountedShare) {
	metricOf := map[string]string{} // names of metrics by the names of their shares
	for i := range d.Metrics {
		if spec := &d.Metrics[i].Spec; metrickind.Of(spec.Kind).Share {
			metricOf[spec.Name] = spec.Of
		}
	}
	if len(metricOf) == 0 {
		return nil
	}
	type window struct {
		name       string
		start, end int64
	}
	first := map[window]*schemas.Release{}
	for i := range released {
		r := &released[i]
		metric, ok := metricOf[r.Metric]
		if !ok {
			continue
		}
		id := window{r.Metric, r.WindowStart, r.WindowEnd}
		other := first[id]
		if other == nil || other.Key == r.Key {
			first[id] = r
			continue
		}
		counted, leftOut := other, r
		if counted.Key != metrickind.EventsCounted {
			counted, leftOut = leftOut, counted
		}
		if share, ok := metrickind.ShareOf(intervalOf(counted), intervalOf(leftOut)); ok {
			all = append(all, CountedShare{metric, r.WindowStart, r.WindowEnd, share, twice(r.Confidence)})
		}
	}
	return all
}

func intervalOf(r *schemas.Release) metrickind.Interval {
	return metrickind.Interval{Value: float64(r.Value) / unit, Low: r.Low, High: r.High}
}

// twice returns a lower bound on the probability that two intervals both hold, if each of them
// holds with the given confidence.
func twice(confidence float64) float64 {
	return max(math.Floor((2*confidence-1)*1e9+0.5)/1e9, 0)
}

// newestShare describes the share of the newest window's events that was counted. It returns "" if
// one of the two numbers of the window is missing. s is the series of the share, and m the share's
// metric. hidden reports whether some keys may not be released.
func (s *series) newestShare(m metricFacts, hidden bool) string {
	var counted, leftOut *point
	for i := range s.points {
		p := &s.points[i]
		side := &leftOut
		if s.keys[p.key] == metrickind.EventsCounted {
			side = &counted
		}
		if *side == nil || p.end > (*side).end {
			*side = p
		}
	}
	if counted == nil || leftOut == nil || counted.end != leftOut.end {
		return ""
	}
	end := time.UnixMilli(counted.end).UTC().Format("2006-01-02 15:04")
	share, ok := metrickind.ShareOf(counted.interval(), leftOut.interval())
	if !ok || share.Low <= 0 && share.High >= 1 {
		return "The noise hides which share of the events of the window that ended at " + end +
			" is counted in these values: there are too few of them."
	}
	text := fmt.Sprintf("About %.0f%% of the events of the window that ended at %s are counted in these values "+
		"(between %.0f and %.0f%%, at %s%% confidence). The others were left out: they are beyond the allowances of "+
		"their users. In this share, a user with more than %s weighs no more than one with that many. If some users "+
		"have far more, the real share is usually lower.",
		100*share.Value, end, math.Floor(100*share.Low), math.Ceil(100*share.High),
		digits(100*twice(counted.confidence)),
		terminal.Count(uint64(m.MaxEventsPerKey), "event"))
	if hidden {
		text += " It includes events of keys that were not released."
	}
	return text
}

func (p *point) interval() metrickind.Interval {
	return metrickind.Interval{Value: float64(p.value) / unit, Low: float64(p.value-p.below) / unit,
		High: float64(p.value+p.above) / unit}
}
