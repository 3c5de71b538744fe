package release

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// quantilesOf returns quantiles of values from low to high. The noise of a node has a standard
// deviation of at least sigma; within is the error of a rank that is asked for.
func quantilesOf(t testing.TB, low, high int64, ranks []int64, within, sigma float64) []schemas.MetricSpec {
	t.Helper()
	return withTree(t, metrickind.Quantiles, "quantile_nodes", low, high, nil, ranks, within, sigma)
}

// withTree returns a metric of a kind with a tree, its statistics and, last, its nodes. The
// statistics are quantiles of ranks, or the shares of the buckets between edges, each followed by
// the share below it.
func withTree(t testing.TB, kind, nodesKind string, low, high int64, edges, ranks []int64,
	within, sigma float64) []schemas.MetricSpec {
	t.Helper()
	precision := func(sigma float64) units.Precision {
		return must.Have(units.PrecisionFromSigma(sigma))
	}
	m := schemas.MetricSpec{Name: "m", Kind: kind, WindowSize: 1000, WindowSlide: 1000, MaxKeysPerUser: 1,
		MaxEventsPerKey: 2, Min: low, Max: high, LadderKind: "adaptive", First: precision(1 << 12 * sigma),
		Top: precision(sigma * math.Sqrt(metrickind.NodesFiner)), Confidence: 0.95, KeyMode: schemas.KeysPublic}
	part := func(name, kind string) schemas.MetricSpec {
		share := m
		share.Name, share.Kind, share.Of, share.KeyMode, share.KeysFrom = name, kind, "m", schemas.KeysFrom, "m"
		share.LadderKind, share.LadderFactor = "geometric", 2
		return share
	}
	nodes := part("m.nodes", nodesKind)
	nodes.PublicKeys = schemas.EdgeKeys(edges)
	var err error
	if nodes.Top, err = units.PrecisionFromBig(new(big.Int).Mul(m.Top.Big(), big.NewInt(metrickind.NodesFiner))); err !=
		nil {
		t.Fatal(err)
	}
	nodes.First = nodes.Top
	var specs []schemas.MetricSpec
	add := func(least, most int64) {
		share := part(fmt.Sprint("m.", least, ".", most), metrickind.Of(kind).Tree.Statistic)
		share.Min, share.Max, share.Absolute = least, most, within
		specs = append(specs, share)
	}
	for _, rank := range ranks {
		add(0, rank)
	}
	for i := 1; i < len(edges); i++ {
		add(edges[i-1], edges[i])
		add(edges[0], edges[i])
	}
	if within > 0 {
		m.Relative = metrickind.Of(kind).Tree.Aim(scaleOf(t, &nodes), ranks, within, m.Confidence)
	}
	return append(append([]schemas.MetricSpec{m}, specs...), nodes)
}

// scaleOf returns the scale of the definition of nodes.
func scaleOf(t testing.TB, nodes *schemas.MetricSpec) *metrickind.Scale {
	t.Helper()
	return must.Have(nodes.Scale())
}

// searched releases a metric's quantiles of cells that all have the same values.
func searched(t testing.TB, r *Releaser, specs []schemas.MetricSpec, values map[int64]int64, cells int,
	prefix string) []task {
	t.Helper()
	nodes := uint32(len(specs) - 1)
	leaves, all := map[metrickind.Node]int64{}, int64(0)
	for v, n := range values {
		leaves[scaleOf(t, &specs[len(specs)-1]).Leaf(v)] += n
		all += n
	}
	tasks, counts := make([]task, cells), make([]cellCount, 0, cells*len(leaves))
	order := slices.Sorted(maps.Keys(leaves))
	for i := range tasks { // all keys have the same length, so that the counts are in order
		c := cellID{End: 1000, Key: fmt.Sprintf("%s%06d", prefix, i)}
		tasks[i] = task{cellID: c, turn: 1, count: all}
		for _, leaf := range order {
			counts = append(counts, cellCount{cellID: cellID{Metric: nodes, End: 1000,
				Key: string(schemas.NodeKey([]byte(c.Key), leaf))}, Sum: leaves[leaf]})
		}
	}
	must.Succeed(t, r.ladders.refineAll(tasks))
	must.Have(r.ladders.computeAllStatistics(tasks, counts))
	return tasks
}

// places returns how many values lie below v, and how many at most at v, as parts of all.
func places(values map[int64]int64, v float64) (below, upTo float64) {
	all := 0.0
	for value, n := range values {
		all += float64(n)
		if float64(value) < v {
			below += float64(n)
		}
		if float64(value) <= v {
			upTo += float64(n)
		}
	}
	return below / all, upTo / all
}

