package reference

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Replay computes a deployment turn by turn. For every turn, call Reader.Read with the records
// below the turn's cuts, and then Begin, Gather, Decide, Release and Charge. Only the readers of
// different partitions may be used concurrently.
type Replay struct {
	generations []Config // oldest first
	ends        []int64  // ends of the settled turns
	cuts        Cuts
	readers     map[int32]*Reader
	people      []*people
	turn        uint64 // the last turn that has begun
	current     int    // index of the generation that the accounts belong to

	// Forgotten maps the mark of a forgotten user to the last turn in which the user may count.
	Forgotten map[schemas.ForgottenMark]uint64
}

// people holds the state of one group of individuals; the account id determines the group.
type people struct {
	hashers  []*schemas.Hasher
	open     [][]acceptedEvent // by turn, back to the oldest open window; sorted by owner and time
	accounts map[Owner]Account
	tallies  Tallies
}

// Turn holds the decisions and publications of one turn.
type Turn struct {
	Number    uint64
	End       int64
	Config    *Config     // of the generation that decides the turn
	Members   [][]*Member // by group of individuals; sorted by owner within a group
	Published []Published // metrics that take their keys from others come last
	Draws     []Draw      // all draws, published or not
	Stopped   map[Cell]units.Precision
}

// Cell is a key of a metric, in a window that ends with the turn.
type Cell struct {
	Metric int
	Key    string
}

// Published is one record of the counts topic.
type Published struct {
	Key, Value []byte
	Release    schemas.Release // the decoded Value
}

// Draw is one count for which noise was drawn, with the precision that contributors pay for.
type Draw struct {
	Cell
	Count     int64
	Precision units.Precision
	Released  bool
}

// NewReplay prepares the replay of a deployment. turns is the number of settled turns, and
// partitions are the partitions of the events topic. cuts matter only if a clock closed a turn
// (idle partitions, the forced end of a bounded run), and may be nil otherwise.
func NewReplay(c Config, cuts Cuts, turns uint64, partitions ...int32) (*Replay, error) {
	c, err := Compile(c)
	if err != nil {
		return nil, err
	}
	r := &Replay{generations: c.generations(), ends: c.TurnEnds(turns), cuts: cuts, readers: map[int32]*Reader{},
		Forgotten: map[schemas.ForgottenMark]uint64{}}
	for _, p := range partitions {
		if r.readers[p], err = r.newReader(p); err != nil {
			return nil, err
		}
	}
	for range runtime.GOMAXPROCS(0) {
		r.people = append(r.people, &people{hashers: r.hashers(), accounts: map[Owner]Account{}})
	}
	return r, nil
}

// hashers returns the hashers of all generations.
func (r *Replay) hashers() (all []*schemas.Hasher) {
	for i := range r.generations {
		all = append(all, schemas.NewHasher(r.generations[i].UserHash))
	}
	return all
}

// Reader returns the reader of a partition.
func (r *Replay) Reader(partition int32) *Reader { return r.readers[partition] }

// each calls fn for all groups of individuals concurrently.
func (r *Replay) each(fn func(group int, p *people)) {
	var all sync.WaitGroup
	for i, p := range r.people {
		all.Go(func() { fn(i, p) })
	}
	all.Wait()
}

// groupOf returns the index of the group that an individual belongs to.
func (r *Replay) groupOf(o Owner) int { return int(o.ID[0]) % len(r.people) }

// Arrived returns how many records of a turn have been accepted so far.
func (r *Replay) Arrived(turn uint64) (n uint64) {
	for _, reader := range r.readers {
		for _, events := range reader.pending[turn] {
			n += uint64(len(events))
		}
	}
	return n
}

// Begin begins the next turn with the events read so far, and carries accounts to its generation.
func (r *Replay) Begin() *Turn {
	r.turn++
	next := deciderOf(r.generations, r.turn)
	t := &Turn{Number: r.turn, End: r.ends[r.turn-1], Config: &r.generations[next],
		Members: make([][]*Member, len(r.people))}
	arrived := make([][]acceptedEvent, len(r.people))
	for _, reader := range r.readers {
		for group, events := range reader.pending[t.Number] {
			arrived[group] = append(arrived[group], events...)
		}
		delete(reader.pending, t.Number)
	}
	oldest := t.Config.OldestOpen(r.beginOf(t.Number))
	r.each(func(group int, p *people) {
		if r.generations[next].UserHash != r.generations[r.current].UserHash {
			clear(p.accounts) // a new user-hash key comes into force together with a new budget period
		}
		if next > r.current {
			for owner, account := range p.accounts {
				p.accounts[owner] = r.generations[next].carry(&r.generations[r.current], owner, account)
			}
		}
		slices.SortFunc(arrived[group], func(a, b acceptedEvent) int {
			return cmp.Or(a.owner.Compare(b.owner), cmp.Compare(a.millis, b.millis))
		})
		p.open = append(p.open, arrived[group])
		for len(p.open) > 1 && r.ends[t.Number-uint64(len(p.open))] <= oldest {
			p.open = p.open[1:]
		}
	})
	r.current = max(r.current, next)
	return t
}

