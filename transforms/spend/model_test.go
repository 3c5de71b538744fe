package spend

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// contribution is what one user did with one key in a turn: n records of the same bytes.
type contribution struct {
	user   int
	period int64
	key    string
	n      uint32
	passes uint64
	value  int64
}

func (c *contribution) label() schemas.Label {
	return schemas.Label{Key: []byte(c.key), Passes: c.passes}
}

// record names the records by all that is in them.
func (c *contribution) record() schemas.RecordID {
	return schemas.NewHasher(testHashKey).Record(fmt.Append(nil, c.user, c.period, c.key, c.passes, c.value))
}

// settings are a deployment's, as far as SPEND is concerned. Turns are slices of testTurn.
type settings struct {
	budget                       budgets.Budget
	metrics                      []schemas.MetricSpec
	shards, releaseShards, slots int
	since                        uint64 // the last turn before they were in force
}

const testTurn = 1000

var testHashKey = [32]byte{1, 2, 3}

// testID returns a user's account id: the hash of a real one.
func testID(user int) accounts.ID {
	return schemas.NewHasher(testHashKey).Account([]byte{byte(user), byte(user >> 8), byte(user >> 16), 'u'})
}

// windows returns the windows that end with a turn: those that begin after the last change. A
// metric without a size has windows of one turn.
func (s settings) windows(turn uint64) []schemas.MetricWindow {
	var windows []schemas.MetricWindow
	end := int64(turn) * testTurn
	for i, m := range s.metrics {
		size, slide := cmp.Or(m.WindowSize, testTurn), cmp.Or(m.WindowSlide, testTurn)
		if (m.Of == "" || m.Kind == metrickind.Counted) && end%slide == 0 && end-size >= int64(s.since)*testTurn {
			windows = append(windows, schemas.MetricWindow{Metric: uint32(i), WindowStart: end - size, WindowEnd: end})
		}
	}
	return windows
}

// First implements Windows.
func (s settings) First(w schemas.MetricWindow) uint64 { return uint64(w.WindowStart/testTurn) + 1 }

// Open implements Windows: by looking at every window that could be.
func (s settings) Open(metric uint32, turn uint64) bool { return s.opening(metric, turn) != 0 }

// opening returns the first turn of the earliest window of a metric that contains the turn and ends
// after it; 0 if there is none.
func (s settings) opening(metric uint32, turn uint64) uint64 {
	for later := turn + 1; later < turn+20; later++ {
		for _, w := range s.windows(later) {
			if w.Metric == metric && s.First(w) <= turn {
				return s.First(w)
			}
		}
	}
	return 0
}

// Needed implements Windows.
func (s settings) Needed(turn uint64) uint64 {
	least := turn + 1
	for i := range s.metrics {
		if first := s.opening(uint32(i), turn); first != 0 {
			least = min(least, first)
		}
	}
	return least
}

// Elapsed implements Windows.
func (s settings) Elapsed(w schemas.MetricWindow, period int64) int64 {
	return w.WindowEnd - 3*testTurn*period
}

// LeastPeriod implements Windows: these contributions name their periods themselves.
func (s settings) LeastPeriod(uint64) int64 { return math.MinInt64 }

// model computes what SPEND must decide by the rules of package reference: one sequence, no shards,
// no cache, no slices, big integers.
type model struct {
	settings
	rules        reference.Config
	hasher       *schemas.Hasher
	accounts     map[account]*modelAccount
	past         map[uint64][]contribution
	counts       map[cell]int64 // admitted, the open turn's
	tallies      []schemas.WindowTally
	reservations []*modelReservation // of the open turn
	counted      map[inWindow]uint64 // events of admitted users
}

type inWindow struct {
	account
	window schemas.MetricWindow
}

type account struct {
	id     accounts.ID
	period int64
}

// modelAccount is an account as it is settled, and with what the open turn has reserved.
type modelAccount struct{ settled, open reference.Account }

