package advice_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
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

// Where all users do the same, the bounds that fit them keep everything and ask for no more, and
// they can take part for as long as they do.
func TestTheBestBoundsAreThoseOfUsersWhoAreAllAlike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ keysOfUser, events int }{{1, 1}, {3, 1}, {1, 2}, {2, 2}} {
		p := answer(t, question(alike(2400, 3, c.keysOfUser, c.events, 4), time.Hour)).Block.Point
		if p.KeysPerUser != c.keysOfUser || p.EventsPerKey != c.events || math.Abs(p.Kept-1) > 1e-9 || math.Abs(p.KeysShown-4) > 1e-9 || p.LeftOut > 0.01 {
			t.Errorf("%+v: %+v", c, p)
		}
	}
}

// Another aim gives more of what it asks for: of keys, and of time, which stays of use.
func TestEachAimIsBestAtWhatItIsFor(t *testing.T) {
	t.Parallel()
	long.Test(t)
	for _, s := range shapes.All()[1:3] {
		points := map[advice.Aim]advice.Point{}
		events := s.Events()
		for _, aim := range advice.Aims() {
			q := question(events, s.Window)
			q.Aim = aim
			points[aim] = answer(t, q).Block.Point
		}
		least, most, long := points[advice.LeastError], points[advice.MostKeys], points[advice.LongestLife]
		if most.KeysShown < least.KeysShown-1 {
			t.Errorf("%s: %.1f keys, with the least error %.1f", s.Name, most.KeysShown, least.KeysShown)
		}
		if long.LastAtLeast < least.LastAtLeast || long.Typical > 1.1*max(0.25, 1.25*least.Typical) {
			t.Errorf("%s: %d windows with an error of %.2g, and %d with %.2g", s.Name, long.LastAtLeast, long.Typical, least.LastAtLeast, least.Typical)
		}
		if least.Typical > most.Typical+0.02 || least.Typical > long.Typical+0.02 {
			t.Errorf("%s: the least error is %.2g, with other aims %.2g and %.2g", s.Name, least.Typical, most.Typical, long.Typical)
		}
	}
}

// The recommended setting is part of a configuration, which is public: nothing of the data is in
// it.
func TestTheRecommendedSettingNamesNothingOfTheData(t *testing.T) {
	t.Parallel()
	q := question(alike(6000, 3, 3, 2, 4), time.Hour)
	q.Accountant, q.KeepTarget, q.Given.Relative = "gdp", true, 0.1
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
	b := answer(t, q).Block
	if !strings.HasPrefix(b.YAML, want) || b.Demo != "" {
		t.Errorf("%s%s", b.YAML, b.Demo)
	}
	for _, raw := range []string{"secret-key", "user-", "6000", "36000", "2025"} {
		if strings.Contains(b.YAML, raw) {
			t.Errorf("%q is in\n%s", raw, b.YAML)
		}
	}
}

// What is given is kept, and no other value is tried; what is not given is chosen beside it.
func TestGivenSettingsAreKept(t *testing.T) {
	t.Parallel()
	q := question(alike(3000, 3, 3, 2, 4), time.Hour)
	q.Given, q.KeepTarget = advice.Setting{Epsilon: 2, KeysPerUser: 2, EventsPerKey: 5, LastAtLeast: 7, Relative: 0.05}, true
	if tried := answer(t, q).Sizes[0].Tried; len(tried) != 1 || tried[0].KeysPerUser != 2 || tried[0].EventsPerKey != 5 || tried[0].LastAtLeast != 7 || tried[0].Epsilon != 2 || tried[0].Relative != 0.05 {
		t.Errorf("%+v", tried)
	}
	q.Given.KeysPerUser = 0
	for _, p := range answer(t, q).Sizes[0].Tried {
		if p.EventsPerKey != 5 || p.LastAtLeast != 7 {
			t.Errorf("%+v", p.Setting)
		}
	}
}

// Of several sizes the one with the least error is taken, not the first.
func TestTheBestOfSeveralSizesIsTaken(t *testing.T) {
	t.Parallel()
	var events []shapes.Event // a public list of keys, of which a minute has next to nothing
	for i := range 4000 {
		events = append(events, shapes.Event{User: fmt.Sprint(i), Key: fmt.Sprint("k", i%4), At: shapes.Start.Add(time.Duration(i) * 20 * time.Second)})
	}
	a := answer(t, question(events, time.Minute, 10*time.Minute, time.Hour, 24*time.Hour))
	if a.Chosen != "1d" || len(a.Sizes) != 4 || a.Block.Point.Typical > 0.1 {
		t.Errorf("%s of %d sizes, typically %v", a.Chosen, len(a.Sizes), a.Block.Point.Typical)
	}
}

// What is said to do for a key does, which asking again with it shows.
func TestWhatAKeyNeedsIsEnough(t *testing.T) {
	t.Parallel()
	var events []shapes.Event // 200 a key and window, of users who come once
	for i := range 24 * 400 {
		events = append(events, shapes.Event{User: fmt.Sprint(i), Key: fmt.Sprint("secret-key-", i%2), At: shapes.Start.Add(time.Duration(i/400) * time.Hour)})
	}
	ask := func(epsilon float64, size time.Duration) *advice.Need {
		q := question(events, time.Hour)
		q.Given = advice.Setting{Epsilon: epsilon, LastAtLeast: 24}
		q.Sizes, q.Key, q.Within = []time.Duration{size}, "secret-key-1", 0.1
		n := answer(t, q).Need
		if n == nil || n.Key != "secret-key-1" || n.Within != 0.1 {
			t.Fatalf("%+v", n)
		}
		return n
	}
	n := ask(0.5, time.Hour)
	if n.Enough() || len(n.Changes) < 2 {
		t.Fatalf("%+v", n)
	}
	for _, c := range n.Changes {
		p := &c.Point
		if p.Epsilon == 0.5 && p.Window == time.Hour || p.LastAtLeast*int(p.Window/time.Hour) < 24 {
			t.Errorf("%s: %+v", c.What, p.Setting)
		}
		if c.Then > 0.1 {
			continue
		}
		if again := ask(p.Epsilon, p.Window); !again.Enough() && again.Changes == nil {
			t.Errorf("%s: asked again: %+v", c.What, again)
		}
	}
}

