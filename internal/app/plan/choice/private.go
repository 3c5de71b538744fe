package choice

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Private holds the arguments of a choice that users pay for. All except the key are public.
type Private struct {
	Sizes   []time.Duration // window sizes to choose from, ascending; a single size is not chosen but used
	Given   Setting         // Noise and Lasts are chosen if they are 0
	Compile Compile         // must not depend on the data
	Budget  budgets.Budget  // the choice spends its planned part
	Kind    metrickind.Kind
	Range   bool   // whether the range of values is also chosen
	Read    string // identifies the source, the format and everything else that determines the events
	Key     noisereduction.NoiseKey
}

// Found is the protected result of a choice.
type Found struct {
	Setting
	Users, UsersDeviation float64 // noisy number of users
	Few                   bool    // there are too few users for a choice: the setting does not depend on the data
	Useful                bool    // at least about two thirds of the large cells' amount exceed the noise
}

// allParts is the sum of the costs of all decisions.
const allParts = 22

// The decisions of a choice. docs/guarantee.md, section 10, derives a user's influence on them.
var (
	usersDecision   = decision{2, 1}
	lengthDecision  = decision{2, width(lengthHolds, lengthHolds)}
	settingDecision = decision{12, width(64, 64-16*large)}
	useDecision     = decision{4, max(64-useful, 64-16*large+useful)*steps/64 + 1}
	valuesDecision  = decision{2, 1}
)

const (
	whole = 1 << 20 // maximum contribution of one user to all cells
	steps = 32      // number of steps by which that contribution changes a score
	// Large cells exceed the size s for which Σ max(0, cell − s) is large/4 of the countable
	// amount.
	large = 3
	// In a score, the part of that sum that exceeds the noise counts half beyond the limit enough.
	// If that part exceeds the limit useful, the setting is useful. Both limits are in 64ths of the
	// countable amount.
	enough, useful = 40, 29
	lengthHolds    = 54 // part of the users' events that a horizon must contain, in 64ths
	// aboveNoise is the number of deviations of the noise that is subtracted from a count. It is
	// more than the typical error, because a private key must exceed a threshold.
	aboveNoise = 1.5
	// longer is the additional share of the large cells' amount that windows of twice the size must
	// show to be chosen; beyond is added if fewer than four of these fit into the horizon.
	longer, beyond = .03, .02
	limitCost      = 100 // cost of each unit of the limit on a user's amount: the noise grows with the limit
	mostWindows    = 400 // maximum number of windows in a horizon if their size is chosen
	rows           = 28  // rows of users by their amount, in powers of 2
	visible        = 3.5 // least number of deviations with which a row's number is not taken for noise
)

// lengths are the possible horizons.
var lengths = func() (all []time.Duration) {
	for _, days := range []float64{.25, .5, 1, 2, 4, 7, 14, 30, 60, 120, 180, 365, 730, 1460, 2920, 5840, 11680,
		23360} {
		all = append(all, time.Duration(days*float64(day)))
	}
	return all
}()

// chooser holds the state of a choice. All its numbers except the events are released.
type chooser struct {
	*Private
	*drawer
	events       *Events
	limit        float64 // maximum counted amount of one user
	counts       float64 // amount of all users that counts under the limit
	countedShare float64 // counts as a share of the whole amount
	found        *Found
}

// Choose chooses the horizon, the window and the noise. The choice protects each user with all
// events, not for each period. Use a noise key for one choice only. Errors: ErrTooLittle.
func (e *Events) Choose(p Private) (*Found, error) {
	arguments, err := json.Marshal([]any{p.Sizes, p.Given, p.Given.Lasts, p.Budget, p.Kind.Name, p.Range, p.Read,
		e.from, e.to})
	if err != nil {
		return nil, fmt.Errorf("naming a choice: %w", err)
	}
	c := &chooser{Private: &p, events: e, found: &Found{Setting: p.Given}, drawer: &drawer{key: p.Key,
		planned: p.Budget.Planned.Mu2}}
	c.arguments = secret.HMAC(p.Key.Secret.Reveal(), "tollgate choice arguments v1", arguments)
	if err := c.countUsers(); err != nil {
		return nil, err
	}
	if p.Range {
		if err := c.chooseRange(); err != nil {
			return nil, err
		}
	}
	if c.found.Few {
		return c.found, c.chooseUsual()
	}
	if p.Given.Lasts == 0 {
		if err := c.chooseLength(); err != nil {
			return nil, err
		}
	}
	return c.found, c.chooseSetting()
}

