package transforms_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/tollgate-dp/tollgate/internal/testing/memledger"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/release"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

func init() {
	beam.RegisterType(reflect.TypeFor[hours]())
	beam.RegisterType(reflect.TypeFor[promise]())
	beam.RegisterType(reflect.TypeFor[ladders]())
	beam.RegisterType(reflect.TypeFor[settlements]())
}

// views counts page views of two public pages in windows of an hour.
func views() (schemas.MetricSpec, error) {
	first, err := units.PrecisionFromSigma(100)
	if err != nil {
		return schemas.MetricSpec{}, err
	}
	top, err := units.PrecisionFromSigma(50)
	return schemas.MetricSpec{
		Name: "views", Kind: "events", WindowSize: 3_600_000, WindowSlide: 3_600_000,
		MaxKeysPerUser: 2, MaxEventsPerKey: 5, LadderKind: "geometric", LadderFactor: 2, First: first, Top: top,
		Relative: 0.05, Confidence: 0.95, KeyMode: "public", PublicKeys: [][]byte{[]byte("/"), []byte("/buy")},
	}, err
}

// windowsOf returns the windows that end with a turn: one window a turn, from 1970 on.
func windowsOf(turn uint64) []schemas.MetricWindow {
	end := int64(turn) * 3_600_000
	return []schemas.MetricWindow{{WindowStart: end - 3_600_000, WindowEnd: end}}
}

// visits returns what two users did in a turn, and the OPEN of the turn.
func visits(turn uint64) ([][]byte, error) {
	hasher := schemas.NewHasher([32]byte{1})
	batch := schemas.Contributions{
		Epoch: 1, Turn: turn, Records: 9, Labels: []schemas.Label{{Key: []byte("/")}, {Key: []byte("/buy")}},
		Users: []schemas.ContribUser{
			{ID: hasher.Account([]byte("ann")), Entries: []schemas.KeyCount{{Key: 0, N: 7}, {Key: 1, N: 1}}},
			{ID: hasher.Account([]byte("bob")), Entries: []schemas.KeyCount{{Key: 0, N: 1}}},
		},
	}
	data, err := schemas.EncodeContributions(batch)
	if err != nil {
		return nil, err
	}
	return [][]byte{data, schemas.EncodeOpen(schemas.Open{Epoch: 1, Turn: turn, Contributions: 9, Shards: 1,
		SettledAt: -1})}, nil
}

// hours is the hook of READ, and its Source: the users' events by hour. Every turn is one tick, so
// from.Tick is the turn to open next.
type hours struct{ Turns uint64 }

func (h hours) Open(context.Context) (transforms.Source, error) { return h, nil }

// Step implements transforms.Source: a turn opens once the one before is settled.
func (h hours) Step(_ context.Context, from transforms.Restriction) (transforms.Step, error) {
	turn, next := uint64(from.Tick), from
	next.Calls++
	if turn > 1 {
		if _, settled := settled.Load(turn - 1); !settled {
			return transforms.Step{Next: next, Delay: time.Millisecond}, nil
		}
	}
	if turn > h.Turns {
		next.Done = true
		return transforms.Step{Next: next}, nil
	}
	blobs, err := visits(turn)
	if err != nil {
		return transforms.Step{}, err
	}
	next.Tick++
	return transforms.Step{Next: next, Elements: []transforms.Element{{Data: blobs[0]}, {Data: blobs[1]}},
		Opened: true}, nil
}

// promise is the hook of SPEND: how large every user's budget is. The ledger of the example is in
// memory; a real one outlives the process.
type promise struct{ Epsilon, Delta float64 }

// engines are the Spenders of this process: an engine of Beam opens a hook several times, and a
// shard has one Spender.
var engines sync.Map

