package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stuck is a stream that takes nothing until it is let go.
type stuck struct {
	free chan struct{}
	mu   sync.Mutex
	b    bytes.Buffer
}

func (s *stuck) Write(b []byte) (int, error) {
	<-s.free
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *stuck) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// soon fails a test that hangs.
func soon(t *testing.T, what string, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s waits for a stream that takes nothing", what)
	}
}

// Neither logs nor settlements wait for a stderr that takes nothing, and what they say
// comes, as far as it was kept, once it takes something again.
func TestRuleNoCallerWaitsForAStderrThatTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the relay's pauses take no time
		w := &stuck{free: make(chan struct{})}
		now := monday
		p := NewProgress(w, func() time.Time { now = now.Add(time.Minute); return now })
		soon(t, "progress", func() {
			p.Note("first")
			for i := range 20_000 {
				p.Settled(i, 1)
				fmt.Fprintf(p, "level=WARN msg=%d %s\n", i, strings.Repeat("x", 100))
				p.Mention("line %d", i)
			}
			p.Note("last")
			p.Done("")
			if p.out.bytes > maxBacklog {
				t.Errorf("%d bytes are kept", p.out.bytes)
			}
		})
		close(w.free)
		written := func() {
			for p.out.busy() {
				time.Sleep(time.Millisecond) // soon gives up
			}
		}
		soon(t, "a stream that takes everything", written)
		p.Mention("again")
		soon(t, "a stream that takes everything", written)
		for _, want := range []string{"first\n", "msg=0 ", "line 1\n", "messages left out here", "again\n"} {
			if !strings.Contains(w.String(), want) {
				t.Errorf("%q did not come", want)
			}
		}
	})
}
