package protected

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"time"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Choose returns the release of a choice with the arguments of c. If the record has one and again
// is false, Choose returns that: it reads no event and charges nothing. Otherwise it calls each,
// which adds the events to c, then charges the choice and releases it. Charge and release are on
// the disk before Choose returns. Several processes may choose at once: for one charge all of them
// return the same release. Errors: ErrBegun, ErrCeiling, ErrOtherUnit, ErrRecord, or those of each
// and of the system.
func Choose(path string, c *Choice, again bool, each func() error) (*Release, error) {
	mine, err := c.entry()
	if err != nil {
		return nil, err
	}
	h, err := open(path)
	if err != nil {
		return nil, err
	}
	if charge := h.last(mine.Arguments); charge == "" || again {
		if err := h.refuses(path, mine); err != nil {
			return nil, err // before the events are read
		}
	} else if h.released[charge].Tables != nil {
		return c.shown(path, charge)
	}
	if err := each(); err != nil {
		return nil, err
	}
	charge, err := pay(path, mine, again)
	if err != nil {
		return nil, err
	}
	if h, err = open(path); err != nil {
		return nil, err
	}
	if h.released[charge].Tables != nil { // by another process, since Choose looked
		return c.shown(path, charge)
	}
	nonce, err := nonceOf(charge)
	if err != nil {
		return nil, err
	}
	r, err := c.Release(nonce)
	if err != nil {
		return nil, err
	}
	tables := &stored{Shape: r.Shape, Windows: r.Windows, Values: r.Values}
	for _, k := range r.Keys {
		tables.Keys = append(tables.Keys, storedKey{[]byte(k.Name), k.Individuals})
	}
	if err := add(path, entry{Released: charge, At: time.Now().UTC().Truncate(time.Second), Tables: tables}); err != nil {
		return nil, err
	}
	return c.shown(path, charge)
}

// shown returns the release that is recorded for a charge: the first one, if several processes
// recorded theirs.
func (c *Choice) shown(path, charge string) (*Release, error) {
	if err := durable(path); err != nil {
		return nil, err
	}
	h, err := open(path)
	if err != nil {
		return nil, err
	}
	e, nonce := h.released[charge], Nonce{}
	if nonce, err = nonceOf(charge); err != nil || e.Tables == nil {
		return nil, fmt.Errorf("reading the release from %s: its line is gone: %w", path, ErrRecord)
	}
	r, err := c.empty(nonce)
	if err != nil {
		return nil, err
	}
	r.Planned = h.planned(c.o.Budget.Whole())
	r.At, r.Shape, r.Windows, r.Values = e.At, e.Tables.Shape, e.Tables.Windows, e.Tables.Values
	for _, k := range e.Tables.Keys {
		r.Keys = append(r.Keys, NamedKey{string(k.Name), k.Individuals})
	}
	return r, nil
}

func nonceOf(charge string) (n Nonce, err error) {
	b, err := hex.DecodeString(charge)
	if err != nil || len(b) != len(n) {
		return n, fmt.Errorf("reading the nonce of a choice of bounds: %w", ErrRecord)
	}
	return Nonce(b), nil
}

// entry returns the charge of a choice, without its nonce.
func (c *Choice) entry() (entry, error) {
	arguments, err := c.arguments()
	if err != nil {
		return entry{}, err
	}
	planned, whole := c.o.Budget.Planned, c.o.Budget.Whole()
	return entry{Arguments: hex.EncodeToString(arguments[:]), Mu2: uint64(planned.Mu2), Keys: planned.Keys.Big(), Share: planned.Share,
		WholeMu2: uint64(whole.Mu2), WholeKeys: whole.Keys.Big(),
		Epsilon: whole.Epsilon, Delta: whole.Delta, Accountant: whole.Accountant, Period: c.o.Period.Milliseconds()}, nil
}

// pay returns the charge that pays for a choice. It takes an earlier charge with the same arguments
// if a process ended before it released anything for that charge, and records a new one otherwise.
func pay(path string, mine entry, again bool) (string, error) {
	h, err := open(path)
	if err != nil {
		return "", err
	}
	if charge := h.last(mine.Arguments); charge != "" && (!again || h.released[charge].Tables == nil) {
		return charge, nil
	}
	if err := h.refuses(path, mine); err != nil {
		return "", err // before it is recorded
	}
	nonce, err := NewNonce()
	if err != nil {
		return "", err
	}
	mine.Choice = hex.EncodeToString(nonce[:])
	if err := add(path, mine); err != nil {
		return "", err
	}
	if h, err = open(path); err != nil { // the order of lines decides who was first
		return "", err
	}
	if void := h.void[mine.Choice]; void != nil {
		return "", fmt.Errorf("charging a choice of bounds on %s: %w", path, void)
	}
	if h.last(mine.Arguments) == "" {
		return "", fmt.Errorf("charging a choice of bounds on %s: its line is gone: %w", path, ErrRecord)
	}
	return mine.Choice, nil
}

