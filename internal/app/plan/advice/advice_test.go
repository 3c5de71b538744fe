package advice_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/internal/testing/shapes"
)

// alike returns events of users who all do the same in every window: as many events for each of as
// many keys, the first ones of their list by turns.
func alike(users, windows, keysOfUser, events, keys int) (all []shapes.Event) {
	for w := range windows {
		for u := range users {
			for k := range keysOfUser {
				for e := range events {
					all = append(all, shapes.Event{
						User: fmt.Sprint("user-", u), Key: fmt.Sprint("secret-key-", (u+k)%keys),
						At: shapes.Start.Add(time.Duration(w)*time.Hour + time.Duration(e)*time.Second),
					})
				}
			}
		}
	}
	return all
}

func answer(t *testing.T, q advice.Question) *advice.Advice {
	t.Helper()
	a, err := advice.Answer(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func block(t *testing.T, a *advice.Advice, goal string) *advice.Block {
	t.Helper()
	for i := range a.Blocks {
		if a.Blocks[i].Goal == goal {
			return &a.Blocks[i]
		}
	}
	t.Fatalf("no block is %s", goal)
	return nil
}

// Where all users do the same, the bounds that fit them keep everything and ask for no more.
func TestTheMostAccurateBoundsAreThoseOfUsersWhoAreAllAlike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ keysOfUser, events int }{{1, 1}, {3, 1}, {1, 2}, {2, 2}} {
		a := answer(t, question(alike(6000, 3, c.keysOfUser, c.events, 4), time.Hour))
		p := &block(t, a, advice.Accurate).Point
		if p.KeysPerUser != c.keysOfUser || p.EventsPerKey != c.events || math.Abs(p.Kept-1) > 1e-9 || math.Abs(p.KeysShown-4) > 1e-9 {
			t.Errorf("%+v: %+v", c, p)
		}
		if p.LastAtLeast < 3 {
			t.Errorf("%+v: users who have 3 windows can take part in %d", c, p.LastAtLeast)
		}
	}
}

// What is left of it is useful, and it lasts at least as long as the accurate one; the block for
// keys shows at least as many.
func TestBlocksAreBestAtWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	for _, s := range shapes.All()[1:4] {
		a := answer(t, question(s.Events(), s.Window))
		accurate, long, wide := block(t, a, advice.Accurate), block(t, a, advice.LongLived), block(t, a, advice.MostKeys)
		if long.Point.LastAtLeast < accurate.Point.LastAtLeast {
			t.Errorf("%s: %+v does not last as long as %+v", s.Name, long.Point, accurate.Point)
		}
		if right := 1 - accurate.Point.Wrong; 1-long.Point.Wrong < 0.75*right {
			t.Errorf("%s: of %.2g that is shown and right, %.2g is left for a long life", s.Name, right, 1-long.Point.Wrong)
		}
		if wide.Point.KeysShown < accurate.Point.KeysShown-1 {
			t.Errorf("%s: %.1f keys, the accurate block %.1f", s.Name, wide.Point.KeysShown, accurate.Point.KeysShown)
		}
		for _, p := range a.Sizes[0].Grid {
			if p.Wrong < accurate.Point.Wrong-0.05 || p.KeysShown > wide.Point.KeysShown+max(2, 0.1*wide.Point.KeysShown) {
				t.Errorf("%s: the grid has a better one: %+v", s.Name, p)
			}
		}
	}
}

// A block is part of a configuration, which is public: nothing of the data is in it.
func TestBlocksNameNothingOfTheData(t *testing.T) {
	t.Parallel()
	q := question(alike(6000, 3, 3, 2, 4), time.Hour)
	q.Accountant = "gdp"
	want := `privacy:
  epsilon: 1
  delta: 1e-6
  accountant: gdp
metrics:
  - name: events
    kind: events
    keys: {mode: private}
    window: {size: 1h}
    bounds: {max_keys_per_user: 3, max_events_per_key: 2}
    target: {relative: 0.1, confidence: 0.95}
    last_at_least: `
	for _, b := range answer(t, q).Blocks {
		if b.Goal == advice.Accurate && !strings.HasPrefix(b.YAML, want) {
			t.Errorf("%s", b.YAML)
		}
		for _, raw := range []string{"secret-key", "user-", "6000", "36000", "2025"} {
			if strings.Contains(b.YAML, raw) {
				t.Errorf("%s: %q is in\n%s", b.Goal, raw, b.YAML)
			}
		}
		if b.Demo != "" {
			t.Errorf("a command without one to begin with: %s", b.Demo)
		}
	}
}

// What is given is kept, and no other value is tried.
func TestGivenSettingsAreKept(t *testing.T) {
	t.Parallel()
	q := question(alike(3000, 3, 3, 2, 4), time.Hour)
	q.Given = advice.Setting{Epsilon: 2, KeysPerUser: 2, EventsPerKey: 5, LastAtLeast: 7}
	q.Demo = "tollgate demo"
	a := answer(t, q)
	if grid := a.Sizes[0].Grid; len(grid) != 1 || grid[0].KeysPerUser != 2 || grid[0].EventsPerKey != 5 || grid[0].LastAtLeast != 7 || grid[0].Epsilon != 2 {
		t.Errorf("%+v", grid)
	}
	for _, b := range a.Blocks {
		if b.Demo != "tollgate demo --window 1h --max-keys-per-user 2 --max-events-per-key 5 --last-at-least 7" || !strings.Contains(b.YAML, "epsilon: 2\n") {
			t.Errorf("%s, %s", b.Demo, b.YAML)
		}
	}
}

