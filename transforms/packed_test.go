package transforms_test

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/testing/reference"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/release"
)

// outcome is what comes of the shop's turns.
type outcome struct {
	Released []string             // as consumers see them, ascending
	Admitted map[visit]bool       // of the turns of which something came
	Accounts map[string]units.Mu2 // spent by all users
}

// visit is a user's part in the window of a metric that ends with a turn.
type visit struct {
	User, Metric string
	Turn         uint64
}

// TestThePackedFormOverTurns: the whole loop over hooks of one's own, with three
// shards of accounts in a ledger, two release shards and a Source that opens a
// turn once the one before is settled, releases, admits and charges what a
// sequential computation does.
func TestThePackedFormOverTurns(t *testing.T) { transforms.OnEngines(t, thePackedFormOverTurns) }

func thePackedFormOverTurns(t *testing.T, execute transforms.Engine) {
	want := shopInSequence(t)
	checkShop(t, want)
	dir := folder{t.TempDir()}
	if _, err := execute(t.Context(), shopPipeline(dir)); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, shopOutcome(t, dir)); diff != "" {
		t.Errorf("the packed form differs from the sequential computation (-want +got):\n%s", diff)
	}
}

func shopPipeline(dir folder) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	envelopes := transforms.Pack(s, transforms.Read(s, shopSource{folder: dir}, 1))
	partials := transforms.Pack(s, transforms.Spend(s, shopSpender{folder: dir}, envelopes))
	acks := transforms.Pack(s, transforms.Release(s, shopReleaser{dir}, partials))
	transforms.Settle(s, shopSettler{dir}, acks)
	return p
}

// checkShop: the heavy user is counted with less and less, at the edge of the budget; ladders stop
// at the first rung and refine on; some private keys stay unseen.
func checkShop(t *testing.T, o outcome) {
	t.Helper()
	budget, err := shopBudget()
	if err != nil {
		t.Fatal(err)
	}
	if spent, modest := o.Accounts["heavy"], o.Accounts["modest"]; spent < budget.Mu2/8*7 || spent > budget.Mu2 || modest == 0 || modest > budget.Mu2/2 {
		t.Errorf("the heavy user has spent %d of %d, the modest one %d", spent, budget.Mu2, modest)
	}
	first, private := 0, 0
	for _, r := range o.Released {
		if strings.Contains(r, `"rungs":1,`) {
			first++
		}
		if strings.Contains(r, `"visitors"`) {
			private++
		}
	}
	if first == 0 || first == len(o.Released) || private != shopTurns {
		t.Errorf("of %d values %d stopped at the first rung and %d are of private keys: the test shows too little", len(o.Released), first, private)
	}
}

// shopUsers returns all users by account.
func shopUsers() map[accounts.ID]string {
	hasher := schemas.NewHasher(shopUserHash)
	users := map[accounts.ID]string{}
	for turn := range uint64(shopTurns) {
		for user := range shopEvents(turn + 1) {
			users[hasher.Account([]byte(user))] = user
		}
	}
	return users
}

func asJSON(t *testing.T, r schemas.Release) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// shopOutcome reads what the hooks have left.
func shopOutcome(t *testing.T, dir folder) outcome {
	t.Helper()
	out := outcome{Admitted: map[visit]bool{}, Accounts: map[string]units.Mu2{}}
	for turn := range uint64(shopAllTurns) {
		for shard := range shopReleaseShards {
			var values []json.RawMessage
			if err := dir.get(releasedName(turn+1, shard), &values); err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				out.Released = append(out.Released, string(v))
			}
		}
	}
	slices.Sort(out.Released)
	users := shopUsers()
	for shard := range shopShards {
		for turn := uint64(1); turn < shopAllTurns; turn++ {
			after, err := shopLedger(t, dir, shard, turn+1).DeltasAfter(turn - 1)
			delta, ok := after[turn]
			if err != nil || !ok {
				t.Fatalf("shard %d: the ledger has a delta of turn %d: %v, %v", shard, turn, ok, err)
			}
			for _, u := range delta.Users {
				for i, p := range delta.Windows {
					if u.Admitted.Get(i) {
						out.Admitted[visit{users[u.ID], shopMetrics()[p.Metric].Name, turn}] = true
					}
				}
			}
		}
		snapshot, ok, err := shopLedger(t, dir, shard, shopAllTurns).NewestSnapshot(shopAllTurns)
		if err != nil || !ok || snapshot.Turn < shopTurns {
			t.Fatalf("shard %d: the ledger has a snapshot: %v, as of turn %d, %v", shard, ok, snapshot.Turn, err)
		}
		for _, a := range snapshot.Accounts {
			out.Accounts[users[a.ID]] = a.Account.Spent
		}
	}
	return out
}

