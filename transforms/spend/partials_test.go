package spend

import (
	"fmt"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// BenchmarkCounts is by the number of one user's keys; the time per key must not depend on it. The
// user has two budget periods and two windows: of a metric that counts users and of one that counts
// events.
func BenchmarkCounts(b *testing.B) {
	for _, keys := range []int{10, 1000, 20_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			a := &shardAccounts{rules: &Rules{metrics: []metric{
				{kind: metrickind.Of(metrickind.DistinctUsers)},
				{kind: metrickind.Of(metrickind.Events)},
			}}}
			c := &contributions{keys: make([][]byte, keys)}
			d := &decision{delta: &schemas.Delta{Windows: []schemas.MetricWindow{{Metric: 0}, {Metric: 1}}}, ended: &endedWindows{contributions: []*contributions{c, c}}}
			var all []kept
			for k := range keys {
				all = append(all, kept{uint32(k), 1})
			}
			for period := range int64(2) {
				for window := range 2 {
					d.reservations.add(&member{ContribUser: schemas.ContribUser{Period: period}}, window, 0, &clipper{kept: all})
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				a.counts(d)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*keys*4), "ns/key")
		})
	}
}
