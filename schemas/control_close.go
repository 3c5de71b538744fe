package schemas

import (
	"cmp"
	"maps"
	"slices"
)

// Close fixes the end of a turn for every later run, and thereby which records belong to the turn.
type Close struct {
	Epoch         int64
	Turn          uint64
	Contributions uint64 // accepted records of the turn
	Cuts          []Cut  // ends of the turn, by partition, strictly ascending
	Tallies       ReadTallies
}

// Cut is the end of a turn in one partition of the events topic.
type Cut struct {
	Partition   int32
	Cut         int64 // first offset after the turn
	Restart     int64 // lowest offset that contributes to a later turn, or Cut
	AppendTime  int64 // largest append time before Restart, Unix milliseconds
	LeaderEpoch int32
	Idle        bool  // whether the idle rule set the end
	Lag         int64 // how far records are behind the clock when they arrive, in milliseconds; at least 0
	// Ahead lists, ascending, the offsets from Restart to Cut of records whose producer timestamp
	// was ahead of the reader's clock. A restarted reader uses this list instead of its own clock.
	Ahead []int64
}

// ReadTallies counts the records read from the events topic by outcome. The numbers are for the
// trusted side only: they never appear on standard output, in logs or in metrics.
type ReadTallies struct {
	Read, BeforeStart, Late, Future, Overtaken, Accepted uint64
	// Skipped counts records that are not events by design: tombstones, deletes, and records that
	// no filter needs. The encoding lists them among the classes of dead letters.
	Skipped      uint64
	DeadLettered map[string]uint64 // by class
}

const skippedClass = "skipped"

// Add adds o to t.
func (t *ReadTallies) Add(o ReadTallies) {
	t.Skipped += o.Skipped
	others := o.numbers()
	for i, n := range t.numbers() {
		*n += *others[i]
	}
	if len(o.DeadLettered) > 0 && t.DeadLettered == nil {
		t.DeadLettered = make(map[string]uint64, len(o.DeadLettered))
	}
	for class, n := range o.DeadLettered {
		t.DeadLettered[class] += n
	}
}

func (*Close) controlKind() Kind { return KindClose }

func (c *Close) layout(w *wire) {
	w.fields("epoch", &c.Epoch, "turn", &c.Turn, "contributions", &c.Contributions)
	list(w, &c.Cuts, 7, "cuts", (*Cut).layout)
	c.Tallies.layout(w)
	ascend(w, c.Cuts, "partitions", func(a, b *Cut) int { return cmp.Compare(a.Partition, b.Partition) })
	w.check(len(c.Cuts) == 0 || c.Cuts[0].Partition >= 0, "partitions out of order")
}

func (c *Cut) layout(w *wire) {
	idle := uint64(c.Lag) << 1
	if c.Idle {
		idle++
	}
	w.int32(&c.Partition, "partition")
	w.int(&c.Cut, "cut")
	w.int(&c.Restart, "restart")
	w.int(&c.AppendTime, "append time")
	w.int32(&c.LeaderEpoch, "leader epoch")
	w.uint(&idle, "idle and lag")
	c.Idle, c.Lag = idle&1 == 1, int64(idle>>1)
	last := c.Restart
	list(w, &c.Ahead, 1, "offsets ahead", func(offset *int64, w *wire) {
		step := *offset - last // takes one byte if the list is dense
		w.int(&step, "offset ahead")
		last += step
		if w.reading {
			*offset = last
		}
	})
}

// numbers lists the tallies other than Skipped and DeadLettered, in the order of the encoding.
func (t *ReadTallies) numbers() [6]*uint64 {
	return [...]*uint64{&t.Read, &t.BeforeStart, &t.Late, &t.Future, &t.Overtaken, &t.Accepted}
}

func (t *ReadTallies) layout(w *wire) {
	for _, n := range t.numbers() {
		w.uint(n, "tallies")
	}
	classes := slices.Collect(maps.Keys(t.DeadLettered))
	if t.Skipped > 0 {
		classes = append(classes, skippedClass)
	}
	slices.Sort(classes)
	list(w, &classes, 2, "dead-letter classes", func(class *string, w *wire) {
		w.text(class, "dead-letter class")
		n := t.DeadLettered[*class]
		if *class == skippedClass {
			n = t.Skipped
		}
		w.uint(&n, "dead-letter tally")
		switch {
		case !w.reading:
		case *class == skippedClass:
			w.check(n > 0, "the tally of skipped records is 0")
			t.Skipped = n
		default:
			if t.DeadLettered == nil {
				t.DeadLettered = make(map[string]uint64)
			}
			t.DeadLettered[*class] = n
		}
	})
	ascend(w, classes, "dead-letter classes", func(a, b *string) int { return cmp.Compare(*a, *b) })
}
