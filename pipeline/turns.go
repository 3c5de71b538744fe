package pipeline

import "github.com/tollgate-dp/tollgate/schemas"

// turns numbers the ends of the metrics' windows: a pure function of the
// configuration and the deployment's start. Turn w covers [end(w−1), end(w)).
type turns struct {
	start   int64 // Unix milliseconds; a window starts here
	size    int64
	metrics int
}

func (d *Deployment) turns(start int64) turns {
	return turns{start: start, size: d.cfg.Metrics[0].Window.Milliseconds(), metrics: len(d.metrics)}
}

// align truncates a time to a window's start; windows start at multiples of
// their size since the Unix epoch.
func align(millis, size int64) int64 {
	rest := millis % size
	if rest < 0 {
		rest += size
	}
	return millis - rest
}

// end is the end of a turn in Unix milliseconds; end(0) is the start.
func (t turns) end(turn uint64) int64 { return t.start + int64(turn)*t.size }

// of is the turn that covers a time at or behind the start.
func (t turns) of(millis int64) uint64 { return uint64((millis-t.start)/t.size) + 1 }

// pairs are the windows that end with a turn, in admission order.
func (t turns) pairs(turn uint64) []schemas.Pair {
	pairs := make([]schemas.Pair, t.metrics)
	for i := range pairs {
		pairs[i] = schemas.Pair{Metric: uint32(i), WindowStart: t.end(turn) - t.size, WindowEnd: t.end(turn)}
	}
	return pairs
}
