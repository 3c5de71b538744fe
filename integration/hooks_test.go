package integration

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// hooks returns the hooks of a job. settled is the last settled turn; report sends delays to the
// test.
func (j job) hooks(settled *atomic.Uint64, report func(line)) crashpoint.Hooks {
	var passed atomic.Int64
	asked := make(chan struct{})
	var hooks crashpoint.Hooks
	if j.ForgetEvery > 0 {
		hooks.Forget = func(_ int, turn uint64) bool { return turn%j.ForgetEvery == 0 }
	}
	hooks.At = func(point string, shard int) error {
		if d := max(j.Delays[point], j.Delays[inShard(point, shard)]); d > 0 {
			report(line{Held: point})
			time.Sleep(d) // a slow write
		}
		if point == crashpoint.DrainWritten {
			close(asked)
		}
		if point == crashpoint.SettledWriting && j.UntilDrained > 0 && settled.Load()+1 >= j.UntilDrained {
			<-asked
		}
		if point == j.CrashAt && settled.Load()+1 >= j.CrashTurn && passed.Add(1) > int64(j.Skip) {
			_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
			select {} // nothing after this line runs
		}
		return nil
	}
	return hooks
}

// inShard names a point in one shard only, for a job's delays.
func inShard(point string, shard int) string { return fmt.Sprintf("%s in shard %d", point, shard) }

// forgetting returns a change of a job: shards lose their memory in every n-th turn; 0: never.
func forgetting(every uint64) func(*job) {
	return func(j *job) { j.ForgetEvery = every }
}

// diesAt has a run in this process fail with errDied at a point.
func diesAt(point string) func(*runOptions) {
	return func(o *runOptions) { o.Hooks.At = dyingAt(point) }
}

func dyingAt(fatal string) crashpoint.Hook {
	return func(point string, _ int) error {
		if point == fatal {
			return errDied
		}
		return nil
	}
}

var errDied = errors.New("the process died")

// untilTurn has an unbounded run drain once a turn, or a later one, is settled.
func untilTurn(last uint64) func(*runOptions) {
	return func(o *runOptions) {
		drain := make(chan struct{})
		o.Bounded, o.Drain = false, drain
		before, drained := o.OnSettled, false
		o.OnSettled = func(s pipeline.Settlement) {
			if before != nil {
				before(s)
			}
			if s.Turn >= last && !drained {
				drained = true
				close(drain)
			}
		}
	}
}
