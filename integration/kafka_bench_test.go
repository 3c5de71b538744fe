package integration

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkTinyTurns measures the protocol alone: 1,000 windows with one event each, on the broker
// of TOLLGATE_BROKER. It reports milliseconds per turn, including the start of the run, and the
// time of a start that has nothing left to do.
func BenchmarkTinyTurns(b *testing.B) {
	const windows = 1000
	for _, shards := range []int{1, 16} {
		b.Run(fmt.Sprintf("%dshards", shards), func(b *testing.B) {
			var turns, starts time.Duration
			for round := range b.N {
				name := fmt.Sprintf("tiny%d-%d-%d", shards, b.N, round)
				d := newDeployment(b, startBroker(b), name, 1, only(publicMetric("visits", 10*time.Second)),
					sharded(shards, 1))
				var arrivals []arrival
				for i := range windows {
					arrivals = append(arrivals, visit("u", "p00", time.Duration(i)*10*time.Second))
				}
				d.append(0, arrivals)
				began := time.Now()
				if result := d.run(); result.Settled != windows {
					b.Fatalf("%d turns were settled", result.Settled)
				}
				turns += time.Since(began)
				began = time.Now()
				d.run()
				starts += time.Since(began)
			}
			b.ReportMetric(float64(turns.Milliseconds())/float64(windows*b.N), "ms/turn")
			b.ReportMetric(float64(starts.Milliseconds())/float64(b.N), "ms/start")
		})
	}
}