// countUsers counts users by their amount. From the noisy table it derives the number of users and
// the limit on the amount of one user.
func (c *chooser) countUsers() error {
	table, err := c.table()
	if err != nil {
		return err
	}
	noisy, deviation, err := c.noisy(table)
	if err != nil {
		return err
	}
	f, all := c.found, 0.0
	f.UsersDeviation = deviation
	clearHidden(noisy, visible*deviation)
	for i, n := range noisy {
		f.Users += n
		all += n * inRow(i)
	}
	best := 0.0
	for half := range 2 * rows {
		limit := math.Exp2(float64(half) / 2)
		counted := 0.0
		for i, n := range noisy {
			counted += n * min(limit, inRow(i))
		}
		if worth := counted - limitCost*limit; worth > best {
			best, c.limit, c.counts, c.countedShare = worth, limit, counted, counted/all
		}
	}
	f.Few = best == 0
	return nil
}

// table counts users by their amount. Each user is in exactly one row.
func (c *chooser) table() (exact, error) {
	table := make([]int64, rows)
	return exact{usersDecision, table}, c.events.each(func(events []record, _ float64) (bool, error) {
		table[min(rows, bits.Len64(c.amount(events)))-1]++
		return true, nil
	})
}

// clearHidden clears the rows of a noisy table with a number below least. It also clears all rows
// that are separated from the greatest row by at least two such rows: a visible row that far away
// is likely noise, and would suggest users with huge amounts.
func clearHidden(noisy []float64, least float64) {
	top := 0
	for i, n := range noisy {
		if n > noisy[top] {
			top = i
		}
	}
	for _, step := range []int{-1, 1} {
		for i, hidden := top, 0; i >= 0 && i < len(noisy); i += step {
			if noisy[i] < least || hidden > 1 {
				noisy[i] = 0
				hidden++
			}
		}
	}
}

// inRow returns the middle amount of a row.
func inRow(row int) float64 { return 1.5*math.Exp2(float64(row)) - .5 }

// amount returns a user's countable amount, which is at least 1.
func (c *chooser) amount(events []record) uint64 {
	if !c.Kind.Sums() {
		return uint64(len(events))
	}
	sum := uint64(1)
	for _, r := range events {
		size := uint64(r.value)
		if r.value < 0 {
			size = -size
		}
		sum += min(size, math.MaxInt64-sum)
	}
	return sum
}

// chooseUsual chooses a usual setting that does not depend on the data. It is called if there are
// too few users for a choice.
func (c *chooser) chooseUsual() error {
	f := c.found
	f.Window = c.Sizes[0]
	for _, size := range c.Sizes {
		if size <= day {
			f.Window = size
		}
	}
	f.Lasts = cmp.Or(f.Lasts, max(365*day, 4*f.Window))
	if f.Noise == 0 {
		all, err := grid(c.Compile, f.Setting, 1<<10, 1<<10, gridStep)
		if err != nil {
			return err
		}
		f.Noise = all[min(4, len(all)-1)].Noise
	}
	return nil
}

// chooseLength chooses the shortest horizon that contains nearly all events of nearly all users.
func (c *chooser) chooseLength() error {
	scores, err := c.scoreLengths()
	if err != nil {
		return err
	}
	picked, err := c.pick(scores)
	c.found.Lasts = lengths[picked]
	return err
}

// scoreLengths returns the score of each horizon at its best position in time.
func (c *chooser) scoreLengths() (exact, error) {
	held := make([]map[int64]int64, len(lengths))
	for i := range held {
		held[i] = map[int64]int64{}
	}
	n := int64(0)
	err := c.events.each(func(events []record, _ float64) (bool, error) {
		n += whole
		for i, length := range lengths {
			step := length.Milliseconds() / eighths
			for rest := events; len(rest) > 0; {
				part, same := floor(rest[0].millis, step), 1
				for same < len(rest) && floor(rest[same].millis, step) == part {
					same++
				}
				held[i][part] += whole * int64(same) / int64(len(events))
				rest = rest[same:]
			}
		}
		return true, nil
	})
	if err != nil {
		return exact{}, err
	}
	scores, before := make([]int64, len(lengths)), int64(0)
	for i := range lengths {
		most := int64(0)
		for part := range held[i] {
			for first := part - eighths + 1; first <= part; first++ {
				sum := int64(0)
				for k := range int64(eighths) {
					sum += held[i][first+k]
				}
				most = max(most, sum)
			}
		}
		scores[i] = score(min(64*most-lengthHolds*n, lengthHolds*n-64*before))
		before = most
	}
	return exact{lengthDecision, scores}, nil
}

// eighths is the number of parts of a horizon. A horizon can begin at the start of any part.
const eighths = 8
