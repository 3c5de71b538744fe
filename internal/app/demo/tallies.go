package demo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// ErrTallies means that records are unaccounted for: a fault of the program, never of the data.
var ErrTallies = errors.New("the tallies do not add up")

// CheckTallies returns ErrTallies if a total is not the sum of its parts, without showing numbers.
func CheckTallies(t pipeline.Tallies) error {
	if t.Broken()+t.Skipped+t.BeforeStart+t.Late+t.Future+t.Overtaken+t.Accepted != t.Read {
		return fmt.Errorf("%w: records read", ErrTallies)
	}
	for _, m := range t.Metrics {
		if derived := strings.HasPrefix(m.Metric, MetricName+"."); !derived && m.Pairs() != t.Accepted {
			return fmt.Errorf("%w: records accepted, metric %s", ErrTallies, m.Metric)
		}
	}
	return nil
}