// Gather collects the offers to the windows that end with the turn, from the events.
func (r *Replay) Gather(t *Turn) {
	r.each(func(group int, p *people) { t.Members[group] = p.gather(r, t) })
}

// GatherFrom adds members that the caller knows from another source than the events.
func (r *Replay) GatherFrom(t *Turn, members []*Member) {
	for _, m := range members {
		group := r.groupOf(m.Owner)
		t.Members[group] = append(t.Members[group], m)
	}
	for _, members := range t.Members {
		slices.SortFunc(members, func(a, b *Member) int { return a.Owner.Compare(b.Owner) })
	}
}

// Member returns the member of a turn for an individual, or nil if there is none.
func (r *Replay) Member(t *Turn, o Owner) *Member {
	members := t.Members[r.groupOf(o)]
	i, found := slices.BinarySearchFunc(members, o, func(m *Member, o Owner) int { return m.Owner.Compare(o) })
	if !found {
		return nil
	}
	return members[i]
}

func beforeTime(e acceptedEvent, millis int64) int { return cmp.Compare(e.millis, millis) }

// beginOf returns the time when a turn begins.
func (r *Replay) beginOf(turn uint64) int64 {
	if turn > 1 {
		return r.ends[turn-2]
	}
	return r.generations[0].since()
}

// TurnAt returns the turn that covers a time.
func (r *Replay) TurnAt(local int64) uint64 {
	turn, _ := turnOf(local, r.ends)
	return turn
}

// OldestOpen returns the start of the earliest window that ends after a time.
func (c *Config) OldestOpen(end int64) int64 {
	oldest := end
	for _, m := range c.Metrics {
		next := (floorDivide(end, m.WindowSlide) + 1) * m.WindowSlide
		oldest = min(oldest, next-m.WindowSize)
	}
	return oldest
}

// Ending returns the windows of a generation that end at a time and to which individuals are
// admitted, in the order of the metrics.
func (c *Config) Ending(end int64) (all []schemas.MetricWindow) {
	for i := range c.Metrics {
		if w, ends := c.windowEnding(&c.Metrics[i], end); ends && admits(&c.Metrics[i]) {
			all = append(all, schemas.MetricWindow{Metric: uint32(i), WindowStart: w.start, WindowEnd: w.end})
		}
	}
	return all
}

// Decide decides which members are admitted, and chooses their contributions.
func (r *Replay) Decide(t *Turn) {
	r.each(func(group int, p *people) {
		for _, m := range t.Members[group] {
			account := p.accounts[m.Owner].clone()
			t.Config.admit(&account, m, t.Config.Elapsed(m.Owner, t.End))
			for _, part := range m.Parts {
				tally := p.tallies.metric(t.Config.Metrics[part.Metric].Name)
				tally.Counted += part.Counted
				tally.Beyond += part.Beyond
			}
		}
	})
}

// Charge charges all members for the precisions at which the turn's cells stopped.
func (r *Replay) Charge(t *Turn) error {
	errs := make([]error, len(r.people))
	r.each(func(group int, p *people) {
		for _, m := range t.Members[group] {
			account := p.accounts[m.Owner]
			if err := t.Config.settle(&account, m, t.Config.Elapsed(m.Owner, t.End), t.Stopped); err != nil {
				errs[group] = fmt.Errorf("charging turn %d: %w", t.Number, err)
			}
			if account.Spent != 0 {
				p.accounts[m.Owner] = account
			}
		}
	})
	return cmp.Or(errs...)
}

// Account returns the account of an individual after the last turn that was charged.
func (r *Replay) Account(o Owner) (Account, bool) {
	a, known := r.people[r.groupOf(o)].accounts[o]
	return a.clone(), known
}

// Owners calls yield for every individual whose account is not zero.
func (r *Replay) Owners(yield func(Owner) bool) {
	for _, p := range r.people {
		for owner := range p.accounts {
			if !yield(owner) {
				return
			}
		}
	}
}

// SetAccount replaces an account.
func (r *Replay) SetAccount(o Owner, a Account) { r.people[r.groupOf(o)].accounts[o] = a }

// Forgot reports whether a user no longer counts in a turn.
func (r *Replay) Forgot(h *schemas.Hasher, o Owner, turn uint64) bool {
	if len(r.Forgotten) == 0 {
		return false
	}
	after, forgotten := r.Forgotten[h.Forgotten(o.ID)]
	return forgotten && turn > after
}

// DropForgotten removes the accounts of users who no longer count in a turn.
func (r *Replay) DropForgotten(turn uint64) {
	if len(r.Forgotten) > 0 {
		r.each(func(_ int, p *people) {
			maps.DeleteFunc(p.accounts, func(o Owner, _ Account) bool {
				return r.Forgot(p.hashers[r.current], o, turn)
			})
		})
	}
}

// Forget removes the selected accounts.
func (r *Replay) Forget(selected func(Owner) bool) {
	r.each(func(_ int, p *people) {
		maps.DeleteFunc(p.accounts, func(o Owner, _ Account) bool { return selected(o) })
	})
}

