package integration

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
)

// hooks turns a job's wishes into hooks. settled is the last settled turn; say reports delays to
// the test.
func (j job) hooks(settled *atomic.Uint64, say func(line)) crashpoint.Hooks {
	var passed atomic.Int64
	asked := make(chan struct{})
	var hooks crashpoint.Hooks
	if j.ForgetEvery > 0 {
		hooks.Forget = missing(j.ForgetEvery)
	}
	hooks.At = func(point string, shard int) error {
		if d := max(j.Delays[point], j.Delays[inShard(point, shard)]); d > 0 {
			say(line{Held: point})
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
			select {} // nothing after this line happens any more
		}
		return nil
	}
	return hooks
}

// inShard names a point in one shard only, for a job's delays.
func inShard(point string, shard int) string { return fmt.Sprintf("%s in shard %d", point, shard) }

// forgetting returns a change of a job: shards are forgotten in every n-th turn; 0 is never.
func forgetting(every uint64) func(*job) {
	return func(j *job) { j.ForgetEvery = every }
}

// missing forgets in every n-th turn.
func missing(every uint64) func(int, uint64) bool {
	return func(_ int, turn uint64) bool { return turn%every == 0 }
}
