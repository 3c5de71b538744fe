package protected

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
)

// Bounds are what a trial is of: of each user so many keys in a window, so many events with each
// key, and a budget that pays for so many such windows.
type Bounds struct {
	Window             time.Duration
	Keys, Events, Last int
}

// worst is the most that one user adds to all counts.
func (b Bounds) worst() float64 { return float64(b.Keys) * float64(b.Events) * float64(b.Last) }

// fine events are fractions: a user with more events than the limit counts for the limit, each
// event for a part.
const fine = 1 << 10

// trial asks what is counted well with some bounds.
type trial struct {
	Bounds
	noise int64 // what is taken from each count, in fine events
}

// part is what one user did with a key in a window: its cell.
type part struct {
	cell   int32
	events int32
}

// turn is a window of a user: where its parts end, those with the least ranks first.
type turn struct{ end int32 }

// grouped is what users did in windows of one size.
type grouped struct {
	parts []part
	turns []turn
	users []member
	cells int
}

// member is a user: where its turns end, and how many events it has in all.
type member struct {
	end    int32
	events int64
}

// act is what one user did with a key in one of the smallest windows. A rank depends on nothing but
// user and key: no user's contributions depend on another user.
type act struct {
	window int64
	rank   uint64
	key    int32
	events int32
}

// people holds the acts of users, one after the other.
type people struct {
	acts []act
	ends []int
}

// gather reads the users whose hashes are among the first part of all.
func (c *Choice) gather(rate float64) (*people, error) {
	sorted, err := c.sorter.Sorted()
	if err != nil {
		return nil, fmt.Errorf("trying settings: %w", err)
	}
	p, keys := &people{}, map[string]int32{}
	names := []uint64{} // hashes of keys
	err = individuals(sorted, cmp.Or(c.o.mostCells, mostCells), c.o.Values, func(did *done, hash int64) error {
		if rate < 1 && float64(hash) >= rate*math.MaxInt64 {
			return nil
		}
		for c, n := range did.cells {
			key, known := keys[c.key]
			if !known {
				h := fnv.New64a()
				h.Write([]byte(c.key))
				key = int32(len(names))
				keys[c.key], names = key, append(names, h.Sum64())
			}
			p.acts = append(p.acts, act{c.window, sample.Mix(uint64(hash) ^ names[key]), key, int32(min(n, 1<<20))})
		}
		p.ends = append(p.ends, len(p.acts))
		return nil
	})
	return p, err
}

// group adds the acts of each user up to windows that are so many of the smallest.
func (p *people) group(many int64) *grouped {
	c := &grouped{}
	type where struct {
		window int64
		key    int32
	}
	numbers := map[where]int32{}
	var own []act
	from := 0
	for _, end := range p.ends {
		own = append(own[:0], p.acts[from:end]...)
		from = end
		for i := range own {
			own[i].window = sample.Floor(own[i].window, many)
		}
		slices.SortFunc(own, func(a, b act) int {
			return cmp.Or(cmp.Compare(a.window, b.window), cmp.Compare(a.rank, b.rank), cmp.Compare(a.key, b.key))
		})
		all := int64(0)
		for i, a := range own {
			all += int64(a.events)
			if i > 0 && own[i-1].window == a.window && own[i-1].key == a.key {
				last := &c.parts[len(c.parts)-1].events
				*last = int32(min(int64(*last)+int64(a.events), math.MaxInt32))
				continue
			}
			if i > 0 && own[i-1].window != a.window {
				c.turns = append(c.turns, turn{int32(len(c.parts))})
			}
			w := where{a.window, a.key}
			number, known := numbers[w]
			if !known {
				number = int32(len(numbers))
				numbers[w] = number
			}
			c.parts = append(c.parts, part{number, a.events})
		}
		c.turns = append(c.turns, turn{int32(len(c.parts))})
		c.users = append(c.users, member{int32(len(c.turns)), all})
	}
	c.cells = len(numbers)
	return c
}

// scaled is a number of events of a user with so many, in fine events: together at most the limit.
func scaled(n, all, limit int64) int64 {
	if all*fine <= limit {
		return n * fine
	}
	return int64(float64(n) / float64(all) * float64(limit) * (1 - 1e-9)) // rounded down: never above it together
}

