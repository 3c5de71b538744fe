package serve

import (
	"fmt"
	"net/http"
	"time"
)

// patience is how long Kafka may be silent before /-/ready reports it.
const patience = 30 * time.Second

// silent returns the time since Kafka's last response, or 0 if that is within patience.
func (s *server) silent(now time.Time) time.Duration {
	if silent := now.Sub(time.UnixMilli(s.responded.Load())); silent > patience {
		return silent.Round(time.Second)
	}
	return 0
}

// unready returns the reason why this process is not ready, or "". serve is ready once it has read
// all values that were settled at its start (complete). The text is public. A process with values
// stays ready even if Kafka does not respond: a proxy that excluded it would show nothing.
func (s *server) unready(now time.Time) string {
	switch {
	case s.ending.Load():
		return "this process is ending"
	case s.complete.Load():
		return ""
	case s.silent(now) > 0:
		return "serve cannot read the published values: its log says why"
	}
	return "values are still being read"
}

// ready handles /-/ready. It responds with a line of text; http.Error writes it with any status.
func (s *server) ready(w http.ResponseWriter, _ *http.Request) {
	now := time.Now()
	why, silent := s.unready(now), s.silent(now)
	switch {
	case why != "":
		http.Error(w, why, http.StatusServiceUnavailable)
	case silent > 0:
		http.Error(w, fmt.Sprintf("ready, but newer values may be missing: Kafka has not responded for %v", silent),
			http.StatusOK)
	default:
		http.Error(w, "ready", http.StatusOK)
	}
}
