package integration

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// base is the start of the tests' event time. Windows of all sizes begin there.
var base = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// arrival is a record for the events topic.
type arrival struct {
	user  string
	stamp int64 // Kafka timestamp, Unix milliseconds
	value []byte
}

// workload describes a stream of events: Users visit Pages over Windows windows of Window length.
type workload struct {
	Seed    uint64
	Users   int
	Pages   int
	Windows int
	Window  time.Duration
	Events  int           // on average, per window
	Disturb time.Duration // greatest distance of event times before record timestamps
	Broken  int           // percentage of dead letters
	Late    int           // percentage of late records
	Past    int           // percentage of records before the start
	Future  int           // percentage of records far ahead of their timestamps
	Bought  bool          // records also have an amount and a category
}

// arrivals returns the stream, ordered by record timestamp.
func (w workload) arrivals() []arrival {
	random := rand.New(rand.NewPCG(runseed.Shared(w.Seed), 0x746f6c6c67617465))
	span := int64(w.Windows) * w.Window.Milliseconds()
	users := rand.NewZipf(random, 1.2, 4, uint64(w.Users-1))
	pages := rand.NewZipf(random, 1.3, 2, uint64(w.Pages-1))
	var all []arrival
	for range w.Windows * w.Events {
		stamp := base.UnixMilli() + random.Int64N(span)
		user, page := fmt.Sprintf("u%04d", users.Uint64()), fmt.Sprintf("p%02d", pages.Uint64())
		all = append(all, w.arrival(random, user, page, stamp))
	}
	sortByStamp(all)
	return all
}

func sortByStamp(arrivals []arrival) {
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return cmp.Compare(a.stamp, b.stamp) })
}

func (w workload) arrival(random *rand.Rand, user, page string, stamp int64) arrival {
	millis := stamp
	if w.Disturb > 0 {
		millis -= random.Int64N(w.Disturb.Milliseconds())
	}
	millis = max(millis, base.UnixMilli())
	switch dice := random.IntN(100); {
	case dice < w.Broken:
		return arrival{user, stamp, brokenValue(random, user)}
	case dice < w.Broken+w.Late:
		millis = max(base.UnixMilli(), stamp-10*w.Window.Milliseconds())
	case dice < w.Broken+w.Late+w.Past:
		millis = base.UnixMilli() - 1 - random.Int64N(100_000)
	case dice < w.Broken+w.Late+w.Past+w.Future:
		millis = stamp + 100*w.Window.Milliseconds()
	}
	if w.Bought {
		return bought(user, page, stamp, millis, random.Int64N(41)-10, categories[random.IntN(len(categories))])
	}
	return goodEvent(user, page, stamp, millis)
}

// categories of the records that have one.
var categories = [...]string{"book", "game", "toy"}

// bought returns a valid record with an amount and a category.
func bought(user, page string, stamp, millis, amount int64, category string) arrival {
	value := fmt.Appendf(nil, `{"user":%q,"page":%q,"ts":%d,"amount":%d,"item":{"category":%q,"gift":%v}}`,
		user, page, millis, amount, category, amount%3 == 0)
	return arrival{user, stamp, value}
}

// goodEvent returns a valid record.
func goodEvent(user, page string, stamp, millis int64) arrival {
	return arrival{user, stamp, fmt.Appendf(nil, `{"user":%q,"page":%q,"ts":%d}`, user, page, millis)}
}

// visit returns a valid record whose timestamp is its event time, after base.
func visit(user, page string, after time.Duration) arrival {
	millis := base.Add(after).UnixMilli()
	return goodEvent(user, page, millis, millis)
}

func brokenValue(random *rand.Rand, user string) []byte {
	switch random.IntN(7) {
	case 6:
		return fmt.Appendf(nil, `{"user":%q,"page":"p00","ts":%d,"amount":1.5}`, user, base.UnixMilli()-1)
	case 0:
		return []byte("{not json")
	case 1:
		return []byte(`{"page":"p00","ts":1}`)
	case 2:
		return fmt.Appendf(nil, `{"user":null,"page":"p00","ts":%d}`, base.UnixMilli())
	case 3:
		return fmt.Appendf(nil, `{"user":"","page":"p00","ts":%d}`, base.UnixMilli())
	case 4:
		return fmt.Appendf(nil, `{"user":%q,"page":"p00","ts":"noon"}`, user)
	}
	return nil
}

// spread distributes arrivals over partitions by user, as a producer with keys does.
func spread(arrivals []arrival, partitions int) [][]arrival {
	out := make([][]arrival, partitions)
	for _, a := range arrivals {
		h := fnv.New32a()
		_, _ = h.Write([]byte(a.user))
		p := int(h.Sum32() % uint32(partitions))
		out[p] = append(out[p], a)
	}
	return out
}

// scatter distributes arrivals over partitions at random, and keeps their order.
func scatter(arrivals []arrival, partitions int, seed uint64) [][]arrival {
	random := rand.New(rand.NewPCG(runseed.Shared(seed), 1))
	out := make([][]arrival, partitions)
	for _, a := range arrivals {
		p := random.IntN(partitions)
		out[p] = append(out[p], a)
	}
	return out
}