// shopLedger returns what the ledger had before a turn.
func shopLedger(t *testing.T, dir folder, shard int, turn uint64) *schemas.LedgerReader {
	t.Helper()
	var n int
	if err := dir.get(lengthName(shard, turn), &n); err != nil {
		t.Fatal(err)
	}
	shopSpenders.Lock()
	defer shopSpenders.Unlock()
	ledger, _, err := shopSpenders.by[dir.Dir].ledger.Read(shard, n)
	if err != nil {
		t.Fatal(err)
	}
	return ledger
}

// sequence computes the shop's turns one after the other, without shards, stages
// and state.
type sequence struct {
	*testing.T
	outcome
	budget  budgets.Budget
	metrics []schemas.MetricSpec
	plans   []*noisereduction.Plan

	counts   map[cell]int64
	reserved map[string]units.Mu2
	owed     []debt
}

type cell struct {
	metric uint32
	key    string
}

// debt is what a user pays for one key once it is known where its ladder stopped.
type debt struct {
	user string
	at   cell
	n    uint64
}

func shopInSequence(t *testing.T) outcome {
	t.Helper()
	budget, err := shopBudget()
	if err != nil {
		t.Fatal(err)
	}
	s := &sequence{T: t, budget: budget, metrics: shopMetrics(), outcome: outcome{Admitted: map[visit]bool{}, Accounts: map[string]units.Mu2{}}}
	for i := range s.metrics {
		plan, err := release.PlanOf(&s.metrics[i])
		if err != nil {
			t.Fatal(err)
		}
		s.plans = append(s.plans, plan)
	}
	for turn := range uint64(shopAllTurns) {
		s.turn(turn + 1)
	}
	slices.Sort(s.Released)
	return s.outcome
}

func (s *sequence) turn(turn uint64) {
	s.counts, s.reserved, s.owed = map[cell]int64{}, map[string]units.Mu2{}, nil
	for user, pages := range shopEvents(turn) {
		for i := range s.metrics {
			s.admit(turn, user, uint32(i), pages)
		}
	}
	for _, w := range shopWindows(turn) {
		for _, key := range s.metrics[w.Metric].PublicKeys {
			s.counts[cell{w.Metric, string(key)}] += 0
		}
	}
	prices := map[cell]units.Precision{}
	for at, n := range s.counts {
		prices[at] = s.release(turn, at, n)
	}
	for _, d := range s.owed {
		s.Accounts[d.user] += s.charge(d.n, prices[d.at])
	}
}

func (s *sequence) charge(n uint64, u units.Precision) units.Mu2 {
	c, ok := units.Charge(n, u)
	if !ok {
		s.Fatal("a charge is out of range")
	}
	return c
}

// admit counts of a user in a window as much as the account pays for.
func (s *sequence) admit(turn uint64, user string, metric uint32, pages map[string]uint32) {
	c, hasher, m := reference.Config{Metrics: s.metrics}, schemas.NewHasher(shopUserHash), &s.metrics[metric]
	var visits []reference.Visit
	for page, n := range pages {
		if reference.Takes(*m, page) {
			visits = append(visits, slices.Repeat([]reference.Visit{{Key: page}}, int(n))...)
		}
	}
	left := new(big.Int).SetUint64(uint64(s.budget.Mu2 - s.Accounts[user] - s.reserved[user]))
	b := c.Fill(int(metric), c.Offer(hasher, int(metric), reference.Owner{ID: hasher.Account([]byte(user))}, visits), left)
	if !b.Admitted {
		return
	}
	s.Admitted[visit{user, m.Name, turn}] = true
	for page, n := range b.Counts {
		s.reserved[user] += s.charge(uint64(n), m.Top)
		s.owed = append(s.owed, debt{user, cell{metric, page}, uint64(n)})
		s.counts[cell{metric, page}] += n
	}
}

// release says what a count's contributors pay for.
func (s *sequence) release(turn uint64, at cell, count int64) units.Precision {
	m, window := &s.metrics[at.metric], shopWindows(turn)[at.metric]
	r, err := s.plans[at.metric].Release(shopNoise, noisereduction.Identity{
		Incarnation: shopIncarnation, MetricDigest: m.Digest(), WindowStart: window.WindowStart, WindowEnd: window.WindowEnd, Key: []byte(at.key),
	}, count)
	if err != nil {
		s.Fatal(err)
	}
	if r.Passed {
		s.Released = append(s.Released, asJSON(s.T, schemas.Release{
			Metric: m.Name, WindowStart: window.WindowStart, WindowEnd: window.WindowEnd, Key: at.key, Value: r.Value, StdDev: r.StdDev,
			Low: r.Low, High: r.High, Confidence: m.Confidence, Met: r.Met, Rungs: uint32(r.Rungs), Precision: r.Precision,
		}))
	}
	return r.Precision
}
