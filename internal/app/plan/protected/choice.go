package protected

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// MostKeys is how many keys of an individual are counted in the table of keys.
const MostKeys = 4

// Options are the arguments of a choice. They are public.
type Options struct {
	Window     time.Duration
	From, To   int64          // the range of times, [From, To), Unix milliseconds; 0: no limit
	Budget     budgets.Budget // its planned part is what is spent
	PublicKeys []string       // nil: keys are private, and a table of them is made
	Values     bool           // whether a table of values is made
	Read       string         // names the source, the format and all else that decides which events there are
	Key        noisereduction.NoiseKey
	TempDir    string // for what does not fit memory
	Memory     int    // bytes; 0: the default of package eventfile

	mostCells int // 0: the constant
}

// ErrTooLittle says that the planned part of the budget pays for nothing.
var ErrTooLittle = errors.New("the planned part of the budget is too small")

// Choice takes events, in any order. Not for concurrent use. Close it.
type Choice struct {
	o       Options
	prices  prices
	sorter  *eventfile.Sorter
	hashKey secret.Of[[32]byte]
	public  map[string]bool
	buffer  []byte
}

// prices are what the tables cost, in account units, and the precision that this buys.
type prices struct {
	shape, windows, keys, values units.Precision // keys: of one key
	deltaKey                     units.Delta
}

// New checks the options. Its errors are ErrTooLittle and sample.ErrTooManyWindows, or name
// an invalid option.
func New(o Options) (*Choice, error) {
	if o.Window < time.Millisecond {
		return nil, fmt.Errorf("choosing bounds for windows of %s: at least 1ms", o.Window)
	}
	if n := o.windows(); n > sample.MostWindows {
		return nil, fmt.Errorf("choosing bounds for %d windows of %s: %w", n, o.Window, sample.ErrTooManyWindows)
	}
	c := &Choice{o: o, sorter: eventfile.NewSorter(o.TempDir, o.Memory), hashKey: secret.New(secret.Keyed(o.Key.Secret.Reveal(), "tollgate plan order of users v1"))}
	var err error
	if c.prices, err = o.prices(); err != nil {
		return nil, err
	}
	if o.PublicKeys != nil {
		c.public = map[string]bool{}
		for _, k := range o.PublicKeys {
			c.public[k] = true
		}
	}
	return c, nil
}

// prices divides the planned part into shares: 3 for the table of keys and events, 1 for that of
// windows, 1 for that of keys, and 1 for that of values, where there are these.
func (o *Options) prices() (p prices, err error) {
	total := uint64(o.Budget.Planned.Mu2)
	private := o.PublicKeys == nil
	shares, perKey, values := uint64(4), uint64(0), uint64(0)
	if private {
		shares++
	}
	if o.Values {
		shares++
	}
	share := total / shares
	if private {
		perKey = share / MostKeys
	}
	if o.Values {
		values = share
	}
	for _, v := range []struct {
		to   *units.Precision
		cost uint64
	}{{&p.shape, 3 * share}, {&p.windows, share}, {&p.keys, perKey}, {&p.values, values}} {
		if *v.to, err = units.PrecisionFromBig(new(big.Int).Lsh(new(big.Int).SetUint64(v.cost), 40)); err != nil {
			return p, fmt.Errorf("choosing bounds: %w", err)
		}
	}
	if p.shape.IsZero() || p.windows.IsZero() || private && p.keys.IsZero() || o.Values && p.values.IsZero() {
		return p, fmt.Errorf("choosing bounds with %v of the budget: %w", o.Budget.Planned.Share, ErrTooLittle)
	}
	if private {
		d := o.Budget.Planned.Keys.Big()
		if p.deltaKey, err = units.DeltaFromBig(d.Div(d, big.NewInt(MostKeys))); err != nil {
			return p, fmt.Errorf("choosing bounds: %w", err)
		}
		if p.deltaKey.IsZero() {
			return p, fmt.Errorf("choosing bounds with %v of the δ of keys: %w", o.Budget.Planned.Share, ErrTooLittle)
		}
	}
	return p, nil
}

// Add adds an event; it keeps no reference to user and key. It ignores events outside the range, of
// keys that are not on a given list of public keys. It uses the value only if the options ask for a
// table of values.
func (c *Choice) Add(user, key []byte, millis, value int64) error {
	if c.o.From != 0 && millis < c.o.From || c.o.To != 0 && millis >= c.o.To || c.public != nil && !c.public[string(key)] {
		return nil
	}
	order := c.hashKey.Reveal()
	h := hmac.New(sha256.New, order[:])
	h.Write(user)
	hash := h.Sum(nil)
	if !c.o.Values {
		value = 0
	}
	c.buffer = encode(c.buffer, user, key, sample.Floor(millis, c.o.Window.Milliseconds()), value)
	return c.sorter.Add(eventfile.Entry{Millis: int64(binary.BigEndian.Uint64(hash) >> 1), Value: slices.Clone(c.buffer)})
}

// Close frees what sorting took.
func (c *Choice) Close() error { return c.sorter.Close() }

// arguments returns a hash under the noise key of all options and of the layout of the tables. It
// does not depend on the data, and does not reveal the options.
func (c *Choice) arguments() ([32]byte, error) {
	encoded, err := json.Marshal(struct {
		Window, Period, From, To int64 // Period is 0: a demo promises a user, for life
		Budget                   budgets.Budget
		PublicKeys               []string
		Read                     string
		Values                   bool
		Layout                   []any
	}{c.o.Window.Milliseconds(), 0, c.o.From, c.o.To, c.o.Budget, c.o.PublicKeys, c.o.Read, c.o.Values,
		[]any{keyRows, eventRows, windowRows, valueRows, MostKeys}})
	if err != nil {
		return [32]byte{}, fmt.Errorf("naming a choice of bounds: %w", err)
	}
	return secret.Keyed(c.o.Key.Secret.Reveal(), "tollgate plan arguments v2", encoded), nil
}

// tables are exact: they never leave this package.
type tables struct {
	shape   [][]int64 // by row of keys and row of events
	windows []int64
	values  []int64 // by row; nil without values
	keys    map[string]int64
}

func (c *Choice) tables() (*tables, error) {
	t := &tables{shape: make([][]int64, len(keyRows)), windows: make([]int64, len(windowRows)), keys: map[string]int64{}}
	for i := range t.shape {
		t.shape[i] = make([]int64, len(eventRows))
	}
	if c.o.Values {
		t.values = make([]int64, valueRows)
	}
	sorted, err := c.sorter.Sorted()
	if err != nil {
		return nil, fmt.Errorf("choosing bounds: %w", err)
	}
	return t, individuals(sorted, cmp.Or(c.o.mostCells, mostCells), c.o.Values, func(did *done, _ int64) error {
		u := usualOf(did)
		t.shape[row(keyRows, u.keys)][row(eventRows, u.events)]++
		t.windows[row(windowRows, float64(u.windows))]++
		if t.values != nil {
			t.values[u.value]++
		}
		if c.public == nil {
			for _, k := range u.frequent {
				t.keys[k]++
			}
		}
		return nil
	})
}
