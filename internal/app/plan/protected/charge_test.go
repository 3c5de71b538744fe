package protected

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// The charges of one key leave something of every promise that they were a share of: what goes
// beyond is refused before events are read, and nothing is recorded.
func TestRuleChoicesTogetherStayBelowThePromise(t *testing.T) {
	ofDelta := func(epsilon, delta, deltaKeys, share float64, from int64, public ...string) *Choice {
		b, err := budgets.NewBudget(epsilon, delta, budgets.GDP, deltaKeys)
		if err == nil {
			b, err = b.Plan(share)
		}
		if err != nil {
			t.Fatal(err)
		}
		return choice(t, Options{Window: time.Second, Budget: b, PublicKeys: public, Key: noisereduction.NoiseKey{ID: "1"}, From: from}, population(3))
	}
	ofKeys := func(epsilon, deltaKeys, share float64, from int64, public ...string) *Choice {
		return ofDelta(epsilon, 1e-6, deltaKeys, share, from, public...)
	}
	of := func(epsilon, share float64, from int64, public ...string) *Choice {
		if public != nil {
			return ofKeys(epsilon, 0, share, from, public...)
		}
		return ofKeys(epsilon, 1e-7, share, from)
	}
	for name, tc := range map[string]struct {
		first, second *Choice
		want          error
	}{
		"one promise":              {of(1, .9, -1), of(1, .1, -2), ErrCeiling},
		"one promise, with room":   {of(1, .9, -1), of(1, .0998, -2), nil},
		"a small one after":        {of(8, .1, -1), of(1, .01, -2), ErrCeiling},
		"a small one before":       {of(1, .01, -1), of(8, .1, -2), ErrCeiling},
		"with room in the smaller": {of(1, .5, -1), of(2, .05, -2), nil},
		"a tenth of the δ of keys": {of(1, .5, -1), ofKeys(1, 1e-8, .05, -2), ErrCeiling},
		"with public keys":         {of(1, .9, -1, "k1"), of(1, .2, -2), ErrCeiling},
		"public keys, with room":   {of(1, .5, -1, "k1"), of(1, .4, -2), nil},
		// Nothing is reserved for private keys in (1, 1e-6), and 1e-4 is spent on them.
		"private keys of a larger δ after":  {of(1, .3, -1, "k1"), ofDelta(.7, 1e-2, 1e-3, .1, -2), ErrCeiling},
		"private keys of a larger δ before": {ofDelta(.7, 1e-2, 1e-3, .1, -1), of(1, .3, -2, "k1"), ErrCeiling},
	} {
		path := record1(t)
		if err := charge(path, tc.first); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before, _ := os.ReadFile(path)
		looked := false
		_, err := Choose(path, tc.second, false, func() error { looked = true; return nil })
		if after, _ := os.ReadFile(path); !errors.Is(err, tc.want) || tc.want != nil && (looked || string(after) != string(before)) {
			t.Errorf("%s: %v, events were read: %t", name, err, looked)
		}
	}
	// Several at once: what is shown stays below the promise, in whatever order they come.
	path := record1(t)
	var wait sync.WaitGroup
	charged := make([]error, 8)
	for i := range charged {
		c := of(1, .3, int64(-1-i))
		wait.Go(func() { charged[i] = charge(path, c) })
	}
	wait.Wait()
	shown := 0
	for _, err := range charged {
		if err == nil {
			shown++
		} else if !errors.Is(err, ErrCeiling) {
			t.Fatal(err)
		}
	}
	if shown > 3 {
		t.Errorf("%d choices of 30 %% were shown", shown)
	}
	if err := Begin(path, "d", 0, budget(t, .9001)); err != nil {
		t.Errorf("a deployment that has planned 90 %%: %v", err)
	}
}

// Charges that an earlier version recorded count in full, whatever they come to.
func TestRuleChargesOfAnEarlierVersionCount(t *testing.T) {
	path := record1(t)
	c := choiceOf(t, .3, 0)
	mine, err := c.entry()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"aa", "bb", "cc"} {
		if err := add(path, entry{Choice: name, Mu2: mine.Mu2, Keys: mine.Keys, Share: .3}); err != nil {
			t.Fatal(err)
		}
	}
	if err := charge(path, c); !errors.Is(err, ErrCeiling) {
		t.Errorf("90 %% were spent, and 30 %% are spent: %v", err)
	}
	if err := Begin(path, "d", 0, budget(t, .3)); !errors.Is(err, ErrNotPlanned) || !strings.Contains(err.Error(), "privacy.planned: 0.9") {
		t.Errorf("a deployment that has planned a third of it: %v", err)
	}
	if err := charge(path, choiceOf(t, .05, 0)); err != nil {
		t.Errorf("5 %% of the last 10 %%: %v", err)
	}
}

