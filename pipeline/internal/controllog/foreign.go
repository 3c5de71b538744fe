package controllog

import (
	"fmt"
)

// NotOurs is what is said of a record that no version of this program has written.
const NotOurs = "was not written by this program and is passed over; somebody else can write to the topic: see to its access control"

// Stray tells of a record that nobody obeys, once; of many in one partition only now
// and then.
func (t *Log) Stray(topic string, partition int32, offset int64, what string) {
	t.strayMu.Lock()
	defer t.strayMu.Unlock()
	place := fmt.Sprintf("topic %s, partition %d", topic, partition)
	told, again := t.strays[place]
	if again && offset <= told.last {
		return
	}
	told.last = offset
	told.n++
	t.strays[place] = told
	switch {
	case told.n <= straysNamed:
		t.log.Warn(fmt.Sprintf("%s: the record at offset %d %s", place, offset, what))
	case told.n%straysCounted == 0:
		t.log.Warn(fmt.Sprintf("%s: the record at offset %d is the %d. of these; every %d. is named", place, offset, told.n, straysCounted))
	}
}

const (
	straysNamed   = 10
	straysCounted = 1000
)

// strayed is what was told of a partition.
type strayed struct {
	n    int
	last int64
}
