package flink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// slowJobManager begins a job when requested, and does not always manage to respond.
type slowJobManager struct {
	mu     sync.Mutex
	states []string // of jobs j0, j1, …
	began  func()   // called when a job has been asked for
	lost   int      // number of initial responses to lose
	refuse string   // response in place of beginning a job
	fails  []failure
	away   atomic.Bool
}

func (m *slowJobManager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m.away.Load() {
		panic(http.ErrAbortHandler)
	}
	switch {
	case r.URL.Path == "/jars/a.jar/run" && m.refuse != "":
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, `{"errors": [%q]}`, m.refuse)
	case strings.HasSuffix(r.URL.Path, "/exceptions"):
		m.mu.Lock()
		defer m.mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]any{"exceptionHistory": map[string]any{"entries": m.fails}})
	case r.URL.Path == "/overview":
		fmt.Fprint(w, `{"flink-version": "1.19.0", "slots-total": 4, "slots-available": 4}`)
	case r.URL.Path == "/jobs/overview":
		m.mu.Lock()
		defer m.mu.Unlock()
		list := ""
		for i, state := range m.states {
			list += fmt.Sprintf(`,{"jid": "j%d", "name": "mine", "state": %q}`, i, state)
		}
		fmt.Fprintf(w, `{"jobs": [%s]}`, list[min(1, len(list)):])
	case r.URL.Path == "/jars/upload":
		fmt.Fprint(w, `{"filename": "/x/a.jar"}`)
	case r.URL.Path == "/jars/a.jar/run":
		if m.began != nil {
			m.began()
		}
		time.Sleep(100 * time.Millisecond)
		m.mu.Lock()
		n := len(m.states)
		m.states = append(m.states, "RUNNING")
		m.mu.Unlock()
		if n < m.lost {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(w, `{"jobid": "j%d"}`, n)
	default:
		m.mu.Lock()
		defer m.mu.Unlock()
		n := 0
		if _, err := fmt.Sscanf(r.URL.Path, "/jobs/j%d", &n); err != nil || n >= len(m.states) {
			fmt.Fprint(w, `{}`)
			return
		}
		if r.Method == http.MethodPatch {
			m.states[n] = "CANCELED"
		}
		if m.states[n] == "" {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"errors": ["Job not found"]}`)
			return
		}
		fmt.Fprintf(w, `{"state": %q}`, m.states[n])
	}
}

func (m *slowJobManager) running() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, state := range m.states {
		if state == "RUNNING" {
			n++
		}
	}
	return n
}

func submissionTo(t *testing.T, m *slowJobManager) *submission {
	server := httptest.NewUnstartedServer(m)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.Start()
	t.Cleanup(server.Close)
	c := must.Have(newClient(secret.NewURL(server.URL)))
	return &submission{client: c, name: "mine",
		o: &Options{Parallelism: 1, Away: time.Minute, Logger: slog.New(slog.DiscardHandler)},
		failing: func(string) error {
			return nil
		}}
}

// A run that is ended while its job starts does not leave the job running.
func TestNoJobIsLeftByASubmissionThatIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &slowJobManager{began: cancel}
	if err := submissionTo(t, m).attempt(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("once = %v, want the cause of its end", err)
	}
	time.Sleep(150 * time.Millisecond) // the JobManager handles the request whether or not a client waits
	if n := m.running(); n != 0 || len(m.states) != 1 {
		t.Errorf("%d of %d jobs run; want none of one", n, len(m.states))
	}
}

// A job whose start was not confirmed is ended before the same run starts another one.
func TestAJobThatBeganUnheardIsEnded(t *testing.T) {
	m := &slowJobManager{lost: 1}
	s := submissionTo(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	s.o.Started = func(job, _ string) {
		if n := m.running(); n != 1 || job != "j1" {
			t.Errorf("%d jobs run and %s is followed; want j1 alone", n, job)
		}
		cancel()
	}
	if err := s.attempt(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("once = %v, want the cause of its end", err)
	}
	if n := m.running(); n != 0 {
		t.Errorf("%d jobs are left", n)
	}
}
