package reference

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
)

// Published is one record of the counts topic.
type Published struct {
	Key, Value []byte
	Release    schemas.Release // what Value decodes to
	Count      int64           // the exact count that it was drawn from; known to tests only
}

// Output is all that a deployment publishes and keeps.
type Output struct {
	Published []Published          // by turn; within one, metrics that take their keys from others come last
	Accounts  map[Owner]Account    // accounts that are not zero
	Admitted  map[Owner][]Decision // what was decided about each individual, in order
	Draws     []Draw               // every refinement, the published ones and the others
	Outcomes  map[int32][]Judged
	Tallies   Tallies
}

// Decision is the admission of one individual to one metric window, with what it contributes.
type Decision struct {
	Turn     uint64
	Metric   int
	Admitted bool
	Counts   map[string]int64
}

// Draw is one count that noise was drawn for, and the precision that its contributors pay.
type Draw struct {
	Turn      uint64
	Metric    int
	Key       string
	Count     int64
	Precision *big.Int
	Released  bool
}

type metricKey struct {
	metric int
	key    string
}

// Run computes the output of a log whose first turns turns were closed. Cuts matter only where a
// clock closed a turn (idle partitions, the forced end of a bounded run); nil stands for none.
func Run(c Config, log Log, cuts Cuts, turns uint64) (Output, error) {
	c, err := Compile(c)
	if err != nil {
		return Output{}, err
	}
	out := Output{Accounts: map[Owner]Account{}, Admitted: map[Owner][]Decision{}, Outcomes: map[int32][]Judged{}}
	all := c.generations()
	known := names(all)
	out.Tallies = newTallies(known)
	ends := c.TurnEnds(turns)

	var events []accepted
	for _, partition := range slices.Sorted(maps.Keys(log)) {
		outcomes, accepted, err := judge(all, partition, log[partition], cuts, ends)
		if err != nil {
			return Output{}, err
		}
		out.Outcomes[partition] = outcomes
		for _, outcome := range outcomes {
			out.Tallies.Records.add(outcome)
		}
		events = append(events, accepted...)
	}
	slices.SortStableFunc(events, func(a, b accepted) int { return cmp.Compare(a.millis, b.millis) })
	generation := 0
	for first := uint64(1); first <= turns; {
		last := c.lastOf(first, turns)
		if next := decides(all, first); next > generation {
			for owner, account := range out.Accounts {
				out.Accounts[owner] = all[next].carry(all[generation], owner, account)
			}
			generation = next
		}
		r := round{Config: all[generation], out: &out} // no span reaches over a change
		r.Paid = c.Paid
		for _, m := range r.Metrics {
			r.indices = append(r.indices, slices.Index(known, m.Name))
		}
		if err := r.span(events, first, ends[first-1:last]); err != nil {
			return Output{}, fmt.Errorf("computing turns %d to %d: %w", first, last, err)
		}
		first = last + 1
	}
	tallyWindows(all, &out.Tallies, events, ends)
	return out, nil
}

// round is what a generation's turns are run with.
type round struct {
	Config
	out     *Output
	indices []int // of the metrics' tallies
}

// lastOf returns the last turn of the span that begins with a turn.
func (c Config) lastOf(first, turns uint64) uint64 {
	last := first
	for c.First != nil && last < turns && c.First(last+1) <= first {
		last++
	}
	return last
}

// settlement is what there is to charge for a turn.
type settlement struct {
	end     int64
	members []*member
	stopped map[metricKey]*big.Int
}

// span runs the turns that end with ends, nearly always one. All of them are decided before
// anything is charged: with accounts that everything reserved in the span is taken from.
func (c round) span(events []accepted, first uint64, ends []int64) error {
	out := c.out
	reserved := map[Owner]*Account{}
	var open []settlement
	for i, end := range ends {
		s, err := c.turn(events, reserved, first+uint64(i), end)
		if err != nil {
			return err
		}
		open = append(open, s)
	}
	for _, s := range open {
		for _, m := range s.members {
			account, known := out.Accounts[m.owner]
			if !known {
				account = newAccount()
			}
			if err := c.settle(&account, m, s.end, s.stopped); err != nil {
				return err
			}
			if account.Spent.Sign() != 0 {
				out.Accounts[m.owner] = account
			}
		}
	}
	return nil
}