// real is what there is to count in each cell, in fine events.
func (c *grouped) real(limit int64) []int64 {
	out := make([]int64, c.cells)
	from := int32(0)
	for i, u := range c.users {
		end := c.turns[u.end-1].end
		for _, p := range c.parts[from:end] {
			out[p.cell] += scaled(int64(p.events), c.users[i].events, limit)
		}
		from = end
	}
	return out
}

// counted adds what counts with some bounds to each cell, as the product would count it at its
// least
// noise: of each window the keys of the least rank, and windows in their order as long as the
// user's budget pays for them. For each user and cell it is at most what real has.
func (c *grouped) counted(t *trial, limit int64, out []int64) {
	most, pairs := float64(t.Keys)*float64(t.Events)*float64(t.Events)*float64(t.Last), float64(t.Keys)*float64(t.Last)
	at, w := int32(0), int32(0)
	for _, u := range c.users {
		spent, named := 0.0, 0.0
		for ; w < u.end; w++ {
			end := c.turns[w].end
			stay := min(end, at+int32(min(t.Keys, math.MaxInt32/2)))
			cost := 0.0
			for _, p := range c.parts[at:stay] {
				n := float64(min(int64(p.events), int64(t.Events)))
				cost += n * n
			}
			if keys := float64(stay - at); spent+cost <= most && named+keys <= pairs {
				spent, named = spent+cost, named+keys
				for _, p := range c.parts[at:stay] {
					out[p.cell] += scaled(min(int64(p.events), int64(t.Events)), u.events, limit)
				}
			}
			at = end
		}
	}
}

// scale is in how many parts a score divides a fine event.
const scale = 20

// score is Σ max(0, scale·(counted − noise) − none·real) over all cells: a cell adds to it as
// far as
// more than the part none/scale of it is counted, beyond the noise. One user adds r to what is real
// of a cell, and between 0 and r to what is counted, where the sum of all r is at most the limit.
// So a term moves by −none·r to (scale − none)·r, the score by −none·limit to (scale − none)·limit,
// and the difference of two scores by at most scale·limit.
func score(t *trial, real, counted []int64, none int64) (sum int64) {
	for cell, n := range counted {
		if v := scale*(n-t.noise) - none*real[cell]; v > 0 {
			sum += v
		}
	}
	return sum
}

// apart is the most by which a user who counts for so many events moves the difference of two
// scores.
func apart(limit int64) float64 { return float64(scale * limit * fine) }

// try returns the exact scores of trials: no user moves any of them by more than the limit.
func (p *people) try(step time.Duration, trials []trial, limit, none int64) []int64 {
	of := map[time.Duration][]int{}
	for i, t := range trials {
		of[t.Window] = append(of[t.Window], i)
	}
	scores := make([]int64, len(trials))
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for size, which := range of {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			c := p.group(int64(size / step))
			real, counted := c.real(limit), make([]int64, c.cells)
			for _, i := range which {
				clear(counted)
				c.counted(&trials[i], limit, counted)
				scores[i] = score(&trials[i], real, counted, none)
			}
		})
	}
	wait.Wait()
	return scores
}

// rowsOfID are the borders of the rows of a user's events in all.
var rowsOfID = []int{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536}

// habits counts users by their events in all: every user is in one row.
func (c *Choice) habits() ([]int64, error) {
	table := make([]int64, len(rowsOfID))
	return table, c.totals(func(all int64) { table[row(rowsOfID, float64(all))]++ })
}

// extent is Σ min(events of a user, most), in units of most/steps; a user adds at most steps.
func (c *Choice) extent(most int64) (sum int64, err error) {
	return sum, c.totals(func(all int64) { sum += min(all, most) * steps / most })
}

// totals calls fn with the number of each user's events.
func (c *Choice) totals(fn func(all int64)) error {
	sorted, err := c.sorter.Sorted()
	if err != nil {
		return fmt.Errorf("looking at users one by one: %w", err)
	}
	return individuals(sorted, cmp.Or(c.o.mostCells, mostCells), c.o.Values, func(did *done, _ int64) error {
		all := int64(0)
		for _, n := range did.cells {
			all += int64(min(n, 1<<20))
		}
		fn(all)
		return nil
	})
}
