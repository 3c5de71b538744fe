package monitor

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A process's allocations and its bytes from the network show how much it has read: nothing that is
// served may count them, even if it shows exact numbers of records.
func TestNothingOfTheProcessCountsRecords(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		m := New(Options{Trusted: trusted})
		code, text := get(t, m.Handler(), "/metrics")
		if code != http.StatusOK {
			t.Fatal(code, text)
		}
		var names []string
		for line := range strings.Lines(text) {
			if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, "go_") ||
				strings.HasPrefix(name, "process_") {
				name, _, _ = strings.Cut(name, "{")
				names = append(names, name)
				if name != "process_resident_memory_bytes" {
					continue
				}
				if v, err := strconv.ParseFloat(value, 64); err != nil || v <= 0 || int64(v)%(16<<20) != 0 {
					t.Errorf("%s is not a multiple of 16 MiB", line)
				}
			}
		}
		want := []string{"go_goroutines", "go_info", "go_threads", "process_cpu_seconds_total", "process_max_fds",
			"process_open_fds", "process_resident_memory_bytes", "process_start_time_seconds"}
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("trusted %v: %q", trusted, names)
		}
	}
}
