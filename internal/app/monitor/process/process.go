package process

import (
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
)

// shown are the metrics of the process and of Go that do not count what was read. Numbers of
// allocations and of bytes from the network, which the libraries have, too, tell of single records;
// the latter are those of the whole machine if no container has a network of its own.
var shown = []string{
	"go_goroutines", "go_info", "go_threads", "process_cpu_seconds_total", "process_max_fds", "process_open_fds",
	residentMemory, "process_start_time_seconds",
}

const (
	residentMemory = "process_resident_memory_bytes"
	memoryStep     = 16 << 20 // bytes; too coarse to show a few users or records
)

// Gatherer adds what a process uses to a registry, whose own metrics are left as they are: time of
// the processor, memory in steps of 16 MiB, threads and open files. Nothing in it counts records,
// allocations or bytes from the network. Registry and result are safe for concurrent use.
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
			return families, fmt.Errorf("what the process uses: %w", err)
		}
		return families, nil
	})}
}