// reopen has the account as it is settled.
func (a *modelAccount) reopen() {
	a.open = reference.Account{Spent: a.settled.Spent, Buckets: slices.Clone(a.settled.Buckets)}
}

type modelReservation struct {
	account account
	window  schemas.MetricWindow
	reference.Contribution
}

func newModel(s settings) *model {
	m := &model{hasher: schemas.NewHasher(testHashKey), accounts: map[account]*modelAccount{},
		past: map[uint64][]contribution{}, counted: map[inWindow]uint64{}}
	m.change(s)
	return m
}

// change puts other settings in force: a bucket lacks as much as the bucket of the same metric
// lacked.
func (m *model) change(s settings) {
	before := m.metrics
	m.settings = s
	m.rules = reference.Config{Metrics: s.metrics, Budget: int64(s.budget.Mu2)}
	for who, a := range m.accounts {
		elapsed := m.Elapsed(schemas.MetricWindow{WindowEnd: int64(s.since) * testTurn}, who.period)
		var buckets []reference.Bucket
		for i := range before {
			was := &before[i]
			now := slices.IndexFunc(s.metrics, func(m schemas.MetricSpec) bool { return m.Name == was.Name })
			if now < 0 || was.Burst == 0 {
				continue
			}
			b := a.settled.BucketAt(was, elapsed)
			b.Balance += int64(s.metrics[now].Burst) - int64(was.Burst)
			buckets = append(buckets, b)
		}
		a.settled.Buckets = buckets
		a.reopen()
	}
}

// open admits the contributions of a turn.
func (m *model) open(turn uint64, cs []contribution) {
	m.counts, m.reservations = map[cell]int64{}, nil
	m.tallies = make([]schemas.WindowTally, len(m.metrics))
	m.past[turn] = cs
	for _, w := range m.windows(turn) {
		users := map[account][]contribution{}
		for t := m.First(w); t <= turn; t++ {
			for _, c := range m.past[t] {
				who := account{testID(c.user), c.period}
				users[who] = append(users[who], c)
			}
		}
		for who, events := range users {
			m.admit(w, who, events)
		}
		m.count(w)
	}
}

// wants reports whether a metric wants a contribution.
func (m *model) wants(spec *schemas.MetricSpec, c contribution) bool {
	if spec.Filter != "" && c.passes>>slices.Index(schemas.Filters(m.metrics), spec.Filter)&1 == 0 {
		return false
	}
	return reference.HasKey(spec, c.key)
}

// visits returns what a metric wants of a user, record by record.
func (m *model) visits(spec *schemas.MetricSpec, events []contribution,
	tally *schemas.WindowTally) (all []reference.Visit) {
	for _, c := range events {
		if !m.wants(spec, c) {
			tally.Filtered += uint64(c.n)
			continue
		}
		all = append(all,
			slices.Repeat([]reference.Visit{{Key: c.key, Value: c.value, Record: c.record()}}, int(c.n))...)
	}
	return all
}

func (m *model) admit(w schemas.MetricWindow, who account, events []contribution) {
	spec, tally, a := &m.metrics[w.Metric], &m.tallies[w.Metric], m.account(who)
	elapsed := m.Elapsed(w, who.period)
	available := m.rules.Available(&a.open, int(w.Metric), elapsed)
	r := &modelReservation{account: who, window: w}
	if spec.Kind == metrickind.Counted {
		r.Contribution = m.divide(w, who, events, available)
	} else {
		visits := m.visits(spec, events, tally)
		offer := m.rules.Offer(m.hasher, int(w.Metric), reference.Owner{ID: who.id, Period: who.period}, visits)
		tally.Beyond += offer.Beyond
		r.Contribution = m.rules.Fill(int(w.Metric), offer, available)
		m.counted[inWindow{who, w}] = r.Counted
	}
	tally.Counted += r.Counted
	tally.Beyond += r.Beyond
	if r.Admitted {
		a.open.Pay(spec, elapsed, m.rules.Price(int(w.Metric), r.Contribution, m.rules.Top))
		m.reservations = append(m.reservations, r)
	}
}

