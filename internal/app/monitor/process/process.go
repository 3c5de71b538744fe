package process

import (
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
)

// shown lists the exported metrics of the process and of Go. The libraries also count allocations
// and bytes from the network, but such counts reveal single records. Moreover, the bytes are
// counted for the whole machine, unless a container has its own network.
var shown = []string{
	"go_goroutines", "go_info", "go_threads", "process_cpu_seconds_total", "process_max_fds", "process_open_fds",
	residentMemory, "process_start_time_seconds",
}

const (
	residentMemory = "process_resident_memory_bytes"
	memoryStep     = 16 << 20 // bytes; too coarse to reveal a few users or records
)

// Gatherer returns the unchanged metrics of a registry, and metrics of the process: processor time,
// memory in steps of 16 MiB, threads and open files. It is safe for concurrent use.
func Gatherer(registry *prometheus.Registry) prometheus.Gatherer {
	all := prometheus.NewRegistry()
	all.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return prometheus.Gatherers{registry, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := all.Gather()
		families = slices.DeleteFunc(families, func(f *dto.MetricFamily) bool {
			return !slices.Contains(shown, f.GetName())
		})
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if g := m.GetGauge(); g != nil && f.GetName() == residentMemory {
					stepped := memoryStep * math.Ceil(g.GetValue()/memoryStep)
					g.Value = &stepped
				}
			}
		}
		if err != nil {
			return families, fmt.Errorf("reading the resource use of the process: %w", err)
		}
		return families, nil
	})}
}
