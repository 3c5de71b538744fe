package flink

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// becomes gives the first job another state.
func (m *slowJobManager) becomes(state string, fails ...failure) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.states[0], m.fails = state, append(m.fails, fails...)
}

// followed submits a job and calls then once it runs; it returns the reported failures and the
// result of the job.
func followed(t *testing.T, m *slowJobManager, then func(cancel context.CancelCauseFunc),
	failing func(string) error) ([]string, error) {
	t.Helper()
	s := submissionTo(t, m)
	s.o.Away = time.Second
	var causes []string
	s.failing = func(cause string) error {
		causes = append(causes, cause)
		return failing(cause)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s.o.Started = func(string, string) { go then(cancel) }
	err := s.attempt(ctx)
	return causes, err
}

// Every end of a job is reported as it happened, each failure once and the oldest first, and no job
// outlives its run.
func TestAJobIsFollowedToItsEnd(t *testing.T) {
	later := func() { time.Sleep(300 * time.Millisecond) } // some looks at the job
	first, second := failure{Name: "first", Time: 1}, failure{Name: "second", Time: 2}
	stop := errors.New("no further try helps")
	for name, c := range map[string]struct {
		then    func(m *slowJobManager, cancel context.CancelCauseFunc)
		failing error
		is      error
		says    string
		causes  []string
	}{
		"finished": {then: func(m *slowJobManager, _ context.CancelCauseFunc) { m.becomes("FINISHED") }},
		"failed after restarts": {
			then: func(m *slowJobManager, _ context.CancelCauseFunc) {
				m.becomes("RESTARTING", second, first)
				later()
				m.becomes("FAILED", failure{Name: "third", Time: 3})
			},
			says: "is FAILED: third", causes: []string{"first", "second", "third"},
		},
		"cancelled by another": {then: func(m *slowJobManager, _ context.CancelCauseFunc) {
			m.becomes("CANCELED")
		}, says: "is CANCELED"},
		"forgotten": {then: func(m *slowJobManager, _ context.CancelCauseFunc) { m.becomes("") }, is: ErrJobLost},
		"away for a while": {then: func(m *slowJobManager, _ context.CancelCauseFunc) {
			m.away.Store(true)
			later()
			m.away.Store(false)
			m.becomes("FINISHED")
		}},
		"away for good": {then: func(m *slowJobManager, _ context.CancelCauseFunc) {
			m.away.Store(true)
		}, is: ErrUnreachable, says: "may still run"},
		"not to be tried again": {
			then:    func(m *slowJobManager, _ context.CancelCauseFunc) { m.becomes("RESTARTING", first) },
			failing: stop, is: stop, causes: []string{"first"},
		},
		"the run is over": {then: func(_ *slowJobManager, cancel context.CancelCauseFunc) { cancel(stop) }, is: stop},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "away for good" && !long.On() {
				t.Skip("half a minute passes until its job is given up")
			}
			m := &slowJobManager{}
			causes, err := followed(t, m, func(cancel context.CancelCauseFunc) {
				c.then(m, cancel)
			}, func(string) error { return c.failing })
			if c.is == nil && c.says == "" && err != nil || c.is != nil && !errors.Is(err, c.is) ||
				c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("it ended with %v; want %v %q", err, c.is, c.says)
			}
			if !slices.Equal(causes, c.causes) {
				t.Errorf("told %q, want %q", causes, c.causes)
			}
			if n := m.running(); n != 0 && name != "away for good" {
				t.Errorf("%d jobs are left", n)
			}
		})
	}
}
