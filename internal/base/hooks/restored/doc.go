// Package restored imitates, for tests, engines that restore a checkpoint and processes that lose
// the state of a shard. Without a hook its functions return the stage unchanged.
package restored
