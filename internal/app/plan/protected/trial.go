package protected

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Bounds are what a trial is of: of each user so many keys in a window, so many events with each
// key, and a budget that pays for so many such windows.
type Bounds struct {
	Window             time.Duration
	Keys, Events, Last int
}

// worst is the most that one user adds to all counts.
func (b Bounds) worst() float64 { return float64(b.Keys) * float64(b.Events) * float64(b.Last) }

// trial asks how many events a setting would show: over all counts, what lies above the noise.
type trial struct {
	Bounds
	limit int64 // the most that one user adds to the answer, in fine events
	noise int64 // what is taken from each count, in fine events
}

const (
	// fine events are fractions: a user with more events than the limit counts for the limit, each
	// event for a part.
	fine = 1 << 10
	// steps are in how many an answer counts the most of one user.
	steps = 64
)

// answer is the exact answer to a trial, by count. It never leaves this package.
type answer struct {
	trial
	counts []int64 // fine events, by the number of a cell
}

// value is Σ max(0, count − noise) in units of limit/steps. A user adds at most limit to all counts
// together, and so moves the sum by at most limit, and its rounded quotient by at most steps.
func (a *answer) value() int64 {
	sum := new(big.Int)
	for _, n := range a.counts {
		if n > a.noise {
			sum.Add(sum, big.NewInt(n-a.noise))
		}
	}
	sum.Mul(sum, big.NewInt(steps))
	return sum.Div(sum, big.NewInt(a.limit)).Int64()
}

// part is what one user did with a key in a window of some size.
type part struct {
	window int64
	rank   uint64 // the least ones of a window are counted
	key    string
	events int64
}

// parts are what one user did in windows of a size that is so many steps, by window and rank. A
// rank depends on nothing but user and key: no user's contributions depend on another user.
func (d *done) parts(hash int64, many int64) []part {
	out := make([]part, 0, len(d.cells))
	for c, n := range d.cells {
		h := fnv.New64a()
		h.Write([]byte(c.key))
		out = append(out, part{sample.Floor(c.window, many), sample.Mix(uint64(hash) ^ h.Sum64()), c.key, int64(min(n, 1<<20))})
	}
	slices.SortFunc(out, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.window, b.window), cmp.Compare(a.rank, b.rank), cmp.Compare(a.key, b.key))
	})
	n := 0
	for _, p := range out {
		if n > 0 && out[n-1].window == p.window && out[n-1].key == p.key {
			out[n-1].events += p.events
			continue
		}
		out[n] = p
		n++
	}
	return out[:n]
}

// clip calls add with what counts of a user's parts, as the product would count it at its least
// noise: of each window the keys of the least rank, and windows in their order as long as the
// user's budget pays for them. Fine events; together at most the limit.
func (t *trial) clip(parts []part, add func(at int, fine int64)) {
	kept := make([]int64, len(parts))
	most, pairs := float64(t.Keys)*float64(t.Events)*float64(t.Events)*float64(t.Last), float64(t.Keys)*float64(t.Last)
	spent, named, all := 0.0, 0.0, int64(0)
	for from := 0; from < len(parts); {
		end, cost, sum := from, 0.0, int64(0)
		for ; end < len(parts) && parts[end].window == parts[from].window; end++ {
			if end-from < t.Keys {
				kept[end] = min(parts[end].events, int64(t.Events))
				cost += float64(kept[end]) * float64(kept[end])
				sum += kept[end]
			}
		}
		keys := float64(min(end-from, t.Keys))
		if spent+cost > most || named+keys > pairs {
			clear(kept[from:end])
		} else {
			spent, named, all = spent+cost, named+keys, all+sum
		}
		from = end
	}
	for at, n := range kept {
		if n *= fine; all*fine > t.limit {
			n = int64(float64(n) * (float64(t.limit) / float64(all*fine)) * (1 - 1e-9)) // never above it together
		}
		if n > 0 {
			add(at, n)
		}
	}
}