// gather collects the offers to the windows that end with the turn. It merges the events of all
// turns that these windows cover, and tallies the events beyond the caps.
func (p *people) gather(r *Replay, t *Turn) (members []*Member) {
	first := t.Number
	for _, w := range t.Config.Ending(t.End) {
		first = min(first, r.TurnAt(w.WindowStart))
	}
	turns := slices.Clone(p.open[max(0, len(p.open)-int(t.Number-first)-1):])
	var events []acceptedEvent // all events of one owner, in the order of their times
	for {
		var least *Owner
		for _, all := range turns {
			if len(all) > 0 && (least == nil || all[0].owner.Compare(*least) < 0) {
				least = &all[0].owner
			}
		}
		if least == nil {
			return members
		}
		events = events[:0]
		for i, all := range turns {
			n := 0
			for n < len(all) && all[n].owner == *least {
				n++
			}
			events, turns[i] = append(events, all[:n]...), all[n:]
		}
		if m := p.member(r, t, events); len(m.Parts) > 0 {
			members = append(members, m)
		}
	}
}

// member returns one individual with its offers. events are in the order of their times.
func (p *people) member(r *Replay, t *Turn, events []acceptedEvent) *Member {
	m := &Member{Owner: events[0].owner}
	forgot := r.Forgot(p.hashers[r.current], m.Owner, t.Number)
	for i := range t.Config.Metrics {
		spec := &t.Config.Metrics[i]
		w, ends := t.Config.windowEnding(spec, t.End)
		if !ends || !admits(spec) {
			continue
		}
		tally := p.tallies.metric(spec.Name)
		var visits []Visit
		for _, e := range within(events, w) {
			if forgot || !t.Config.Selects(spec, e.passes, e.visit.Key) {
				tally.Filtered++
				continue
			}
			visits = append(visits, e.visit)
		}
		if len(visits) > 0 {
			tally.Beyond += m.Join(t.Config, p.hashers[r.current], i, visits)
		}
	}
	return m
}

// Join adds an individual's part in a window of a metric, and returns how many visits are beyond
// the caps. visits are those that the metric selects. For a share, only the number of visits is
// kept, because the individual already has a part in the share's metric.
func (m *Member) Join(c *Config, h *schemas.Hasher, metric int, visits []Visit) (beyond uint64) {
	if c.Metrics[metric].Kind == "counted" {
		all := uint64(len(visits))
		kept := c.KeptOfShare(metric, all)
		m.Parts = append(m.Parts, WindowPart{Metric: metric, events: all, kept: kept})
		return all - kept
	}
	offer := c.Offer(h, metric, m.Owner, visits)
	m.Parts = append(m.Parts, WindowPart{Metric: metric, offer: offer})
	return offer.Beyond
}

// KeptOfShare returns how many of an individual's events the cap of a share keeps.
func (c *Config) KeptOfShare(share int, events uint64) uint64 {
	if limit := uint64(c.Metrics[share].MaxEventsPerKey); limit > 0 {
		return min(events, limit)
	}
	return events
}

// within returns the events that lie in a window. events are in the order of their times.
func within(events []acceptedEvent, w window) []acceptedEvent {
	from, _ := slices.BinarySearchFunc(events, w.start, beforeTime)
	to, _ := slices.BinarySearchFunc(events, w.end, beforeTime)
	return events[from:to]
}

// Selects reports whether a metric counts an event with the given key. Bit i of passes is 1 if the
// event passes filter i of the format.
func (c *Config) Selects(spec *schemas.MetricSpec, passes uint64, key string) bool {
	if spec.Filter != "" {
		if i := slices.Index(c.Format.Filters, spec.Filter); passes>>i&1 == 0 {
			return false
		}
	}
	if spec.Kind == "counted" {
		spec = &c.Metrics[c.countedIn(spec)]
	}
	return HasKey(spec, key)
}

// Tallies accounts for every record that was read.
func (r *Replay) Tallies() (t Tallies) {
	for _, reader := range r.readers {
		t.add(reader.tallies)
		n := reader.outcomes
		sum := schemas.ReadTallies{Skipped: n[Skipped], BeforeStart: n[BeforeStart], Late: n[Late], Future: n[Future],
			Overtaken: n[Overtaken], Accepted: n[Accepted]}
		for _, records := range n {
			sum.Read += records
		}
		t.Records.Add(sum)
	}
	for _, p := range r.people {
		t.add(p.tallies)
	}
	return t
}

// count adds up the contributions of all admitted individuals.
func (r *Replay) count(t *Turn) map[Cell]int64 {
	parts := make([]map[Cell]int64, len(r.people))
	r.each(func(group int, _ *people) { parts[group] = t.Config.count(t.Members[group]) })
	counts := parts[0]
	for _, addends := range parts[1:] {
		for cell, n := range addends {
			counts[cell] += n
		}
	}
	for cell, n := range counts {
		counts[cell] = min(max(n, -noisereduction.MaxCount), noisereduction.MaxCount)
	}
	return counts
}
