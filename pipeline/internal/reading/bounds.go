package reading

import "time"

const (
	// lookahead is how many turns after the settled one are read ahead: by
	// event time, so that a partition that runs ahead waits for the others.
	lookahead = 32
	// closeAhead is how many turns may be closed ahead of settlement, or two
	// spans, if that is more: never more than lookahead.
	closeAhead = 16
	// maxBuffered bounds the events read ahead; the partition that holds the
	// turn back is read all the same.
	maxBuffered = 1 << 20
	// openStep is how long a step takes at most while a turn is open: an engine may hand the
	// watermark on only when it is over. idleStep is the same while none is.
	openStep = 20 * time.Millisecond
	idleStep = time.Second
	// readersWait is how long group 0 waits for the readers of the other groups, and joinWait how
	// long for more of them when one has come, before it takes an epoch.
	readersWait = 2 * time.Second
	joinWait    = 50 * time.Millisecond
	// PollWait is how long a fetch waits for the first record.
	PollWait = 250 * time.Millisecond
	// unansweredLimit is how long the fetches of a partition may go unanswered before its silence
	// begins anew: while its broker is away, producers cannot write to it either.
	unansweredLimit = 10 * time.Second
	// mostStall is what the time that an open turn is given grows to while it is held up.
	mostStall = 24 * time.Hour
	// fetchBytes bounds what a fetch brings from one partition.
	fetchBytes = 1 << 20
	// knownUsersBytes bounds the memory of the users whose account ids are kept: some five
	// million with short ids.
	knownUsersBytes = 256 << 20
)