// try answers trials exactly, in one pass over the events.
func (c *Choice) try(trials []trial) ([]int64, error) {
	sorted, err := c.sorter.Sorted()
	if err != nil {
		return nil, fmt.Errorf("trying settings: %w", err)
	}
	type where struct {
		window int64
		key    string
	}
	answers, cells := make([]answer, len(trials)), map[time.Duration]map[where]int{}
	for i, t := range trials {
		answers[i].trial = t
		if cells[t.Window] == nil {
			cells[t.Window] = map[where]int{}
		}
	}
	err = individuals(sorted, cmp.Or(c.o.mostCells, mostCells), c.o.Values, func(did *done, hash int64) error {
		for size, known := range cells {
			parts := did.parts(hash, int64(size/c.o.Window))
			for i := range answers {
				a := &answers[i]
				if a.Window != size {
					continue
				}
				a.clip(parts, func(at int, n int64) {
					w := where{parts[at].window, parts[at].key}
					cell, some := known[w]
					if !some {
						cell = len(known)
						known[w] = cell
					}
					for len(a.counts) <= cell {
						a.counts = append(a.counts, 0)
					}
					a.counts[cell] += n
				})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(trials))
	for i := range answers {
		out[i] = answers[i].value()
	}
	return out, nil
}

// rowsOf are the borders of the rows of numbers, and of a user's events in all.
var (
	rowsOf   = []int{1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 1000}
	rowsOfID = []int{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536}
)

// habits counts users by their events in all, and for each size by their usual keys in a window,
// events of a key, and windows. Every user is in one row of each table.
func (c *Choice) habits(sizes []time.Duration) ([][]int64, error) {
	tables := [][]int64{make([]int64, len(rowsOfID))}
	for range 3 * len(sizes) {
		tables = append(tables, make([]int64, len(rowsOf)))
	}
	sorted, err := c.sorter.Sorted()
	if err != nil {
		return nil, fmt.Errorf("looking at users one by one: %w", err)
	}
	return tables, individuals(sorted, cmp.Or(c.o.mostCells, mostCells), c.o.Values, func(did *done, hash int64) error {
		all := 0.0
		for _, n := range did.cells {
			all += float64(min(n, 1<<20))
		}
		tables[0][row(rowsOfID, all)]++
		for i, size := range sizes {
			for j, v := range habit(did.parts(hash, int64(size/c.o.Window))) {
				tables[1+3*i+j][row(rowsOf, v)]++
			}
		}
		return nil
	})
}

// habit is how many keys a user has in a window, and events of each key in a window, as means over
// the user's events, and in how many windows.
func habit(parts []part) [3]float64 {
	all, squares, products, windows := 0.0, 0.0, 0.0, 0.0
	for from := 0; from < len(parts); {
		end, sum := from, 0.0
		for ; end < len(parts) && parts[end].window == parts[from].window; end++ {
			n := float64(parts[end].events)
			sum += n
			squares += n * n
		}
		all, products, windows = all+sum, products+sum*float64(end-from), windows+1
		from = end
	}
	return [3]float64{products / all, squares / all, windows}
}

// asker releases exact numbers, each batch with noise of its own.
type asker struct {
	c  *Choice
	id [32]byte
	n  int // batches so far
}

// ask adds noise of a precision to numbers: exactly Gaussian, from the noise key, the
// batch and the numbers themselves.
func (a *asker) ask(u units.Precision, numbers []int64) ([]float64, error) {
	plan, err := once(u, nil)
	if err != nil {
		return nil, err
	}
	a.n++
	batch := secret.Keyed(a.c.o.Key.Secret.Reveal(), "tollgate plan trial v1", a.id[:], fmt.Append(nil, a.n, u), fmt.Append(nil, numbers))
	noise := noisereduction.NoiseKey{ID: a.c.o.Key.ID, Secret: secret.New(secret.Keyed(a.c.o.Key.Secret.Reveal(), "tollgate plan noise key v1"))}
	out := make([]float64, len(numbers))
	for i, n := range numbers {
		got, err := plan.Release(noise, noisereduction.Identity{Incarnation: [16]byte(batch[:16]), MetricDigest: sha256.Sum256([]byte("tollgate plan trial")), Key: fmt.Append(nil, i)}, n)
		if err != nil {
			return nil, err
		}
		out[i] = math.Ldexp(float64(got.Value), -10)
	}
	return out, nil
}

// paid returns the precision of a number that one user moves by at most so much, where the part
// that pays for it is so many of all shares.
func (o *Options) paid(shares, all, by uint64) (units.Precision, error) {
	cost := new(big.Int).Lsh(new(big.Int).SetUint64(uint64(o.Budget.Planned.Mu2)), 40)
	cost.Mul(cost, new(big.Int).SetUint64(shares))
	cost.Div(cost, new(big.Int).SetUint64(all*by*by))
	u, err := units.PrecisionFromBig(cost)
	if err == nil && u.IsZero() {
		err = fmt.Errorf("choosing bounds with %v of the budget: %w", o.Budget.Planned.Share, ErrTooLittle)
	}
	return u, err
}
