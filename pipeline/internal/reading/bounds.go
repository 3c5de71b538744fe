package reading

import "time"

const (
	// lookahead is how many turns after the settled one READ reads ahead, in event time. A
	// partition that has reached the last of them waits for the others.
	lookahead = 32
	// closeAhead is how many turns may be closed before they are settled; at most lookahead.
	closeAhead = 16
	// maxBuffered limits the number of events that are read ahead. Partitions that the next turn
	// waits for are read even beyond it.
	maxBuffered = 1 << 20
	// openStep limits a step while a turn is open, because an engine may propagate the watermark
	// only between steps. idleStep limits any other step.
	openStep = 20 * time.Millisecond
	idleStep = time.Second
	// readersWait is how long group 0 waits at most for the readers of other groups before its
	// first epoch. joinWait is the same before a later epoch.
	readersWait = 2 * time.Second
	joinWait    = 50 * time.Millisecond
	// PollWait is how long a fetch waits for the first record.
	PollWait = 250 * time.Millisecond
	// unansweredLimit is how long a partition's fetches may go unanswered while its silence counts.
	// After a longer time, its silence begins only with the next response, because producers could
	// not write to an absent broker either.
	unansweredLimit = 10 * time.Second
	// maxStallLimit is the maximum stall limit, which doubles while the same turn does not settle.
	maxStallLimit = 24 * time.Hour
	// fetchBytes limits the bytes that one fetch returns of a partition.
	fetchBytes = 1 << 20
	// knownUsersBytes limits the memory for cached account ids. It is enough for some five million
	// users with short ids.
	knownUsersBytes = 256 << 20
)