// An answer to what a key needs is enough, which asking again with it shows, and little less is
// not.
func TestWhatAKeyNeedsIsEnoughAndNotMuchMore(t *testing.T) {
	t.Parallel()
	var events []shapes.Event // 200 a key and window, of users who come once
	for i := range 24 * 400 {
		events = append(events, shapes.Event{User: fmt.Sprint(i), Key: fmt.Sprint("secret-key-", i%2), At: shapes.Start.Add(time.Duration(i/400) * time.Hour)})
	}
	ask := func(epsilon float64, size time.Duration, last int) *advice.Reverse {
		q := question(events, time.Hour)
		q.Given = advice.Setting{Epsilon: epsilon, KeysPerUser: 1, EventsPerKey: 1, LastAtLeast: last}
		q.Sizes, q.Key, q.Within = []time.Duration{size}, "secret-key-1", 0.1
		a := answer(t, q)
		if len(a.Reverse) != 1 || a.Reverse[0].Key != "secret-key-1" || a.Reverse[0].Within != 0.1 {
			t.Fatalf("%+v", a.Reverse)
		}
		return &a.Reverse[0]
	}
	r := ask(0.5, time.Hour, 24)
	if r.Enough() || len(r.Answers) < 2 {
		t.Fatalf("%+v", r)
	}
	kinds := map[string]bool{}
	for _, c := range r.Answers {
		s := c.Setting
		if c.Share < 0.9 {
			t.Errorf("%s: %.2g of windows", c.What, c.Share)
		}
		if again := ask(s.Epsilon, s.Window, s.LastAtLeast); !again.Enough() {
			t.Errorf("%s: asked again: %+v", c.What, again)
		}
		switch {
		case s.Epsilon != 0.5:
			kinds["ε"] = true
			if less := ask(0.85*s.Epsilon, s.Window, s.LastAtLeast); less.Enough() {
				t.Errorf("%s: 0.85 of it is enough", c.What)
			}
		case s.Window != time.Hour:
			kinds["window"] = true
			if s.Window*time.Duration(s.LastAtLeast) < 24*time.Hour {
				t.Errorf("%s: users take part for less time", c.What)
			}
		case s.LastAtLeast != 24:
			kinds["last"] = true
			if more := ask(s.Epsilon, s.Window, s.LastAtLeast*5/4+1); more.Enough() {
				t.Errorf("%s: longer is enough", c.What)
			}
		}
	}
	if len(kinds) != 3 {
		t.Errorf("%+v", r.Answers)
	}
}

// Without --key the largest key is asked about, and the median one of those that come out.
func TestTheLargestAndTheMedianKeyAreAskedAbout(t *testing.T) {
	t.Parallel()
	s := shapes.All()[1]
	a := answer(t, question(s.Events(), s.Window))
	if len(a.Reverse) != 2 || a.Reverse[0].Key != "k0000" || a.Reverse[1].Key == "k0000" || a.Reverse[0].Within != 0.1 {
		t.Errorf("%+v", a.Reverse)
	}
}

// Where no key comes out, all events together may, and what a block says is that nothing does.
func TestNothingComesOut(t *testing.T) {
	t.Parallel()
	var events []shapes.Event
	for u := range 2000 {
		for k := range 3 {
			events = append(events, shapes.Event{User: fmt.Sprint(u), Key: fmt.Sprint("page-", u, "-", k), At: shapes.Start})
		}
	}
	q := question(events, time.Hour)
	q.Given.LastAtLeast = 1
	a := answer(t, q)
	b := block(t, a, advice.Accurate)
	if !strings.HasPrefix(b.Sentence, "nothing would be released") || len(a.Reverse) != 1 || len(a.Reverse[0].Answers) != 0 ||
		!strings.HasPrefix(a.Reverse[0].Together, "all events together: 6000 of 6000 events") {
		t.Errorf("%s, %+v", b.Sentence, a.Reverse)
	}
}

// Without a size the smallest one is taken that shows half, and larger ones are not tried.
func TestTheSmallestWindowThatShowsHalf(t *testing.T) {
	t.Parallel()
	a := answer(t, question(alike(6000, 12, 1, 1, 2)))
	if a.Chosen != "1h" || len(a.Sizes) != 1 {
		t.Errorf("%s of %d", a.Chosen, len(a.Sizes))
	}
	a = answer(t, question(alike(40, 24, 1, 1, 2)))
	if a.Chosen == "1h" || len(a.Sizes) < 2 {
		t.Errorf("%s of %d", a.Chosen, len(a.Sizes))
	}
}

func TestNoEventsAndNoPatience(t *testing.T) {
	t.Parallel()
	if _, err := advice.Answer(t.Context(), question(nil, time.Hour)); !errors.Is(err, advice.ErrNothing) {
		t.Errorf("%v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	q := question(alike(2000, 3, 3, 2, 4), time.Hour)
	q.Progress = func(done, of int) {
		if done < 1 || done > of {
			t.Errorf("%d of %d", done, of)
		}
		stop()
	}
	if _, err := advice.Answer(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
