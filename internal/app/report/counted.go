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

// CountedShare is the counted share of the events of a metric's window.
type CountedShare struct {
	Metric                 string // metric of the events
	WindowStart, WindowEnd int64  // Unix milliseconds
	Share                  metrickind.Interval
	// Confidence is a lower bound on the probability that the interval contains the share, if no
	// user counts with more than Counted.MaxEvents events.
	Confidence float64
}

// CountedShares returns the shares that follow from released values, in the order of the values.
// The two values of a window need not be next to each other.
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
		in, out := other, r
		if in.Key != metrickind.EventsCounted {
			in, out = out, in
		}
		if share, ok := metrickind.ShareOf(intervalOf(in), intervalOf(out)); ok {
			all = append(all, CountedShare{metric, r.WindowStart, r.WindowEnd, share, twice(r.Confidence)})
		}
	}
	return all
}

func intervalOf(r *schemas.Release) metrickind.Interval {
	return metrickind.Interval{Value: float64(r.Value) / unit, Low: r.Low, High: r.High}
}

// twice returns the confidence that two intervals both hold, if each holds with the given
// confidence.
func twice(confidence float64) float64 {
	return max(math.Floor((2*confidence-1)*1e9+0.5)/1e9, 0)
}

// newestShare describes the counted share of events in the newest window, or returns "" if one of
// its two numbers is missing. s is the series of the share, and m its metric. hidden is set if not
// all keys are released.
func (s *series) newestShare(m metricFacts, hidden bool) string {
	var in, out *point
	for i := range s.points {
		p := &s.points[i]
		side := &out
		if s.keys[p.key] == metrickind.EventsCounted {
			side = &in
		}
		if *side == nil || p.end > (*side).end {
			*side = p
		}
	}
	if in == nil || out == nil || in.end != out.end {
		return ""
	}
	end := time.UnixMilli(in.end).UTC().Format("2006-01-02 15:04")
	share, ok := metrickind.ShareOf(in.interval(), out.interval())
	if !ok || share.Low <= 0 && share.High >= 1 {
		return "The noise hides which share of the events of the window that ended at " + end +
			" is counted in these values: there are too few of them."
	}
	text := fmt.Sprintf("About %.0f %% of the events of the window that ended at %s are counted in these values "+
		"(between %.0f and %.0f %%, at %s %% confidence). The others were left out: they are beyond the allowances of "+
		"their users. In this share, a user with more than %s weighs no more than one with that many. If some users "+
		"have far more, the real share is usually lower.",
		100*share.Value, end, math.Floor(100*share.Low), math.Ceil(100*share.High), digits(100*twice(in.confidence)),
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
