package plain

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/memledger"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// TestPlainAndPackedDecideTheSame: at the same prices (ladders of one rung) both forms admit the
// same users to the same windows, count the same, and leave every user with the same account. The
// packed one keeps its accounts in a ledger, turn after turn.
func TestPlainAndPackedDecideTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		var events []event
		for i := range rapid.IntRange(0, 120).Draw(t, "events") {
			events = append(events, event{
				user:   fmt.Sprint("user ", rapid.IntRange(0, 5).Draw(t, fmt.Sprint("user", i))),
				key:    string(rune('a' + rapid.IntRange(0, 4).Draw(t, fmt.Sprint("key", i)))),
				millis: rapid.Int64Range(base, s.span().to-1).Draw(t, fmt.Sprint("time", i)),
			})
		}
		decideBoth(t, t.Context(), s, events)
	})
}

// TestPlainAndPackedDecideTheSameAtTheEdge: a user pays for private keys until the budget is over.
func TestPlainAndPackedDecideTheSameAtTheEdge(t *testing.T) {
	s := testSettings(t, 5)
	s.Metrics = []Metric{{Name: "views", Kind: metrickind.DistinctUsers, MaxKeysPerUser: 1, Sigma: 8}}
	var events []event
	for w := range int64(5) {
		events = append(events, event{"often", "a", base + w*hour}, event{fmt.Sprint("once ", w), "a", base + w*hour})
	}
	out := decideBoth(t, t.Context(), s, events)
	counted := int64(0)
	for _, n := range out.counts {
		counted += n
	}
	often := out.accounts[schemas.NewHasher(testSecrets().UserHash.Reveal()).Account([]byte("often"))]
	if counted == int64(len(events)) || often.Account.Spent == 0 || len(out.accounts) != 6 {
		t.Errorf("%d of %d events count; the account is %+v, one of %d", counted, len(events), often, len(out.accounts))
	}
}

// decideBoth compares the decisions of both forms.
func decideBoth(t rapid.TB, ctx context.Context, s Settings, events []event) decided {
	t.Helper()
	plain := decidePlain(t, s, events)
	packed, err := decidePacked(ctx, s, events)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain, packed, cmp.AllowUnexported(decided{})); diff != "" {
		t.Fatalf("the forms differ (-plain +packed):\n%s", diff)
	}
	return plain
}

// decided is what a form has decided when all windows are over.
type decided struct {
	counts   map[string]int64               // by metric, window and key
	admitted map[string]bool                // by metric, window and account
	accounts map[accounts.ID]accounts.Entry // users that have paid anything
}

func newDecided() decided {
	return decided{map[string]int64{}, map[string]bool{}, map[accounts.ID]accounts.Entry{}}
}

func drawSettings(t *rapid.T) Settings {
	b, err := budgets.NewBudget(1, 1e-6, budgets.GDP, 1e-7)
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "small") { // small numbers are drawn more often: no user could pay for a private key
		b.Mu2 = units.Mu2(rapid.Uint64Range(1, uint64(b.Mu2)).Draw(t, "budget"))
	}
	s := Settings{
		Incarnation: [16]byte{1}, Budget: b, Window: 3_600_000_000_000,
		From: msTime(base), To: msTime(base + hour*rapid.Int64Range(1, 7).Draw(t, "windows")),
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "metrics") {
		m := Metric{
			Name: fmt.Sprint("metric ", i), Kind: metrickind.Events,
			MaxKeysPerUser: rapid.IntRange(0, 4).Draw(t, "keys"), MaxEventsPerKey: rapid.IntRange(0, 4).Draw(t,
				"per key"), Burst: rapid.Float64Range(0.1, 1).Draw(t, "burst"),
			Sigma: rapid.Float64Range(1, 60).Draw(t, "sigma"),
		}
		if rapid.Bool().Draw(t, "distinct") {
			m.Kind, m.MaxEventsPerKey = metrickind.DistinctUsers, 0
		}
		if !rapid.Bool().Draw(t, "private") {
			m.PublicKeys = []string{"b", "d", "a"}
		}
		s.Metrics = append(s.Metrics, m)
	}
	return s
}

// decidePlain decides user after user.
func decidePlain(t rapid.TB, s Settings, events []event) decided {
	secrets := testSecrets()
	a, err := newAdmitter(&s, &secrets)
	if err != nil {
		t.Fatal(err)
	}
	out := newDecided()
	for id, windows := range windowsOf(&s, events) {
		account := accounts.Entry{ID: id}
		for _, w := range windows {
			err := a.admit(&account, w, func(cell []byte, n int64) {
				out.counts[string(cell)] += n
				released, err := schemas.DecodeReleaseKey(cell)
				if err != nil {
					t.Fatal(err)
				}
				out.admitted[string(schemas.EncodeReleaseKey(released.Metric, released.WindowStart, id[:]))] = true
			})
			if err != nil {
				t.Fatal(err)
			}
			if account.Account.Spent > s.Budget.Mu2 || account.Account.Reserved != 0 {
				t.Fatal("an account went beyond its budget")
			}
		}
		if !account.Account.IsZero() {
			out.accounts[id] = account
		}
	}
	return out
}

// settledAtTop is what a turn of ladders with one rung settles: every key at the only precision
// there is. Private keys may be released or not: both cost the same.
type settledAtTop struct {
	specs     []schemas.MetricSpec
	windowsOf func(turn uint64) []schemas.MetricWindow
}

