package transforms_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/internal/testing/memledger"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/release"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

func init() {
	beam.RegisterType(reflect.TypeFor[shopSource]())
	beam.RegisterType(reflect.TypeFor[shopSpender]())
	beam.RegisterType(reflect.TypeFor[shopReleaser]())
	beam.RegisterType(reflect.TypeFor[shopSettler]())
}

// The shop is a deployment of several shards and metrics. Users do
// something in its first shopTurns turns. Every shard writes a snapshot once in
// shopSlots/2 turns; one turn later the ledger has it.
const (
	shopShards, shopReleaseShards, shopSlots = 3, 2, 4

	shopTurns    = 6
	shopAllTurns = shopTurns + shopSlots/2 + 1
	shopHour     = 3_600_000
)

var (
	shopUserHash    = [32]byte{3}
	shopNoise       = noisereduction.NoiseKey{ID: "2026-a", Secret: secret.New([32]byte{4})}
	shopIncarnation = [16]byte{5}
)

func sigma(s float64) units.Precision {
	u, err := units.PrecisionFromSigma(s)
	if err != nil {
		panic(err)
	}
	return u
}

// shopMetrics: the ladders stop early where there are many users, and refine to their
// tops elsewhere.
func shopMetrics() []schemas.MetricSpec {
	return []schemas.MetricSpec{
		{
			Name: "views", Kind: metrickind.Events, WindowSize: shopHour, WindowSlide: shopHour, MaxKeysPerUser: 2, MaxEventsPerKey: 5,
			LadderKind: "geometric", LadderFactor: 2, First: sigma(10), Top: sigma(5), Relative: 0.3, Confidence: 0.95,
			KeyMode: schemas.KeysPublic, PublicKeys: [][]byte{[]byte("/"), []byte("/buy")},
		},
		{
			Name: "visitors", Kind: metrickind.DistinctUsers, WindowSize: shopHour, WindowSlide: shopHour, MaxKeysPerUser: 3,
			LadderKind: "geometric", LadderFactor: 2, First: sigma(4), Top: sigma(2), Relative: 0.3, Confidence: 0.95,
			KeyMode: schemas.KeysPrivate, DeltaKey: units.Delta{Lo: 1 << 50},
		},
	}
}

// shopBudget lasts four turns of the heaviest use.
func shopBudget() (budgets.Budget, error) {
	b, err := budgets.NewBudget(1, 1e-6, budgets.GDP, 1e-7)
	if err != nil {
		return b, err
	}
	b.Mu2, _ = units.Charge(1, sigma(0.4)) // 6.25
	return b, nil
}

func shopWindows(turn uint64) []schemas.MetricWindow {
	end := int64(turn) * shopHour
	return []schemas.MetricWindow{
		{Metric: 0, WindowStart: end - shopHour, WindowEnd: end},
		{Metric: 1, WindowStart: end - shopHour, WindowEnd: end},
	}
}

// shopEvents returns how often each user saw each page in a turn: many other
// visitors each time, a heavy and a modest user every time, and a collector of
// pages that no other user sees.
func shopEvents(turn uint64) map[string]map[string]uint32 {
	if turn > shopTurns {
		return nil
	}
	events := map[string]map[string]uint32{
		"heavy":     {"/": 9, "/buy": 5},
		"modest":    {"/buy": 1},
		"collector": {fmt.Sprint("/a", turn): 1, fmt.Sprint("/b", turn): 2},
	}
	rng := rand.New(rand.NewPCG(runseed.Shared(turn), 1))
	for range 100 {
		events[fmt.Sprint("visitor ", rng.IntN(400))] = map[string]uint32{"/": 1 + rng.Uint32N(3)}
	}
	return events
}

// shopSource opens turns. What a turn has comes in pieces, the first of them
// before the turn before is settled.
type shopSource struct {
	folder
	early uint64 // the last turn of which the first piece is out
}

func (h shopSource) Open(context.Context) (transforms.Source, error) {
	return &shopSource{folder: h.folder}, nil
}

// Step implements transforms.Source.
func (h *shopSource) Step(_ context.Context, at transforms.Restriction) (transforms.Step, error) {
	turn, next := uint64(at.Tick), at
	next.Calls++
	first, rest, err := shopElements(turn)
	if err != nil {
		return transforms.Step{}, err
	}
	if h.early < turn && turn <= shopAllTurns {
		h.early = turn
		return transforms.Step{Next: next, Elements: first}, nil
	}
	if turn > 1 {
		settled, err := h.settled(turn - 1)
		if err != nil || !settled {
			return transforms.Step{Next: next, Delay: time.Millisecond}, err
		}
	}
	if turn > shopAllTurns {
		next.Done = true
		return transforms.Step{Next: next}, nil
	}
	next.Tick++
	return transforms.Step{Next: next, Elements: rest, Opened: true}, nil
}

