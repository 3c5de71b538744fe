package reading

import "time"

const (
	// lookahead is the number of turns after the settled one that are read ahead, by event time, so
	// that a partition that is ahead waits for the others.
	lookahead = 32
	// closeAhead is the number of turns that may be closed ahead of settlement, at most lookahead.
	closeAhead = 16
	// maxBuffered limits the events that are read ahead, except on partitions that the turn waits
	// for.
	maxBuffered = 1 << 20
	// openStep limits a step while a turn is open, because an engine may propagate the watermark
	// only between steps; idleStep limits any other step.
	openStep = 20 * time.Millisecond
	idleStep = time.Second
	// readersWait limits how long group 0 waits for the readers of other groups before it starts
	// its first epoch; joinWait limits the wait before a later epoch.
	readersWait = 2 * time.Second
	joinWait    = 50 * time.Millisecond
	// PollWait is how long a fetch waits for the first record.
	PollWait = 250 * time.Millisecond
	// unansweredLimit limits the time without a response to the fetches of a partition. After a
	// longer time, its silence counts from the next response, because producers could not write to
	// an absent broker either.
	unansweredLimit = 10 * time.Second
	// mostStall limits the stall limit, which doubles while the same turn does not settle.
	mostStall = 24 * time.Hour
	// fetchBytes limits the bytes of one partition in a fetch.
	fetchBytes = 1 << 20
	// knownUsersBytes limits the memory of cached account ids: some five million users with short
	// ids.
	knownUsersBytes = 256 << 20
)