// shapesOfValues are laws of values from 0 to 1,000,000, by name.
var shapesOfValues = map[string]func(u float64) int64{
	"even":        func(u float64) int64 { return int64(u * 1_000_000) },
	"one value":   func(float64) int64 { return 333_333 },
	"two ends":    func(u float64) int64 { return int64(math.Round(u)) * 1_000_000 },
	"long tail":   func(u float64) int64 { return int64(math.Min(1_000_000, 300*math.Pow(1-u, -1.2))) },
	"few numbers": func(u float64) int64 { return int64(u*7) * 100_000 },
}

func valuesOf(shape func(u float64) int64, events int64) map[int64]int64 {
	values := map[int64]int64{}
	for i := range events {
		values[shape((float64(i)+0.5)/float64(events))]++
	}
	return values
}

// With 200 cells each (TOLLGATE_CELLS=10000 for more), intervals at 95% hold the quantile in 95%,
// and at most 5% of all values claim to have met the target but have a greater rank error:
// whatever the law of the values. A rate of exactly 5% would fail with a probability below 1e-6.
func TestIntervalsOfQuantilesHold(t *testing.T) {
	long.Test(t)
	cells := 200
	if n, err := strconv.Atoi(os.Getenv("TOLLGATE_CELLS")); err == nil {
		cells = n
	}
	ranks := []int64{500_000, 950_000, 990_000}
	allowed := float64(cells)*0.05 + 5*math.Sqrt(float64(cells)*0.05*0.95)
	rng := rand.New(runseed.PCG(t, 3, 1937))
	all, missing := 0, 0
	for name, shape := range shapesOfValues {
		for _, events := range []int64{40, 1000, 30_000} {
			values := valuesOf(shape, events)
			for _, c := range []struct {
				scale  string
				within float64
			}{{"quantile_nodes", 0}, {"quantile_nodes", 0.05}, {"quantile_log_nodes", 0}} {
				within := c.within
				specs := withTree(t, metrickind.Quantiles, c.scale, 0, 1_000_000, nil, ranks, within, 3)
				tasks := searched(t, releaserOf(t, specs, rng), specs, values, cells, "k")
				for j, rank := range ranks {
					q := float64(rank) / metrickind.RankUnit
					missed, lied, met, wrong, width := 0, 0, 0, 0.0, 0.0
					for i := range tasks {
						s := tasks[i].statistics[j]
						_, upToLow := places(values, s.value.Low-1)
						_, upToHigh := places(values, s.value.High)
						if upToLow >= q || upToHigh < q { // the quantile is the least v with upTo ≥ q
							missed++
						}
						below, upTo := places(values, float64(s.value.Value)/1024)
						off := max(0, below-q, q-upTo)
						wrong += off
						width += s.value.High - s.value.Low
						if s.met {
							met++
							if off > within+1e-9 {
								lied++
							}
						}
					}
					all, missing = all+cells, missing+missed
					t.Logf("%s: %11s, %5d events, p%v, target %v: %.1f%% of intervals miss, mean rank error %.4f, "+
						"mean width %.0f, %d%% met, %.1f%% wrongly",
						c.scale, name, events, 100*q, within, 100*float64(missed)/float64(cells), wrong/float64(cells),
						width/float64(cells), 100*met/cells, 100*float64(lied)/float64(cells))
					if float64(missed) > allowed || float64(lied) > allowed {
						t.Errorf("%s, %d events, rank %d, target %v: %d of %d intervals miss, %d met values are wrong",
							name, events, rank, within, missed, cells, lied)
					}
				}
			}
		}
	}
	t.Logf("%d of %d intervals miss", missing, all)
}

// A settlement names only nodes whose children were drawn for a rank: the root, and on each further
// level one node for each rank and at most two for the ends of its interval; if all values are
// equal, a single node.
func TestOnlyNodesOnTheWayOfARankAreDrawn(t *testing.T) {
	specs := quantilesOf(t, 0, 1_000_000, []int64{100_000, 500_000, 900_000}, 0, 3)
	r := releaserOf(t, specs, rand.New(runseed.PCG(t, 3, 8)))
	for name, shape := range shapesOfValues {
		cell := cellID{End: 1000, Key: "k"}
		tasks := []task{{cellID: cell, turn: 1}}
		values := valuesOf(shape, 10_000)
		var counts []cellCount
		for v, n := range values {
			counts = append(counts, cellCount{cellID: cellID{Metric: uint32(len(specs) - 1), End: 1000,
				Key: string(schemas.NodeKey([]byte("k"), scaleOf(t, &specs[len(specs)-1]).Leaf(v)))}, Sum: n})
			tasks[0].count += n
		}
		slices.SortFunc(counts, func(a, b cellCount) int { return a.Compare(b.cellID) })
		must.Succeed(t, r.ladders.refineAll(tasks))
		settled := must.Have(r.ladders.computeAllStatistics(tasks, counts))
		byLevel := map[int]int{}
		for _, k := range settled {
			_, node, ok := schemas.SplitNodeKey(k.Key)
			if !ok || k.Precision != settled[0].Precision {
				t.Fatalf("%s: settled %q at %v", name, k.Key, k.Precision)
			}
			level := 0
			for ; node > metrickind.Root; node = node.Parent() {
				level++
			}
			byLevel[level]++
		}
		for level := range 5 {
			most := 3 * 3
			if level == 0 || name == "one value" {
				most = 1
			}
			if n := byLevel[level]; n < 1 || n > most {
				t.Errorf("%s: %d nodes of level %d were split", name, n, level)
			}
		}
	}
}