// Where neither other bounds than the given ones nor a larger ε are of use by themselves, both
// together may be.
func TestWithGivenBoundsALargerEpsilonMayNeedOthers(t *testing.T) {
	t.Parallel()
	q := question(alike(40, 2, 3, 10, 4), time.Hour)
	q.Given = advice.Setting{Epsilon: 1, KeysPerUser: 1, EventsPerKey: 1, LastAtLeast: 2}
	n := answer(t, q).Need
	if n == nil || len(n.Changes) == 0 {
		t.Fatalf("nothing would do: %+v", n)
	}
	for _, c := range n.Changes {
		if c.Then > n.Limit || c.Point.EventsPerKey == 1 || !strings.HasSuffix(c.What, ", and other bounds") {
			t.Errorf("%s: %+v", c.What, c.Point)
		}
	}
}

// Where no key comes out, all events together may; where nothing is of use, and nothing would be,
// that is said.
func TestNothingComesOut(t *testing.T) {
	t.Parallel()
	nothing := func(users int) *advice.Advice {
		var events []shapes.Event
		for u := range users {
			for k := range 3 {
				events = append(events, shapes.Event{User: fmt.Sprint(u), Key: fmt.Sprint("page-", u, "-", k), At: shapes.Start})
			}
		}
		return answer(t, question(events, time.Hour))
	}
	a := nothing(2000)
	if a.Block.Sentence != "nothing would be released" || a.Need == nil || len(a.Need.Changes) != 1 || !a.Need.Changes[0].Point.Together || a.Need.Changes[0].Then > 0.05 {
		t.Errorf("%s, %+v", a.Block.Sentence, a.Need)
	}
	if !strings.HasPrefix(a.Nothing, "at ε = 1 in windows of 1h: a private key is released from about ") || a.Need.Changes[0].Less {
		t.Errorf("%q, %+v", a.Nothing, a.Need)
	}
	if a := nothing(2); a.Need == nil || len(a.Need.Changes) != 0 || a.Nothing == "" {
		t.Errorf("of two users: %q, %+v", a.Nothing, a.Need)
	}
	if a := answer(t, question(alike(6000, 3, 1, 1, 2), time.Hour)); a.Nothing != "" {
		t.Errorf("of use: %q", a.Nothing)
	}
}

// A target that was not asked for is one that most values meet, or none: else they would be said to
// be less exact than asked.
func TestATargetThatIsChosenIsMetByMostValues(t *testing.T) {
	t.Parallel()
	long.Test(t)
	s := shapes.All()[slices.IndexFunc(shapes.All(), func(s shapes.Shape) bool { return s.Name == "rhythm" })]
	q := question(s.Events(), s.Window)
	if p := answer(t, q).Block.Point; p.Shown < 1 || p.Relative > 0 && p.Met < 0.5 {
		t.Errorf("± %v is met by %.2f of %.1f values", p.Relative, p.Met, p.Shown)
	}
	q.Given.Relative, q.KeepTarget = 0.02, true
	q.Given.KeysPerUser, q.Given.EventsPerKey, q.Given.LastAtLeast = 3, 1, 3
	if p := answer(t, q).Block.Point; p.Relative != 0.02 {
		t.Errorf("asked for ± 2 %%, and got ± %v", p.Relative)
	}
}

// Without a size the smallest one is taken that is of use, and where none is, the one with the
// least error.
func TestTheSmallestWindowThatIsOfUse(t *testing.T) {
	t.Parallel()
	if a := answer(t, question(alike(2400, 12, 1, 1, 2))); a.Chosen != "1h" || a.Block.Point.Typical > 0.25 {
		t.Errorf("%s, typically %v", a.Chosen, a.Block.Point.Typical)
	}
	a := answer(t, question(alike(40, 24, 1, 1, 2)))
	if a.Chosen == "1h" || len(a.Sizes) < 2 {
		t.Errorf("%s of %d", a.Chosen, len(a.Sizes))
	}
}

// The same question has the same answer, whatever order forecasts end in.
func TestTheSameQuestionHasTheSameAnswer(t *testing.T) {
	t.Parallel()
	events := alike(1500, 4, 2, 2, 8)
	first, again := answer(t, question(events, time.Hour)), answer(t, question(events, time.Hour))
	for i, p := range first.Sizes[0].Tried {
		if p.Setting != again.Sizes[0].Tried[i].Setting || p.Typical != again.Sizes[0].Tried[i].Typical {
			t.Fatalf("the %d. setting is %+v, and again %+v", i, p.Setting, again.Sizes[0].Tried[i].Setting)
		}
	}
}

func TestNoEventsAndNoPatience(t *testing.T) {
	t.Parallel()
	if _, err := advice.Answer(t.Context(), question(nil, time.Hour)); !errors.Is(err, advice.ErrNothing) {
		t.Errorf("%v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	q := question(alike(2000, 3, 3, 2, 4), time.Hour)
	q.Progress = func(int) { stop() }
	if _, err := advice.Answer(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
