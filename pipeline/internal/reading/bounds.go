package reading

import "time"

const (
	// lookahead is how many turns after the settled one are read ahead: by
	// event time, so that a partition that runs ahead waits for the others.
	lookahead = 32
	// closeAhead is how many turns may be closed ahead of settlement: never more than lookahead.
	closeAhead = 16
	// maxBuffered limits the events that are read ahead, except on the partition that the turn
	// waits for.
	maxBuffered = 1 << 20
	// openStep limits a step while a turn is open, because an engine may propagate the watermark
	// only between steps. idleStep limits a step while no turn is open.
	openStep = 20 * time.Millisecond
	idleStep = time.Second
	// readersWait is how long group 0 waits for the readers of the other groups before it starts
	// an epoch. joinWait is how long it waits for more of them after the first.
	readersWait = 2 * time.Second
	joinWait    = 50 * time.Millisecond
	// PollWait is how long a fetch waits for the first record.
	PollWait = 250 * time.Millisecond
	// unansweredLimit: if the fetches of a partition had no response for longer than this, its
	// silence counts from the next response: producers could not write to an absent broker either.
	unansweredLimit = 10 * time.Second
	// mostStall bounds the stall limit, which doubles while the same turn does not settle.
	mostStall = 24 * time.Hour
	// fetchBytes bounds the bytes of one partition in a fetch.
	fetchBytes = 1 << 20
	// knownUsersBytes bounds the memory of the users whose account ids are kept: some five
	// million with short ids.
	knownUsersBytes = 256 << 20
)