func (h promise) Open(context.Context) (transforms.Spender, error) {
	budget, err := budgets.NewBudget(h.Epsilon, h.Delta, budgets.GDP, 0)
	if err != nil {
		return nil, err
	}
	metric, err := views()
	if err != nil {
		return nil, err
	}
	rules, err := spend.NewRules(budget, [32]byte{1}, []schemas.MetricSpec{metric}, 1, 1, 4)
	if err != nil {
		return nil, err
	}
	engine, err := spend.NewEngine(spend.Options{Rules: rules, Ending: windowsOf, Settlements: settlements{},
		Ledger: &memledger.Ledger{}})
	if err != nil {
		return nil, err
	}
	shared, _ := engines.LoadOrStore(h, engine)
	return shared.(*spend.Engine), nil
}

// ladders is the hook of RELEASE.
type ladders struct{ Currency string }

func (h ladders) Open(context.Context) (transforms.Releaser, error) {
	metric, err := views()
	if err != nil {
		return nil, err
	}
	return release.New(release.Options{
		Metrics: []schemas.MetricSpec{metric}, Ending: windowsOf, Incarnation: [16]byte{1},
		// 256 random bits, from a safe place
		Noise:     noisereduction.NoiseKey{ID: "2026-a", Secret: secret.New([32]byte{2})},
		Counts:    schemas.CountsEncoding{Format: schemas.CountsJSON},
		Publisher: h,
	})
}

// Acquire implements release.Publisher. Printed values cannot be read back, so it returns none.
func (h ladders) Acquire(_ context.Context, _ int, _ int64, _ uint64, _ func(turn uint64, key,
	value []byte) error) (release.CountsWriter, error) {
	return h, nil
}

// Append implements release.CountsWriter.
func (h ladders) Append(_ context.Context, _ uint64, records []release.Record) func(context.Context) (int64, error) {
	for _, r := range records {
		v := r.Release
		fmt.Printf("%s %s %s: %.0f ± %.0f %s\n", time.UnixMilli(v.WindowStart).UTC().Format("15:04"), v.Metric, v.Key,
			v.Count(), v.StdDev, h.Currency)
	}
	return func(context.Context) (int64, error) { return 0, nil }
}

// settled are the settlements of this process, as schemas.Settled by turn. A real one outlives
// the process.
var settled sync.Map

// settlements is the hook of SETTLE, and has the settled turns for SPEND.
type settlements struct{}

func (h settlements) Open(context.Context) (transforms.Settler, error) {
	metric, err := views()
	if err != nil {
		return nil, err
	}
	return release.NewSettler([]schemas.MetricSpec{metric}, h)
}

// WriteSettlement implements release.SettlementWriter.
func (settlements) WriteSettlement(_ context.Context, s schemas.Settled) error {
	fmt.Printf("turn %d is settled: %d counts\n", s.Turn, len(s.Keys))
	settled.Store(s.Turn, s)
	return nil
}

// Settlement implements spend.Settlements.
func (settlements) Settlement(_ context.Context, turn uint64) (*spend.Settlement, error) {
	s, ok := settled.Load(turn)
	if !ok {
		return nil, fmt.Errorf("turn %d is not settled", turn)
	}
	return spend.NewSettlement(s.(schemas.Settled)), nil
}

// The whole loop, with a hook for each stage: Read drives a Source, which opens the second turn
// once the first is settled.
func ExampleRead() {
	p, s := beam.NewPipelineWithRoot()
	envelopes := transforms.Pack(s, transforms.Read(s, hours{Turns: 2}, 1))
	partials := transforms.Pack(s, transforms.Spend(s, promise{Epsilon: 1, Delta: 1e-6}, envelopes))
	acks := transforms.Pack(s, transforms.Release(s, ladders{Currency: "views"}, partials))
	transforms.Settle(s, settlements{}, acks)
	if _, err := prism.Execute(context.Background(), p); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 00:00 views /: 0 ± 50 views
	// 00:00 views /buy: 111 ± 50 views
	// turn 1 is settled: 2 counts
	// 01:00 views /: -62 ± 50 views
	// 01:00 views /buy: 97 ± 50 views
	// turn 2 is settled: 2 counts
}
