package reading

import "time"

const (
	// lookahead is the number of turns of event time, after the settled one, that are read ahead: a
	// partition beyond them waits for the others.
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
	// unansweredLimit limits the time without a response to a partition's fetches. After a longer
	// time, the partition counts as silent only from the next response on, because producers could
	// not write to an absent broker either.
	unansweredLimit = 10 * time.Second
	// maxStallLimit limits the stall limit, which doubles while the same turn does not settle.
	maxStallLimit = 24 * time.Hour
	// fetchBytes limits the bytes of one partition in a fetch.
	fetchBytes = 1 << 20
	// knownUsersBytes limits the memory of cached account ids: some five million users with short
	// ids.
	knownUsersBytes = 256 << 20
)