// shopElements returns a turn's contributions, half of them in the first piece, and
// its OPENs.
func shopElements(turn uint64) (first, rest []transforms.Element, err error) {
	hasher := schemas.NewHasher(shopUserHash)
	batches := make([]schemas.Contributions, 2*shopShards) // a piece of every shard, and another one
	for i := range batches {
		batches[i] = schemas.Contributions{Epoch: 1, Turn: turn, Shard: uint32(i % shopShards)}
	}
	var records uint64
	events := shopEvents(turn)
	for _, user := range slices.Sorted(maps.Keys(events)) {
		id := hasher.Account([]byte(user))
		for _, page := range slices.Sorted(maps.Keys(events[user])) {
			n := events[user][page]
			b := &batches[schemas.ShardOf(id, shopShards)+int(n%2)*shopShards]
			b.Labels = append(b.Labels, schemas.Label{Key: []byte(page)})
			b.Users = append(b.Users, schemas.ContribUser{ID: id, Entries: []schemas.KeyCount{{Key: uint32(len(b.Labels) - 1), N: n}}})
			b.Records += uint64(n)
			records += uint64(n)
		}
	}
	for i, b := range batches {
		data, err := schemas.EncodeContributions(b)
		if err != nil {
			return nil, nil, err
		}
		e := transforms.Element{Shard: int(b.Shard), Data: data}
		if i < shopShards {
			first = append(first, e)
		} else {
			rest = append(rest, e)
		}
	}
	for shard := range shopShards {
		open := schemas.EncodeOpen(schemas.Open{Epoch: 1, Turn: turn, Contributions: records, Shard: uint32(shard), Shards: shopShards, SettledAt: -1})
		rest = append(rest, transforms.Element{Shard: shard, Data: open})
	}
	return first, rest, nil
}

// shopSpender keeps accounts in a ledger in memory, and notes how long it was before every turn.
type shopSpender struct {
	folder
	engine transforms.Spender
	ledger *memledger.Ledger
}

// shopSpenders are those of this process, by folder: an engine opens a hook several times.
var shopSpenders = struct {
	sync.Mutex
	by map[string]shopSpender
}{by: map[string]shopSpender{}}

func (h shopSpender) Open(context.Context) (transforms.Spender, error) {
	shopSpenders.Lock()
	defer shopSpenders.Unlock()
	if s, open := shopSpenders.by[h.Dir]; open {
		return s, nil
	}
	budget, err := shopBudget()
	if err != nil {
		return nil, err
	}
	rules, err := spend.NewRules(budget, shopUserHash, shopMetrics(), shopShards, shopReleaseShards, shopSlots)
	if err != nil {
		return nil, err
	}
	ledger := &memledger.Ledger{}
	engine, err := spend.NewEngine(spend.Options{Rules: rules, Ending: shopWindows, Settlements: h.folder, Ledger: ledger})
	if err != nil {
		return nil, err
	}
	shopSpenders.by[h.Dir] = shopSpender{h.folder, engine, ledger}
	return shopSpenders.by[h.Dir], nil
}

// Spend implements transforms.Spender.
func (h shopSpender) Spend(ctx context.Context, shard int, envelope [][]byte) (spend.Pending, error) {
	_, _, turn, err := schemas.PeekEpoch(envelope[0])
	if err != nil {
		return nil, err
	}
	_, n, err := h.ledger.Read(shard, 0)
	if err != nil {
		return nil, err
	}
	if err := h.put(lengthName(shard, turn), n); err != nil {
		return nil, err
	}
	return h.engine.Spend(ctx, shard, envelope)
}

func lengthName(shard int, turn uint64) string { return fmt.Sprintf("ledger-%d-%d", shard, turn) }

// shopReleaser publishes into files.
type shopReleaser struct{ folder }

func (h shopReleaser) Open(context.Context) (transforms.Releaser, error) {
	return release.New(release.Options{
		Metrics: shopMetrics(), Ending: shopWindows, Incarnation: shopIncarnation, Noise: shopNoise,
		Counts: schemas.CountsEncoding{Format: schemas.CountsJSON}, Publisher: h,
	})
}

// Acquire implements release.Publisher: put itself compares with what is there.
func (h shopReleaser) Acquire(_ context.Context, shard int, _ int64, _ uint64, _ func(uint64, []byte, []byte) error) (release.CountsWriter, error) {
	return shopCounts{h.folder, shard}, nil
}

type shopCounts struct {
	folder
	shard int
}

// Append implements release.CountsWriter.
func (c shopCounts) Append(_ context.Context, turn uint64, records []release.Record) func(context.Context) (int64, error) {
	var values []schemas.Release
	for _, r := range records {
		values = append(values, r.Release)
	}
	return func(context.Context) (int64, error) { return 0, c.put(releasedName(turn, c.shard), values) }
}

func releasedName(turn uint64, shard int) string { return fmt.Sprintf("released-%d-%d", turn, shard) }

type shopSettler struct{ folder }

func (h shopSettler) Open(context.Context) (transforms.Settler, error) {
	return release.NewSettler(shopMetrics(), h.folder)
}
