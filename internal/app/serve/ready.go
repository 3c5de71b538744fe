package serve

import (
	"fmt"
	"net/http"
	"time"
)

// patience is the time for which Kafka may be silent before /-/ready reports it.
const patience = 30 * time.Second

// silent returns the time since Kafka's last response, or 0 if that time does not exceed patience.
func (s *server) silent(now time.Time) time.Duration {
	if silent := now.Sub(time.UnixMilli(s.responded.Load())); silent > patience {
		return silent.Round(time.Second)
	}
	return 0
}

// unready returns the reason why this process is not ready, or "" if it is ready. The text is
// public. A process is ready once it has read all values that were settled at its start (complete).
// It stays ready even if Kafka does not respond, because a proxy that excluded it would show
// nothing at all.
func (s *server) unready(now time.Time) string {
	switch {
	case s.ending.Load():
		return "this process is ending"
	case s.complete.Load():
		return ""
	case s.silent(now) > 0:
		return "serve cannot read the published values: its log contains the reason"
	}
	return "values are still being read"
}

// ready handles /-/ready. It responds with a line of text. http.Error writes the line with any
// status, including 200.
func (s *server) ready(w http.ResponseWriter, _ *http.Request) {
	now := time.Now()
	reason, silent := s.unready(now), s.silent(now)
	switch {
	case reason != "":
		http.Error(w, reason, http.StatusServiceUnavailable)
	case silent > 0:
		http.Error(w, fmt.Sprintf("ready, but newer values may be missing: Kafka has not responded for %v", silent),
			http.StatusOK)
	default:
		http.Error(w, "ready", http.StatusOK)
	}
}