// history is what the lines of a record say, in their order. Every process that reads the same
// lines finds the same charges void, and releases nothing for them.
type history struct {
	empty    bool
	charges  []entry          // those that are not void
	void     map[string]error // by charge: why it is void
	released map[string]entry // by charge: its first release
	begun    bool
}

func open(path string) (*history, error) {
	lines, err := read(path)
	if err != nil {
		return nil, err
	}
	h := &history{empty: len(lines) == 0, void: map[string]error{}, released: map[string]entry{}}
	counted := map[string]bool{}
	for _, e := range lines {
		switch {
		case e.Begun != "":
			h.begun = true
		case e.Released != "":
			if h.released[e.Released].Tables == nil {
				h.released[e.Released] = e
			}
		case counted[e.Choice]: // before version 2, two processes could record the same choice
		default:
			counted[e.Choice] = true
			if err := h.voids(e); err != nil {
				h.void[e.Choice] = err
				continue
			}
			h.charges = append(h.charges, e)
		}
	}
	return h, nil
}

// last returns the last charge of a choice with these arguments; "" if there is none.
func (h *history) last(arguments string) (charge string) {
	for _, e := range h.charges {
		if e.Arguments == arguments {
			charge = e.Choice
		}
	}
	return charge
}

func (h *history) refuses(path string, mine entry) error {
	if err := h.voids(mine); err != nil {
		return fmt.Errorf("charging a choice of bounds on %s: %w", path, err)
	}
	return nil
}

// atMost is the part of a promise that choices may spend: a deployment needs the rest.
const atMost = 0.9999

// voids returns why a charge that follows these lines is void, or nil if it counts. All charges of
// a record must have the same unit of privacy, and together cost less than the smallest promise
// that one of them is a share of. A promise that reserves nothing for private keys must hold with
// what is spent on them. Charges of version 1, which checked nothing, count before the beginning of
// a deployment.
func (h *history) voids(e entry) error {
	switch {
	case h.begun:
		return ErrBegun
	case e.Arguments == "":
		return nil
	}
	mu2, keys := sum(append(h.charges[:len(h.charges):len(h.charges)], e))
	var least, leastKeys *big.Int
	broken := false
	for _, c := range append(h.charges[:len(h.charges):len(h.charges)], e) {
		if c.Period != e.Period {
			return fmt.Errorf("%w (first per %s, now per %s)", ErrOtherUnit, unit(c.Period), unit(e.Period))
		}
		whole, wholeKeys := c.whole()
		if least == nil || whole.Cmp(least) < 0 {
			least = whole
		}
		if wholeKeys.Sign() > 0 && (leastKeys == nil || wholeKeys.Cmp(leastKeys) < 0) {
			leastKeys = wholeKeys
		}
		broken = broken || wholeKeys.Sign() == 0 && keys.Sign() > 0 && !c.keptWith(mu2, keys)
	}
	if broken || ratio(mu2, least) >= atMost || leastKeys != nil && ratio(keys, leastKeys) >= atMost {
		before, _ := sum(h.charges)
		return fmt.Errorf("%w: earlier choices have spent %.0f %% of it: spend a smaller share, or choose with another noise key, which makes a separate promise", ErrCeiling, 100*ratio(before, least))
	}
	return nil
}

// sum returns what an individual pays for all charges together.
func sum(charges []entry) (mu2, keys *big.Int) {
	mu2, keys = new(big.Int), new(big.Int)
	for _, e := range charges {
		mu2.Add(mu2, new(big.Int).SetUint64(e.Mu2))
		if e.Keys != nil {
			keys.Add(keys, e.Keys)
		}
	}
	return mu2, keys
}

// keptWith says whether so much can be spent without breaking the promise that a charge is a share
// of. It cannot if the line does not have that promise.
func (e *entry) keptWith(mu2, keys *big.Int) bool {
	delta, err := units.DeltaFromBig(keys)
	return err == nil && mu2.IsUint64() &&
		budgets.DeltaOver(e.Epsilon, e.Accountant, budgets.Budget{Mu2: units.Mu2(mu2.Uint64()), Keys: delta}) <= e.Delta
}

// whole returns the promise that a charge is a share of. Version 1 did not record it: there it
// follows from the share.
func (e *entry) whole() (mu2, keys *big.Int) {
	if e.WholeMu2 != 0 {
		if keys = e.WholeKeys; keys == nil {
			keys = new(big.Int)
		}
		return new(big.Int).SetUint64(e.WholeMu2), keys
	}
	of := func(part *big.Int) *big.Int {
		share := new(big.Rat).SetFloat64(e.Share)
		if share == nil || share.Sign() <= 0 || part == nil {
			return new(big.Int)
		}
		share.Quo(new(big.Rat).SetInt(part), share)
		return new(big.Int).Quo(share.Num(), share.Denom())
	}
	return of(new(big.Int).SetUint64(e.Mu2)), of(e.Keys)
}
