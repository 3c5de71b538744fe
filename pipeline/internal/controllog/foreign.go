package controllog

import "fmt"

// NotOurs is the text for ReportForeign if no version of this program wrote the record.
const NotOurs = "was not written by Tollgate and is ignored: check who may write to the topic"

// ReportForeign logs one warning about an ignored record. what says, as a predicate, why it is
// ignored. Only the first ten such records of a partition are logged, and then one in a thousand.
func (l *Log) ReportForeign(topic string, partition int32, offset int64, what string) {
	l.foreignMu.Lock()
	defer l.foreignMu.Unlock()
	partitionName := fmt.Sprintf("topic %s, partition %d", topic, partition)
	reported, known := l.foreign[partitionName]
	if known && offset <= reported.last {
		return
	}
	reported.last = offset
	reported.n++
	l.foreign[partitionName] = reported
	switch {
	case reported.n <= foreignAll:
		l.log.Warn(fmt.Sprintf("%s: the record at offset %d %s", partitionName, offset, what))
	case reported.n%foreignOneIn == 0:
		l.log.Warn(fmt.Sprintf("%s: the record at offset %d is number %d of these; only one in %d is logged",
			partitionName, offset, reported.n, foreignOneIn))
	}
}

const (
	foreignAll   = 10
	foreignOneIn = 1000
)

// reportedForeign holds how many records of a partition were reported, and the offset of the last.
type reportedForeign struct {
	n    int
	last int64
}
