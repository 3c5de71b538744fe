package demo

import (
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/outcomes"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// spread counts the values of a file below, between and above edges: those of a histogram, or the
// ends of the range. The counts are exact, for the holder of the file.
type spread struct {
	edges  []int64
	values []uint64 // values[i] are below edges[i] and not below edges[i-1]
	all    uint64
}

func (j *job) newSpread() spread {
	edges := []int64{j.settings.Min, j.settings.Max}
	for i := range j.deployment.Metrics {
		if spec := &j.deployment.Metrics[i].Spec; spec.Name == deployment.ShareName(demo.MetricName, spec.Min) {
			edges = append(edges, spec.Min)
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	return spread{edges: edges, values: make([]uint64, len(edges)+1)}
}

func (s *spread) add(v int64) {
	at, found := slices.BinarySearch(s.edges, v)
	if found && at < len(s.edges)-1 { // the greatest value of the range is in it
		at++
	}
	s.values[at]++
	s.all++
}

// text says that most values are outside the range, or nearly all in one bucket; "" if neither.
func (s *spread) text(f *demoFlags) string {
	last := len(s.edges)
	if !f.kindOf().Values() || s.all == 0 {
		return ""
	}
	least, most := s.edges[0], s.edges[last-1]
	flag, unit := "--min and --max", ""
	if f.statistics.Edges != nil {
		flag = "--edges"
	}
	if f.Decimals > 0 {
		unit = ", in units of " + f.layout().ValueUnit()
	}
	if out := s.values[0] + s.values[last]; 2*out > s.all {
		return fmt.Sprintf("%s are outside the range from %s to %s and are clamped to it: correct %s%s", outcomes.Part(out, s.all, "value"), terminal.Number(float64(least), 0), terminal.Number(float64(most), 0), flag, unit)
	}
	for i := 1; i < last && last > 2; i++ {
		if n := s.values[i]; 20*n > 19*s.all {
			return fmt.Sprintf("%s are in one bucket, %s: correct %s%s", outcomes.Part(n, s.all, "value"), terminal.Bucket(s.edges[i-1], s.edges[i], least, most), flag, unit)
		}
	}
	return ""
}
