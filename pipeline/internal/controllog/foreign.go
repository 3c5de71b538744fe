package controllog

import "fmt"

// NotOurs is the reason to pass to ReportForeign if no version of this program wrote the record.
const NotOurs = "was not written by Tollgate and is ignored: check who may write to the topic"

// ReportForeign logs a warning about an ignored record, once, with the reason. It logs the first
// ten such records of a partition, and then one in a thousand.
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
	case reported.n <= foreignNamed:
		l.log.Warn(fmt.Sprintf("%s: the record at offset %d %s", partitionName, offset, what))
	case reported.n%foreignCounted == 0:
		l.log.Warn(fmt.Sprintf("%s: the record at offset %d is number %d of these; only one in %d is logged",
			partitionName, offset, reported.n, foreignCounted))
	}
}

const (
	foreignNamed   = 10
	foreignCounted = 1000
)

// reportedForeign counts the reported records of a partition, and holds the last one's offset.
type reportedForeign struct {
	n    int
	last int64
}