// divide admits to a share: the events of a user that its metric has counted, and those that it has
// left out.
func (m *model) divide(w schemas.MetricWindow, who account, events []contribution,
	available int64) reference.Contribution {
	share, tally, base := int(w.Metric), &m.tallies[w.Metric], w
	base.Metric = uint32(slices.IndexFunc(m.metrics, func(o schemas.MetricSpec) bool {
		return o.Name == m.metrics[share].Of
	}))
	all := uint64(len(m.visits(&m.metrics[base.Metric], events, tally)))
	kept := m.rules.KeptOfShare(share, all)
	tally.Beyond += all - kept
	c := m.rules.Divide(share, all, m.counted[inWindow{who, base}], kept, available)
	c.Admitted = c.Admitted && all > 0
	return c
}

// count adds up the reservations for a window. A user of two periods is one user.
func (m *model) count(w schemas.MetricWindow) {
	type userOfKey struct {
		id  accounts.ID
		key string
	}
	seen := map[userOfKey]bool{}
	add := func(metric int, key string, n int64) {
		m.counts[cell{uint32(metric), w.WindowStart, w.WindowEnd, key}] += n
	}
	for _, r := range m.reservations {
		if r.window != w {
			continue
		}
		for _, k := range r.Keys {
			user := userOfKey{r.account.id, k.Key}
			if m.metrics[w.Metric].Kind != metrickind.DistinctUsers || !seen[user] {
				seen[user] = true
				add(int(w.Metric), k.Key, k.Count)
			}
			for j, metric := range m.rules.ExtraOf(int(w.Metric)) {
				add(metric, k.Key, k.Extra[j])
			}
			nodes := slices.IndexFunc(m.metrics, func(o schemas.MetricSpec) bool {
				return o.Of == m.metrics[w.Metric].Name && metrickind.Of(o.Kind).HasNodes()
			})
			for _, v := range k.Values {
				scale, _ := m.metrics[nodes].Scale() // which NewRules has
				add(nodes, string(schemas.NodeKey([]byte(k.Key), scale.Leaf(v))), 1)
			}
		}
	}
}

func (m *model) account(who account) *modelAccount {
	a := m.accounts[who]
	if a == nil {
		a = &modelAccount{}
		m.accounts[who] = a
	}
	return a
}

// charge settles the open turn: a key that is not released costs the first rung, unless it is
// another metric's.
func (m *model) charge(s schemas.Settled) {
	released := map[cell]units.Precision{}
	for _, k := range s.Keys {
		released[cell{k.Metric, k.WindowStart, k.WindowEnd, string(k.Key)}] = k.Precision
	}
	for _, r := range m.reservations {
		spec, a := &m.metrics[r.window.Metric], m.account(r.account)
		paid := m.rules.Price(int(r.window.Metric), r.Contribution, func(metric int, key string) units.Precision {
			u, ok := released[cell{uint32(metric), r.window.WindowStart, r.window.WindowEnd, key}]
			if !ok && metric == int(r.window.Metric) && spec.KeyMode != schemas.KeysFrom {
				u = spec.First
			}
			return u
		})
		a.settled.Pay(spec, m.Elapsed(r.window, r.account.period), paid)
	}
	for _, a := range m.accounts {
		a.reopen()
	}
	m.reservations = nil
}

// recordsOf reports whether the settings want records one by one.
func (s settings) recordsOf() bool {
	return slices.ContainsFunc(s.metrics, func(m schemas.MetricSpec) bool { return metrickind.Of(m.Kind).Values() })
}

func labelKey(l schemas.Label) string {
	return string(binary.BigEndian.AppendUint64(slices.Clone(l.Key), l.Passes))
}
