package terminal

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

const (
	// patience is how long a caller waits for a stream that accepts nothing. After that, no caller
	// waits until the stream accepts something again.
	patience = 2 * time.Second
	// maxBacklog limits the bytes that are kept for a stream that accepts nothing.
	maxBacklog = 1 << 20
)

// relay writes to a stream that may stop accepting anything, such as a terminal after Ctrl-S or a
// pipe without a reader. It keeps output up to a limit meanwhile, so that no caller has to wait.
// Safe for concurrent use.
type relay struct {
	w       io.Writer
	mu      sync.Mutex
	queue   [][]byte
	bytes   int
	dropped int
	idle    chan struct{} // closed once everything is written; nil while nothing is being written
	stalled bool          // a caller waited for patience, and nothing was written since
}

// put queues text and returns at once. Except for cursor movements, the text must be printable.
func (r *relay) put(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped > 0 || r.bytes+len(text) > maxBacklog { // messages stay in order
		r.dropped++
		return
	}
	r.queue = append(r.queue, []byte(text))
	r.bytes += len(text)
	if r.idle == nil {
		r.idle = make(chan struct{})
		go r.work()
	}
}

// work writes until nothing is left.
func (r *relay) work() {
	for {
		r.mu.Lock()
		if len(r.queue) == 0 && r.dropped > 0 {
			r.queue = append(r.queue,
				fmt.Appendf(nil, "(%s left out here: this stream accepted nothing for too long)\n",
					Count(r.dropped, "message")))
			r.dropped = 0
		}
		if len(r.queue) == 0 {
			close(r.idle)
			r.idle, r.stalled = nil, false
			r.mu.Unlock()
			return
		}
		text := slices.Concat(r.queue...)
		r.queue, r.bytes = nil, 0
		r.mu.Unlock()
		r.w.Write(text) //nolint:errcheck // an error of writing notes cannot be reported anywhere
		r.mu.Lock()
		r.stalled = false
		r.mu.Unlock()
	}
}

// busy reports whether something is still to be written.
func (r *relay) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.idle != nil
}

// flush waits until everything is written, but at most for patience if the stream accepts nothing.
func (r *relay) flush() {
	r.mu.Lock()
	idle := r.idle
	wait := idle != nil && !r.stalled
	r.mu.Unlock()
	if !wait {
		return
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.stalled = r.idle != nil
	}
}

// Say writes text, but does not wait for long if w accepts nothing.
func Say(w io.Writer, text string) {
	r := relay{w: raw(w)}
	r.put(printable(text))
	r.flush()
}