// turn runs one turn up to its release: windows, caps, admission with what the span leaves of each
// account, ladders.
func (c round) turn(events []accepted, reserved map[Owner]*Account, turn uint64, end int64) (settlement, error) {
	out := c.out
	members := c.members(events, end)
	for _, m := range members {
		if reserved[m.owner] == nil {
			account, known := out.Accounts[m.owner]
			if !known {
				account = newAccount()
			}
			account = account.clone()
			reserved[m.owner] = &account
		}
		c.admit(reserved[m.owner], m, c.Elapsed(m.owner, end))
		for _, part := range m.parts {
			tally := &out.Tallies.Metrics[c.indices[part.metric]]
			tally.Counted += part.Counted
			tally.Beyond += part.Beyond
			out.Admitted[m.owner] = append(out.Admitted[m.owner],
				Decision{turn, part.metric, part.Admitted, part.Counts})
		}
	}
	stopped, err := c.release(out, c.count(members), turn, end)
	return settlement{end, members, stopped}, err
}

// members collects who offers what to the windows that end, and counts what caps leave out on the
// way.
func (c round) members(events []accepted, end int64) []*member {
	out := c.out
	hasher := schemas.NewHasher(c.UserHash)
	byOwner := map[Owner]*member{}
	for i, spec := range c.Metrics {
		w, ends := c.windowEnding(spec, end)
		if !ends || !admits(spec) {
			continue
		}
		visits := map[Owner][]Visit{}
		for _, e := range within(events, w) {
			if !c.takes(spec, e) {
				out.Tallies.Metrics[c.indices[i]].Filtered++
				continue
			}
			visits[e.owner] = append(visits[e.owner], e.visit)
		}
		for owner, list := range visits {
			if spec.Kind == "counted" {
				byOwner[owner].parts = append(byOwner[owner].parts, c.shareOf(i, uint64(len(list)), out))
				continue
			}
			offer := c.Offer(hasher, i, owner, list)
			tally := &out.Tallies.Metrics[c.indices[i]]
			tally.Beyond += offer.Beyond
			if byOwner[owner] == nil {
				byOwner[owner] = &member{owner: owner}
			}
			byOwner[owner].parts = append(byOwner[owner].parts, windowPart{metric: i, offer: offer})
		}
	}
	return slices.SortedFunc(maps.Values(byOwner), func(a, b *member) int { return compareOwners(a.owner, b.owner) })
}

// shareOf returns what an individual with so many events of a metric brings to its share, but for
// their keys: those depend on the admission to the metric. The individual has a part in the metric
// already.
func (c round) shareOf(share int, events uint64, out *Output) windowPart {
	kept := c.KeptOfShare(share, events)
	out.Tallies.Metrics[c.indices[share]].Beyond += events - kept
	return windowPart{metric: share, all: events, kept: kept}
}

// KeptOfShare returns how many of an individual's events the cap of a share keeps.
func (c Config) KeptOfShare(share int, events uint64) uint64 {
	if most := uint64(c.Metrics[share].MaxEventsPerKey); most > 0 {
		return min(events, most)
	}
	return events
}

// within returns the part of the events, which are in the order of their times, that lies in a
// window.
func within(events []accepted, w window) []accepted {
	before := func(e accepted, millis int64) int { return cmp.Compare(e.millis, millis) }
	from, _ := slices.BinarySearchFunc(events, w.start, before)
	to, _ := slices.BinarySearchFunc(events, w.end, before)
	return events[from:to]
}

// takes tells whether a metric looks at an event at all.
func (c round) takes(spec schemas.MetricSpec, e accepted) bool {
	if spec.Filter != "" {
		if i := slices.Index(c.Format.Filters, spec.Filter); e.passes>>i&1 == 0 {
			return false
		}
	}
	if spec.Kind == "counted" {
		spec = c.Metrics[c.countedIn(spec)]
	}
	return Takes(spec, e.visit.Key)
}
