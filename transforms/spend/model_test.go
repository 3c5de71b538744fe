package spend

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"sort"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// contribution is what one user did with one key in a turn: n records of the
// same bytes.
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

// settings are a deployment's, as far as SPEND is concerned. Turns are slices of
// testTurn.
type settings struct {
	budget                       budgets.Budget
	metrics                      []schemas.MetricSpec
	shards, releaseShards, slots int
	since                        uint64 // the turn after which they were put in force
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

// opening returns the first turn of the earliest window of a metric that contains the
// turn and ends after it; 0 if there is no such window.
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

// LeastPeriod implements Windows: these contributions name their periods
// themselves.
func (s settings) LeastPeriod(uint64) int64 { return math.MinInt64 }

// model computes what SPEND must decide, in the plainest way there is: one
// sequence, no shards, no cache, no slices, big integers. It shares no code with
// the package but the hash that clipping is defined by.
type model struct {
	settings
	hasher       *schemas.Hasher
	accounts     map[account]*modelAccount
	past         map[uint64][]contribution
	counts       map[Cell]int64 // admitted, of the span that is open
	tallies      []schemas.WindowTally
	reservations []*modelReservation // of the span that is open
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

type modelAccount struct {
	spent, reserved *big.Int
	taken           map[uint32][]*modelReservation // by metric
}

type modelReservation struct {
	account account
	window  schemas.MetricWindow
	kept    map[string]int64
	further map[inComponent]int64
	leaves  map[inComponent]int64 // by the key of the leaf's cell
	worst   *big.Int              // once it is settled, what was paid
}

func newModel(s settings) *model {
	return &model{settings: s, hasher: schemas.NewHasher(testHashKey), accounts: map[account]*modelAccount{}, past: map[uint64][]contribution{}, counted: map[inWindow]uint64{}}
}

type inComponent struct {
	metric uint32
	key    string
}

// modelCharge returns ⌈c²·u/2^40⌉.
func modelCharge(c int64, u units.Precision) *big.Int {
	v := big.NewInt(c)
	v.Mul(v, v).Mul(v, u.Big())
	v.Add(v, new(big.Int).SetUint64(1<<40-1))
	return v.Rsh(v, 40)
}

// open admits the contributions of a span's turns, one after the other: nothing
// is charged in between.
func (m *model) open(first uint64, span [][]contribution) {
	m.counts, m.reservations = map[Cell]int64{}, nil
	m.tallies = make([]schemas.WindowTally, len(m.metrics))
	for i, cs := range span {
		m.turn(first+uint64(i), cs)
	}
}

func (m *model) turn(turn uint64, cs []contribution) {
	m.past[turn] = cs
	for _, w := range m.windows(turn) {
		users := map[account][]contribution{}
		for t := m.First(w); t <= turn; t++ {
			for _, c := range m.past[t] {
				at := account{testID(c.user), c.period}
				users[at] = append(users[at], c)
			}
		}
		for at, events := range users {
			m.admit(w, at, events)
		}
		m.count(w)
	}
}

// wants reports whether a metric wants a contribution.
func (m *model) wants(spec *schemas.MetricSpec, c contribution) bool {
	if spec.Filter != "" && c.passes>>slices.Index(schemas.Filters(m.metrics), spec.Filter)&1 == 0 {
		return false
	}
	return spec.KeyMode != schemas.KeysPublic || slices.ContainsFunc(spec.PublicKeys, func(k []byte) bool { return string(k) == c.key })
}

func (m *model) admit(w schemas.MetricWindow, at account, events []contribution) {
	spec := &m.metrics[w.Metric]
	if spec.Kind == metrickind.Counted {
		m.divide(w, at, events)
		return
	}
	tally := &m.tallies[w.Metric]
	byKey := map[string][]contribution{}
	for _, c := range events {
		if m.wants(spec, c) {
			byKey[c.key] = append(byKey[c.key], c)
		} else {
			tally.Filtered += uint64(c.n)
		}
	}
	r := newReservation(at, w)
	var own []*modelKey
	for i, key := range m.keysByRank(spec, at, byKey) {
		n := sumOf(byKey[key])
		if spec.MaxKeysPerUser > 0 && i >= int(spec.MaxKeysPerUser) {
			tally.Beyond += n
			continue
		}
		k := m.bring(spec, at, byKey[key])
		k.name = key
		tally.Beyond += n - k.events
		own = append(own, k)
	}
	m.fill(spec, own, m.left(at, w))
	var kept uint64
	for _, k := range own {
		if k.counts == 0 && k.size > 0 {
			tally.Beyond += k.events
			continue
		}
		part := new(big.Int).SetUint64(k.events)
		if k.counts < k.size {
			part.Mul(part, big.NewInt(k.counts)).Div(part, cmp.Or(k.exact, big.NewInt(k.size)))
		}
		kept += part.Uint64()
		tally.Beyond += k.events - part.Uint64()
		r.kept[k.name] = k.sign * k.counts
		r.worst.Add(r.worst, modelCharge(k.counts, spec.Top))
		for i := range m.metrics {
			if sums, ok := m.sums(spec, &m.metrics[i], k, k.counts); ok {
				r.further[inComponent{uint32(i), k.name}] = sums[len(sums)-1]
				r.worst.Add(r.worst, modelCharge(sums[len(sums)-1], m.metrics[i].Top))
			}
		}
		if at := m.nodesOf(spec); at != nil {
			maps.Copy(r.leaves, m.leavesOf(at, k, k.counts))
			r.worst.Add(r.worst, chargeOfTree(r.leaves, k.name, at.Top, func(metrickind.Node) bool { return true }))
		}
	}
	if len(r.kept) == 0 {
		return
	}
	m.reserve(r)
	tally.Counted += kept
	m.counted[inWindow{at, w}] = kept
}

// modelKey is one of a user's keys of a metric.
type modelKey struct {
	name       string
	events     uint64   // within the cap
	values     []int64  // of these, in order of ranks
	sign, size int64    // what they add; at most 2^63 − 1
	exact      *big.Int // of a sum, the size
	counts     int64    // the part of size that counts
}

// fill chooses what counts of each key, in order of ranks: as much of each as there is, but at most
// the same number, the greatest that can be paid for, and then one more where that can be paid.
func (m *model) fill(spec *schemas.MetricSpec, own []*modelKey, left *big.Int) {
	cost := func() *big.Int {
		sum := new(big.Int)
		for _, k := range own {
			sum.Add(sum, m.priceOf(spec, k))
		}
		return sum
	}
	flood := func(level int) *big.Int {
		for _, k := range own {
			k.counts = min(k.size, int64(level))
		}
		return cost()
	}
	if flood(math.MaxInt64).Cmp(left) <= 0 {
		return
	}
	level := sort.Search(math.MaxInt64, func(level int) bool { return flood(level).Cmp(left) > 0 }) - 1
	flood(max(level, 0))
	for _, k := range own {
		if k.counts == int64(max(level, 0)) && k.counts < k.size {
			if k.counts++; cost().Cmp(left) > 0 {
				k.counts--
			}
		}
	}
}

// priceOf is the price of what counts of a key, with the greatest of each further sum on the way.
func (m *model) priceOf(spec *schemas.MetricSpec, k *modelKey) *big.Int {
	price := modelCharge(k.counts, spec.Top)
	for i := range m.metrics {
		peak := int64(0)
		sums, _ := m.sums(spec, &m.metrics[i], k, k.counts)
		for _, sum := range sums {
			peak = max(peak, sum, -sum)
		}
		price.Add(price, modelCharge(peak, m.metrics[i].Top))
	}
	if at := m.nodesOf(spec); at != nil {
		price.Add(price, chargeOfTree(m.leavesOf(at, k, k.counts), k.name, at.Top, func(metrickind.Node) bool { return true }))
	}
	return price
}

// sums returns the sums of the first 0, 1, … n events of a key, if of is a further sum of a metric.
func (m *model) sums(spec, of *schemas.MetricSpec, k *modelKey, n int64) (sums []int64, ok bool) {
	if of.Of != spec.Name || !slices.Contains([]string{"mean_offset", "mean_square", "mean_events"}, of.Kind) {
		return nil, false
	}
	sums = []int64{0}
	for i, v := range k.values[:n] {
		d := 2*v - spec.Min - spec.Max
		switch of.Kind {
		case "mean_square":
			d = 2*d*d - (spec.Max-spec.Min)*(spec.Max-spec.Min)
		case "mean_events":
			d = 1
		}
		sums = append(sums, sums[i]+d)
	}
	return sums, true
}

// leavesOf returns the leaves of the first n events of a key.
func (m *model) leavesOf(at *schemas.MetricSpec, k *modelKey, n int64) map[inComponent]int64 {
	leaves := map[inComponent]int64{}
	scale, _ := at.Scale() // which NewRules has
	metric := uint32(slices.IndexFunc(m.metrics, func(o schemas.MetricSpec) bool { return o.Name == at.Name }))
	for _, v := range k.values[:n] {
		leaves[inComponent{metric, string(schemas.NodeKey([]byte(k.name), scale.Leaf(v)))}]++
	}
	return leaves
}

// left is what a user can pay for a window: what spent and reserved leave of the budget, and what
// is in the metric's bucket.
func (m *model) left(at account, w schemas.MetricWindow) *big.Int {
	a := m.account(at)
	left := new(big.Int).SetUint64(uint64(m.budget.Mu2))
	left.Sub(left, a.spent).Sub(left, a.reserved)
	if m.metrics[w.Metric].Burst == 0 {
		return left
	}
	if inside := m.inside(at, w); inside.Cmp(left) < 0 {
		return inside
	}
	return left
}

// inside is what is in a metric's bucket at the end of a window, after everything that was ever
// taken out of it.
func (m *model) inside(at account, w schemas.MetricWindow) *big.Int {
	spec := &m.metrics[w.Metric]
	paid := func(w schemas.MetricWindow) *big.Int {
		part := new(big.Int).SetUint64(uint64(spec.Refill))
		elapsed := max(m.Elapsed(w, at.period), 0)
		return part.Mul(part, big.NewInt(elapsed)).Div(part, big.NewInt(spec.Horizon))
	}
	// Water: the bucket is full at first, runs over, and is emptied by what is taken.
	burst := new(big.Int).SetUint64(uint64(spec.Burst))
	inside, until := new(big.Int).Set(burst), new(big.Int)
	refill := func(now *big.Int) {
		inside.Add(inside, now).Sub(inside, until)
		until = now
		if inside.Cmp(burst) > 0 {
			inside.Set(burst)
		}
	}
	for _, taken := range m.account(at).taken[w.Metric] {
		refill(paid(taken.window))
		inside.Sub(inside, taken.worst)
	}
	refill(paid(w))
	return inside
}

// change puts other settings in force: what is missing in a bucket is missing in the one of the
// same metric, as if that had been taken when the change came.
func (m *model) change(s settings) {
	before := *m
	m.settings = s
	for at, a := range m.accounts {
		taken := map[uint32][]*modelReservation{}
		for i := range s.metrics {
			w := schemas.MetricWindow{Metric: uint32(i), WindowEnd: int64(s.since) * testTurn}
			was := slices.IndexFunc(before.metrics, func(spec schemas.MetricSpec) bool { return spec.Name == s.metrics[i].Name })
			if was < 0 || before.metrics[was].Burst == 0 {
				continue
			}
			missing := newReservation(at, w)
			missing.worst.SetUint64(uint64(before.metrics[was].Burst))
			w.Metric = uint32(was)
			missing.worst.Sub(missing.worst, before.inside(at, w))
			taken[uint32(i)] = []*modelReservation{missing}
		}
		a.taken = taken
	}
}

func (m *model) reserve(r *modelReservation) {
	a := m.account(r.account)
	a.reserved.Add(a.reserved, r.worst)
	a.taken[r.window.Metric] = append(a.taken[r.window.Metric], r)
	m.reservations = append(m.reservations, r)
}

func newReservation(at account, w schemas.MetricWindow) *modelReservation {
	return &modelReservation{at, w, map[string]int64{}, map[inComponent]int64{}, map[inComponent]int64{}, new(big.Int)}
}

// divide admits to a share: what its metric has counted of a user, and what it has left out.
func (m *model) divide(w schemas.MetricWindow, at account, events []contribution) {
	spec, tally := &m.metrics[w.Metric], &m.tallies[w.Metric]
	of := slices.IndexFunc(m.metrics, func(o schemas.MetricSpec) bool { return o.Name == spec.Of })
	var all int64
	for _, c := range events {
		if m.wants(&m.metrics[of], c) {
			all += int64(c.n)
		} else {
			tally.Filtered += uint64(c.n)
		}
	}
	if all == 0 {
		return
	}
	base := w
	base.Metric = uint32(of)
	in := int64(m.counted[inWindow{at, base}])
	kept, bound := all, int64(spec.MaxEventsPerKey)
	if all > bound { // the nearest whole number to in·bound/all, halves up
		kept = bound
		in = new(big.Int).Div(big.NewInt(2*in*bound+all), big.NewInt(2*all)).Int64()
	}
	r := newReservation(at, w)
	for key, n := range map[string]int64{"counted": in, "left_out": kept - in} {
		if n > 0 {
			r.kept[key] = n
			r.worst.Add(r.worst, modelCharge(n, spec.Top))
		}
	}
	tally.Beyond += uint64(all - kept)
	if r.worst.Cmp(m.left(at, w)) <= 0 {
		m.reserve(r)
		tally.Counted += uint64(kept)
	} else {
		tally.Beyond += uint64(kept)
	}
}

func (m *model) keysByRank(spec *schemas.MetricSpec, at account, byKey map[string][]contribution) []string {
	var keys []string
	for key := range byKey {
		keys = append(keys, key)
	}
	name := cmp.Or(spec.KeysFrom, spec.Name)
	slices.SortFunc(keys, func(a, b string) int {
		ra, rb := m.hasher.ClipRank(name, at.id, at.period, []byte(a)), m.hasher.ClipRank(name, at.id, at.period, []byte(b))
		return bytes.Compare(ra[:], rb[:])
	})
	return keys
}

func sumOf(cs []contribution) (n uint64) {
	for _, c := range cs {
		n += uint64(c.n)
	}
	return n
}

// bring returns what a user brings to one key.
func (m *model) bring(spec *schemas.MetricSpec, at account, cs []contribution) *modelKey {
	n := sumOf(cs)
	if spec.Kind == metrickind.DistinctUsers {
		return &modelKey{events: n, sign: 1, size: 1}
	}
	stays := n
	if spec.MaxEventsPerKey > 0 {
		stays = min(n, uint64(spec.MaxEventsPerKey))
	}
	k := &modelKey{events: stays, sign: 1, size: int64(stays)}
	if spec.Kind == metrickind.Events {
		return k
	}
	type one struct {
		rank  [16]byte
		value int64
	}
	var all []one
	for _, c := range cs {
		rank := m.hasher.RecordRank(spec.Name, at.id, at.period, c.record())
		for range c.n {
			value := max(spec.Min, min(spec.Max, c.value))
			if spec.Kind == metrickind.Sum && spec.Min == 0 && spec.Max == 0 { // no range
				value = c.value
			}
			all = append(all, one{rank, value})
		}
	}
	slices.SortFunc(all, func(a, b one) int { return bytes.Compare(a.rank[:], b.rank[:]) })
	total := new(big.Int)
	for _, o := range all[:stays] {
		total.Add(total, big.NewInt(o.value))
		k.values = append(k.values, o.value)
	}
	if spec.Kind == metrickind.Sum {
		k.sign = 1
		if total.Sign() < 0 {
			k.sign = -1
		}
		k.size = math.MaxInt64
		if k.exact = total.Abs(total); total.IsInt64() {
			k.size = total.Int64()
		}
	}
	return k
}

// count adds up the reservations for a window. A user of two periods is one user.
func (m *model) count(w schemas.MetricWindow) {
	type userOfKey struct {
		id  accounts.ID
		key string
	}
	seen := map[userOfKey]bool{}
	for _, r := range m.reservations {
		if r.window != w {
			continue
		}
		for at, c := range r.leaves {
			m.counts[Cell{at.metric, w.WindowStart, w.WindowEnd, at.key}] += c
		}
		for at, c := range r.further {
			m.counts[Cell{at.metric, w.WindowStart, w.WindowEnd, at.key}] += c
		}
		for key, c := range r.kept {
			user := userOfKey{r.account.id, key}
			if m.metrics[w.Metric].Kind != metrickind.DistinctUsers || !seen[user] {
				seen[user] = true
				m.counts[Cell{w.Metric, w.WindowStart, w.WindowEnd, key}] += c
			}
		}
	}
}

func (m *model) account(at account) *modelAccount {
	a := m.accounts[at]
	if a == nil {
		a = &modelAccount{new(big.Int), new(big.Int), map[uint32][]*modelReservation{}}
		m.accounts[at] = a
	}
	return a
}

// charge settles the open span.
func (m *model) charge(s schemas.Settled) {
	released := map[Cell]units.Precision{}
	for _, k := range s.Keys {
		released[Cell{k.Metric, k.WindowStart, k.WindowEnd, string(k.Key)}] = k.Precision
	}
	for _, r := range m.reservations {
		a := m.account(r.account)
		a.reserved.Sub(a.reserved, r.worst)
		r.worst = new(big.Int)
		spec := &m.metrics[r.window.Metric]
		for key, c := range r.kept {
			u, ok := released[Cell{r.window.Metric, r.window.WindowStart, r.window.WindowEnd, key}]
			if !ok && spec.KeyMode == schemas.KeysFrom {
				continue
			}
			if !ok {
				u = spec.First
			}
			r.worst.Add(r.worst, modelCharge(c, u))
		}
		for at, c := range r.further { // nothing where the key was not released
			u := released[Cell{at.metric, r.window.WindowStart, r.window.WindowEnd, at.key}]
			r.worst.Add(r.worst, modelCharge(c, u))
		}
		if at := m.nodesOf(spec); at != nil {
			metric := uint32(slices.IndexFunc(m.metrics, func(o schemas.MetricSpec) bool { return o.Name == at.Name }))
			for key := range r.kept {
				var u units.Precision
				drawn := func(n metrickind.Node) bool {
					p, ok := released[Cell{metric, r.window.WindowStart, r.window.WindowEnd, string(schemas.NodeKey([]byte(key), n))}]
					if ok {
						u = p
					}
					return ok
				}
				if drawn(metrickind.Root) {
					r.worst.Add(r.worst, chargeOfTree(r.leaves, key, u, drawn))
				}
			}
		}
		a.spent.Add(a.spent, r.worst)
	}
	m.reservations = nil
}

// nodesOf returns the metric of the nodes of a metric's trees; nil for none.
func (m *model) nodesOf(spec *schemas.MetricSpec) *schemas.MetricSpec {
	for i := range m.metrics {
		if m.metrics[i].Of == spec.Name && metrickind.Of(m.metrics[i].Kind).Nodes != nil {
			return &m.metrics[i]
		}
	}
	return nil
}

// chargeOfTree returns what the leaves of a key cost in those nodes whose parents are drawn.
func chargeOfTree(leaves map[inComponent]int64, key string, u units.Precision, drawn func(parent metrickind.Node) bool) *big.Int {
	nodes := map[metrickind.Node]int64{}
	for at, n := range leaves {
		of, leaf, _ := schemas.SplitNodeKey([]byte(at.key))
		for node := leaf; string(of) == key && node >= 8; node /= 8 {
			nodes[node] += n
		}
	}
	sum := new(big.Int)
	for node, n := range nodes {
		if drawn(node / 8) {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(n), big.NewInt(n)))
		}
	}
	sum.Mul(sum, u.Big()).Add(sum, new(big.Int).SetUint64(1<<40-1))
	return sum.Rsh(sum, 40)
}

// recordsOf reports whether the settings want records one by one.
func (s settings) recordsOf() bool {
	return slices.ContainsFunc(s.metrics, func(m schemas.MetricSpec) bool { return metrickind.Of(m.Kind).Values })
}

func labelKey(l schemas.Label) string {
	return string(binary.BigEndian.AppendUint64(slices.Clone(l.Key), l.Passes))
}