func (s settledAtTop) Settlement(_ context.Context, turn uint64) (*spend.Settlement, error) {
	settled := schemas.Settled{Turn: turn}
	for _, m := range s.specs {
		settled.FirstRungs = append(settled.FirstRungs, m.First)
	}
	for _, p := range s.windowsOf(turn) {
		for _, key := range s.specs[p.Metric].PublicKeys {
			settled.Keys = append(settled.Keys, schemas.SettledKey{
				Metric: p.Metric, WindowStart: p.WindowStart, WindowEnd: p.WindowEnd, Key: key,
				Precision: s.specs[p.Metric].Top})
		}
	}
	return spend.NewSettlement(settled), nil
}

// since are windows of one turn's slice, with a horizon that begins then.
type since int64

func (since) First(schemas.MetricWindow) uint64               { return math.MaxUint64 }
func (since) Open(uint32, uint64) bool                        { return false }
func (since) Needed(turn uint64) uint64                       { return turn + 1 }
func (since) LeastPeriod(uint64) int64                        { return math.MinInt64 }
func (s since) Elapsed(w schemas.MetricWindow, _ int64) int64 { return w.WindowEnd - int64(s) }

// addAdmitted adds who was admitted in a turn.
func (d *decided) addAdmitted(ledger *schemas.LedgerReader, turn uint64, specs []schemas.MetricSpec) error {
	after, err := ledger.DeltasAfter(turn - 1)
	if err != nil {
		return err
	}
	delta, ok := after[turn]
	if !ok {
		return fmt.Errorf("turn %d has no delta in the ledger", turn)
	}
	for _, u := range delta.Users {
		for i, p := range delta.Windows {
			if u.Admitted.Get(i) {
				d.admitted[string(schemas.EncodeReleaseKey(specs[p.Metric].Name, p.WindowStart, u.ID[:]))] = true
			}
		}
	}
	return nil
}

// addAccounts adds the accounts of a shard as of its newest snapshot, in which the turn is charged.
func (d *decided) addAccounts(ledger *schemas.LedgerReader, turn uint64) error {
	snapshot, ok, err := ledger.NewestSnapshot(1 << 62)
	if err != nil {
		return err
	}
	if !ok || snapshot.Turn < turn {
		return fmt.Errorf("the newest snapshot is as of turn %d, want %d or later", snapshot.Turn, turn)
	}
	for _, a := range snapshot.Accounts {
		d.accounts[a.ID] = a
	}
	return nil
}

// decidePacked spends the windows as turns, in two shards.
func decidePacked(ctx context.Context, s Settings, events []event) (decided, error) {
	const shards, slots = 2, 4
	out := newDecided()
	metrics, err := s.compile()
	if err != nil {
		return out, err
	}
	var specs []schemas.MetricSpec
	for _, m := range metrics {
		specs = append(specs, m.spec)
	}
	windowsOf := func(turn uint64) []schemas.MetricWindow {
		var all []schemas.MetricWindow
		for i := range specs {
			end := s.span().from + int64(turn)*s.span().size
			all = append(all, schemas.MetricWindow{Metric: uint32(i), WindowStart: end - s.span().size, WindowEnd: end})
		}
		return all
	}
	rules, err := spend.NewRules(s.Budget, testSecrets().UserHash.Reveal(), specs, shards, 1, slots)
	if err != nil {
		return out, err
	}
	ledger := &memledger.Ledger{}
	spender, err := spend.NewEngine(spend.Options{Rules: rules, Settlements: settledAtTop{specs, windowsOf},
		Ending: windowsOf, Windows: since(s.span().from), Ledger: ledger})
	if err != nil {
		return out, err
	}
	turns := uint64((s.span().to - s.span().from) / s.span().size)
	for shard := range shards {
		var read *schemas.LedgerReader
		// A shard writes a snapshot every slots/2 turns.
		for turn := uint64(1); turn <= turns+slots/2; turn++ {
			partials, err := spendTurn(ctx, spender, s.span(), turn, shard, shards, events)
			if err != nil {
				return out, err
			}
			for _, c := range partials.Cells {
				out.counts[string(schemas.EncodeReleaseKey(specs[c.Metric].Name, c.WindowStart, c.Key))] += c.Count
			}
			if read, _, err = ledger.Read(shard, -1); err != nil {
				return out, err
			}
			if err := out.addAdmitted(read, turn, specs); err != nil {
				return out, err
			}
		}
		if err := out.addAccounts(read, turns); err != nil {
			return out, err
		}
	}
	return out, nil
}

func spendTurn(ctx context.Context, spender *spend.Engine, sp span, turn uint64, shard, shards int,
	events []event) (schemas.Partial, error) {
	hasher := schemas.NewHasher(testSecrets().UserHash.Reveal())
	batch := schemas.Contributions{Epoch: 1, Turn: turn, Shard: uint32(shard)}
	for _, e := range events {
		end, _ := sp.end(e.millis)
		id := hasher.Account([]byte(e.user))
		if end != sp.from+int64(turn)*sp.size || schemas.ShardOf(id, shards) != shard {
			continue
		}
		batch.Records++
		batch.Labels = append(batch.Labels, schemas.Label{Key: []byte(e.key)})
		batch.Users = append(batch.Users, schemas.ContribUser{ID: id,
			Entries: []schemas.KeyCount{{Key: uint32(len(batch.Labels) - 1), N: 1}}})
	}
	data, err := schemas.EncodeContributions(batch)
	if err != nil {
		return schemas.Partial{}, err
	}
	open := schemas.EncodeOpen(schemas.Open{Epoch: 1, Turn: turn, Contributions: batch.Records, Shard: uint32(shard),
		Shards: uint32(shards), SettledAt: -1})
	pending, err := spender.Spend(ctx, shard, [][]byte{data, open})
	if err != nil {
		return schemas.Partial{}, err
	}
	blobs, err := pending.Wait(ctx)
	if err != nil {
		return schemas.Partial{}, err
	}
	return schemas.DecodePartial(blobs[0].Data)
}
