package watch

import (
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
)

// At the end of a partition the lag is 0 as long as the broker confirms that it is the end.
func TestLagGrowsWhileNoBrokerAnswers(t *testing.T) {
	stamp := func(ago time.Duration) int64 { return stallNoon.Add(-ago).UnixMilli() }
	for _, test := range []struct {
		name  string
		p     Partition
		want  time.Duration
		known bool
	}{
		{"at the end",
			Partition{Next: 5, LastStable: 5, RequestedAt: stamp(time.Second), AppendTime: stamp(time.Hour)}, 0, true},
		{"at the end of an empty partition",
			Partition{RequestedAt: stamp(time.Second), AppendTime: calendar.Never}, 0, true},
		{"behind", Partition{Next: 4, LastStable: 5, RequestedAt: stamp(time.Second), AppendTime: stamp(time.Hour)},
			time.Hour, true},
		{"behind, stamped ahead of the clock",
			Partition{Next: 4, LastStable: 5, RequestedAt: stamp(time.Second), AppendTime: stamp(-time.Hour)}, 0, true},
		{"behind, without append times",
			Partition{Next: 4, LastStable: 5, RequestedAt: stamp(time.Second), AppendTime: calendar.Never}, 0, false},
		{"at the end, and no answer since",
			Partition{Next: 5, LastStable: 5, RequestedAt: stamp(time.Minute), AppendTime: stamp(time.Hour)},
			time.Minute, true},
		{"at the end of an empty partition, and no answer since",
			Partition{RequestedAt: stamp(time.Minute), AppendTime: calendar.Never}, time.Minute, true},
		{"behind, and no answer since",
			Partition{Next: 4, LastStable: 5, RequestedAt: stamp(time.Minute), AppendTime: stamp(time.Hour)}, time.Hour,
			true},
	} {
		if lag, known := test.p.Lag(stallNoon); lag != test.want || known != test.known {
			t.Errorf("%s: %v, %v; want %v, %v", test.name, lag, known, test.want, test.known)
		}
	}
}