// Counts beyond what can be released are clamped: then no interval is known, and nothing is met.
func TestQuantilesOfClampedCountsSayNothing(t *testing.T) {
	specs := quantilesOf(t, 0, 1_000_000, []int64{500_000}, 0.05, 3)
	r := releaserOf(t, specs, rand.New(runseed.PCG(t, 3, 9)))
	tasks := []task{{cellID: cellID{End: 1000, Key: "k"}, turn: 1, count: noisereduction.MaxCount}}
	counts := []cellCount{}
	for _, v := range []int64{10, 999_990} {
		counts = append(counts,
			cellCount{
				cellID: cellID{Metric: uint32(len(specs) - 1), End: 1000,
					Key: string(schemas.NodeKey([]byte("k"), scaleOf(t, &specs[len(specs)-1]).Leaf(v)))},
				Sum: noisereduction.MaxCount})
	}
	must.Succeed(t, r.ladders.refineAll(tasks))
	must.Have(r.ladders.computeAllStatistics(tasks, counts))
	if s := tasks[0].statistics[0]; s.met || s.value.Low != 0 || s.value.High != 1_000_000 {
		t.Errorf("met %v, from %v to %v", s.met, s.value.Low, s.value.High)
	}
	// One event less is not clamped, which noise hides nearly always.
	const cells = 100
	beyond := 0
	for _, one := range searched(t, r, specs, map[int64]int64{10: noisereduction.MaxCount - 1}, cells, "k") {
		if s := one.statistics[0]; !s.met && s.value.Low == 0 && s.value.High == 1_000_000 {
			beyond++
		}
	}
	if beyond < cells/2 {
		t.Errorf("%d of %d cells say that their counts may have been clamped: the exact count decides", beyond, cells)
	}
}

// Users pay for the settled nodes. So all quantiles, their intervals, and whether they are met must
// follow from the draws of these nodes alone, and need each of them. Some nodes are drawn for the
// end of an interval alone: the test counts them.
func TestQuantilesFollowFromSettledNodesAlone(t *testing.T) {
	ranks := []int64{100_000, 500_000, 950_000}
	rng := rand.New(runseed.PCG(t, 3, 10))
	forEnds := map[string]int{} // by scale
	for name, shape := range shapesOfValues {
		for _, c := range []struct {
			scale  string
			within float64
		}{{"quantile_nodes", 0}, {"quantile_nodes", 0.05}, {"quantile_log_nodes", 0}, {"quantile_log_nodes", 0.05}} {
			within := c.within
			specs := withTree(t, metrickind.Quantiles, c.scale, 0, 1_000_000, nil, ranks, within, 3)
			r, metric := releaserOf(t, specs, rng), uint32(len(specs)-1)
			tasks, counts := []task{{cellID: cellID{End: 1000, Key: "k"}, turn: 1, count: 10_000}}, []cellCount{}
			var leaves []leaf
			for v, n := range valuesOf(shape, 10_000) {
				leaves = append(leaves, leaf{scaleOf(t, &specs[len(specs)-1]).Leaf(v), n})
			}
			slices.SortFunc(leaves, func(a, b leaf) int { return int(a.node) - int(b.node) })
			for _, l := range leaves {
				counts = append(counts, cellCount{cellID: cellID{Metric: metric, End: 1000,
					Key: string(schemas.NodeKey([]byte("k"), l.node))}, Sum: l.count})
			}
			must.Succeed(t, r.ladders.refineAll(tasks))
			settled := must.Have(r.ladders.computeAllStatistics(tasks, counts))
			paid := map[metrickind.Node]units.Precision{}
			for _, k := range settled {
				_, node, _ := schemas.SplitNodeKey(k.Key)
				paid[node] = k.Precision
			}
			n := nodes{ladders: &r.ladders, cell: tasks[0].cellID, precision: paid[metrickind.Root],
				scale: scaleOf(t, &specs[len(specs)-1]), leaves: leaves}
			n.cell.Metric = metric
			needed := map[metrickind.Node]bool{}
			again := metrickind.Search{Scale: n.scale,
				Draw: func(parent metrickind.Node) ([metrickind.Branching]*big.Int, error) {
					if needed[parent] = true; paid[parent] != n.precision {
						t.Errorf("%s: %s, target %v: the children of node %d were drawn and are not settled", c.scale,
							name, within, parent)
					}
					return n.children(parent)
				}}
			must.Succeed(t, n.begin(&again, r.ladders.trees[0].width, tasks[0].result.Value))
			ways := map[metrickind.Node]bool{}
			for j, s := range tasks[0].statistics {
				value, met, err := again.Quantile(ranks[j], int64(within*metrickind.RankUnit))
				if err != nil || value != s.value || met != s.met {
					t.Errorf("%s: %s, target %v, rank %d: %v, %v, and %v, %v was released (%v)", c.scale, name, within,
						ranks[j], value, met, s.value, s.met, err)
				}
				for node := n.scale.Leaf(min(1_000_000, value.Value>>10)).Parent(); node > 0; node = node.Parent() {
					ways[node] = true
				}
			}
			if len(needed) != len(paid) {
				t.Errorf("%s: %s, target %v: %d nodes are settled, %d are needed", c.scale, name, within, len(paid),
					len(needed))
			}
			forEnds[c.scale] += max(0, len(paid)-len(ways))
		}
	}
	if forEnds["quantile_nodes"] == 0 {
		t.Error("no node was drawn for the end of an interval alone")
	}
	t.Logf("nodes drawn for ends of intervals alone: %v", forEnds)
}

