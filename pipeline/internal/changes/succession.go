package changes

import (
	"slices"

	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Succeed returns the header of the generation that follows that of h and has the
// configuration of want: from is its first turn, sliceStart where that begins in Unix
// milliseconds, last the CLOSE of the turn before, nil where no turn was closed.
func Succeed(h, want *schemas.Header, from uint64, sliceStart int64, last *controllog.Closing) schemas.Header {
	next := *want
	next.Incarnation, next.StartMillis = h.Incarnation, h.StartMillis
	next.Generation, next.FromTurn, next.SliceStart = h.Generation+1, from, sliceStart
	before := h.AsPast()
	if last != nil {
		for _, c := range last.Cuts {
			before.Below = append(before.Below, schemas.Boundary{Partition: c.Partition, Offset: c.Cut})
		}
	}
	next.Past = append(slices.Clone(h.Past), before)
	next.MetricStarts = nil
	next.NoiseKeys = slices.Clone(h.NoiseKeys)
	if now := NewestKey(want); now.Fingerprint != NewestKey(h).Fingerprint {
		now.FromTurn = from
		next.NoiseKeys = append(next.NoiseKeys, now)
	}
	for i := range next.Metrics {
		next.MetricStarts = append(next.MetricStarts, sliceStart)
		if at, whole := continuedMetric(h, &next, i); whole {
			next.MetricStarts[i] = h.MetricStarts[at]
		}
	}
	return next
}

// continuedMetric says whether the open windows of a metric go on after a change, and which
// metric of the old generation it is. They go on where the slices that are kept hold
// whatever the metric looks at; they do not where its public keys were changed.
func continuedMetric(h, next *schemas.Header, i int) (int, bool) {
	m := &next.Metrics[i]
	at := MetricNamed(h, m.Name)
	if at < 0 {
		return -1, false
	}
	old := &h.Metrics[at]
	switch {
	case m.KeyMode == schemas.KeysFrom:
		if from := MetricNamed(next, m.KeysFrom); from >= 0 {
			_, whole := continuedMetric(h, next, from)
			return at, whole
		}
		return at, false
	case metrickind.Of(m.Kind).Share: // which has a window for each of its metric's, and no other
		of := MetricNamed(next, m.Of)
		_, whole := continuedMetric(h, next, of)
		return at, whole
	case m.KeyMode == schemas.KeysPublic && !metrickind.Of(m.Kind).Derived:
		return at, slices.EqualFunc(old.PublicKeys, m.PublicKeys, slices.Equal)
	}
	return at, true
}