// A key serves choices for one unit of privacy.
func TestRuleChoicesUnderOneKeyHaveOneUnit(t *testing.T) {
	path := record1(t)
	if err := charge(path, choiceOf(t, .05, 0)); err != nil {
		t.Fatal(err)
	}
	o := Options{Window: time.Second, Period: time.Minute, From: 1, To: 1e6, Budget: budget(t, .05)}
	if err := charge(path, choice(t, o, nil)); !errors.Is(err, ErrOtherUnit) {
		t.Errorf("a choice per minute after one for life: %v", err)
	}
	o.To = 0
	if _, err := New(o); !errors.Is(err, ErrOpenRange) {
		t.Errorf("periods without an end: %v", err)
	}
}

// A choice that was made is shown again: no data are read for it, so that two looks do not tell
// what has changed between them. Choosing again is another choice, with its own noise and price.
func TestRuleAChoiceIsMadeOnce(t *testing.T) {
	path, read := record1(t), 0
	choose := func(again bool, users int) *Release {
		c := choice(t, Options{Window: time.Second, Budget: budget(t, .05), Key: noisereduction.NoiseKey{ID: "1"}}, nil)
		r, err := Choose(path, c, again, func() error {
			read++
			for _, e := range population(users) {
				if err := c.Add([]byte(e.user), []byte(e.key), e.millis, e.value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	same := func(a, b *Release) bool { return cmp.Equal(a, b, cmp.AllowUnexported(Release{}, Options{})) }
	first := choose(false, 3000)
	if len(first.Keys) == 0 {
		t.Fatal("no key came out")
	}
	if !same(first, choose(false, 3001)) {
		t.Error("the same arguments show another release")
	}
	again := choose(true, 3001)
	for i := range first.Windows {
		if first.Windows[i] == again.Windows[i] {
			t.Error("choosing again has the same noise")
		}
	}
	if !same(again, choose(false, 1)) {
		t.Error("what is shown is not the last choice")
	}
	if again.Planned != .1 {
		t.Errorf("two choices of 5 %% need %v", again.Planned)
	}
	if err := Begin(path, "d", 0, budget(t, .0999)); !errors.Is(err, ErrNotPlanned) || !strings.HasSuffix(err.Error(), "privacy.planned: 0.1 or more") {
		t.Errorf("two choices of 5 %%: %v", err)
	}
	if !same(again, choose(false, 1)) {
		t.Error("a choice of before the beginning is not shown again")
	}
	if read != 2 {
		t.Errorf("events were read %d times for two choices", read)
	}
}

// A line of another process can come between the look at the record and the own line: the order
// of the lines decides then, too.
func TestRuleTheOrderOfLinesDecides(t *testing.T) {
	real := fsync
	defer func() { fsync = real }()
	before := func(path string, e entry) { // puts a line above all others once, when the next one is written
		fsync = func(*os.File) error {
			fsync = real
			lines, err := os.ReadFile(path)
			if err = errors.Join(err, os.Remove(path), add(path, e)); err != nil {
				return err
			}
			file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = file.Write(lines)
			return errors.Join(err, file.Close())
		}
	}
	path := record1(t)
	before(path, entry{Begun: "d"})
	if err := charge(path, choiceOf(t, .05, 0)); !errors.Is(err, ErrBegun) {
		t.Errorf("a deployment began before the charge: %v", err)
	}
	path = record1(t)
	other, err := choiceOf(t, .9, -1).entry()
	if err != nil {
		t.Fatal(err)
	}
	other.Choice = "aa"
	before(path, other)
	if err := charge(path, choiceOf(t, .2, 0)); !errors.Is(err, ErrCeiling) {
		t.Errorf("90 %% were spent before the charge: %v", err)
	}
	path = record1(t)
	before(path, other)
	if err := Begin(path, "d", 0, budget(t, .5)); !errors.Is(err, ErrNotPlanned) {
		t.Errorf("90 %% were spent before the beginning: %v", err)
	}
}

// A process that ended between the charge and the release has shown nothing: the next one pays no
// second time. Of two that release for one charge both show the first.
func TestRuleOneChargePaysForOneRelease(t *testing.T) {
	path := record1(t)
	c := choiceOf(t, .05, 0)
	mine, err := c.entry()
	if err != nil {
		t.Fatal(err)
	}
	paid, err := pay(path, mine, false)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	shown := make([]*Release, 6)
	for i := range shown {
		c := choiceOf(t, .05, 0)
		for range i { // the data have changed meanwhile
			if err := c.Add([]byte("x"), []byte("k"), int64(i), 0); err != nil {
				t.Fatal(err)
			}
		}
		wait.Go(func() {
			r, err := Choose(path, c, i%2 == 1, func() error { return nil })
			if err != nil {
				t.Error(err)
			}
			shown[i] = r
		})
	}
	wait.Wait()
	b, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	names := map[[32]byte]*Release{}
	for _, r := range shown {
		r.Planned = 0 // grows with every charge
		if old := names[r.ID]; old != nil && !cmp.Equal(old, r, cmp.AllowUnexported(Release{}, Options{})) {
			t.Error("one charge has two releases")
		}
		names[r.ID] = r
	}
	if len(names) > len(b.charges) || b.charges[0].Choice != paid {
		t.Errorf("%d releases for %d charges", len(names), len(b.charges))
	}
}