// A private key below its threshold has no statistics, and none of its nodes is settled. Keys that
// are prefixes of others, the empty key, and the longest one keep trees of their own: every key
// has another median.
func TestRuleNoNodeOfAKeyBelowItsThresholdIsDrawn(t *testing.T) {
	specs := quantilesOf(t, 0, 1_000_000, []int64{500_000}, 0, 3)
	var err error
	specs[0].KeyMode, specs[0].First = schemas.KeysPrivate, specs[0].Top
	if specs[0].DeltaKey, err = units.DeltaFromFloat(1e-6); err != nil {
		t.Fatal(err)
	}
	r, nodesAt := releaserOf(t, specs, rand.New(runseed.PCG(t, 3, 11))), uint32(len(specs)-1)
	r.ladders.windows = func(uint64) []schemas.MetricWindow { return []schemas.MetricWindow{{WindowEnd: 1000}} }
	released := map[string]int64{"": 100_000, "a": 200_000, "ab": 300_000,
		strings.Repeat("a", schemas.MaxKeyBytes): 400_000, "b": 500_000}
	few := []string{"aa", "aab", "c", strings.Repeat("a", schemas.MaxKeyBytes-1)}
	partials := partialGroup{{Turn: 1, ReleaseShards: 1}, {Turn: 1, ReleaseShards: 1}}
	add := func(shard int, key string, value, n int64) {
		leaf := schemas.NodeKey([]byte(key), scaleOf(t, &specs[len(specs)-1]).Leaf(value))
		partials[shard].Cells = append(partials[shard].Cells, schemas.Cell{WindowEnd: 1000, Key: []byte(key), Count: n},
			schemas.Cell{Metric: nodesAt, WindowEnd: 1000, Key: leaf, Count: n})
	}
	for key, value := range released {
		add(0, key, value, 600)
		add(1, key, value+1, 400)
	}
	for i, key := range few {
		add(i%2, key, 900_000, 1)
	}
	releases, settled, err := r.ladders.releaseShard(0, partials)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, v := range releases {
		want, there := released[v.Key]
		if seen[v.Metric+"|"+v.Key]++; !there {
			t.Errorf("%s of %.9q is released", v.Metric, v.Key)
		} else if v.Metric != "m" && math.Abs(float64(v.Value)/1024-float64(want)) > 100 {
			t.Errorf("the median of %.9q is %v, want %d", v.Key, float64(v.Value)/1024, want)
		}
	}
	roots := 0
	for _, k := range settled {
		key := k.Key
		if k.Metric == nodesAt {
			cellKey, node, ok := schemas.SplitNodeKey(k.Key)
			if key = cellKey; !ok || node == metrickind.Root {
				roots++
			}
		}
		if _, there := released[string(key)]; !there {
			t.Errorf("metric %d has settled %.9q", k.Metric, key)
		}
	}
	if len(seen) != 2*len(released) || len(releases) != len(seen) || roots != len(released) {
		t.Errorf("%d values and %d trees of %d keys", len(releases), roots, len(released))
	}
}
