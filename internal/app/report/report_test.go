package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
)

var written = Options{Title: "Page views", Generated: time.Date(2025, 3, 9, 12, 0, 0, 0, time.UTC),
	Source: "topic counts", Notes: []string{"Made up."}}

func render(t testing.TB, s sample, limit int, o Options) string {
	t.Helper()
	c := newCollector(s.promise, limit)
	for _, r := range s.releases {
		c.Add(r)
	}
	var b bytes.Buffer
	must.Succeed(t, c.Write(&b, o))
	return b.String()
}

var dataBlock = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

// block is the data block as a browser would read it.
func block(t testing.TB, html string) (out struct{ Metrics []metricData }) {
	t.Helper()
	if err := json.Unmarshal([]byte(dataBlock.FindStringSubmatch(html)[1]), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// structure returns a page without script and style, its data block a line for each key.
func structure(html string) string {
	html = regexp.MustCompile(`(?s)<style>.*?</style>`).ReplaceAllString(html, "<style>…</style>")
	html = regexp.MustCompile(`(?s)<script>.*?</script>`).ReplaceAllString(html, "<script>…</script>")
	html = regexp.MustCompile(`sha256-.*?&#39;`).ReplaceAllString(html, "sha256-…&#39;")
	return strings.ReplaceAll(html, `{"key":`, "\n"+`{"key":`)
}

func TestPageGolden(t *testing.T) {
	for name, s := range map[string]sample{
		"pages": pages(), "mixed": mixed(), "hostile": hostile(), "empty": {promise: promiseOf(must.Have(compiled()))},
		"quantiles": ranked(3, 500, []string{"a", "b"}, fiveRanks...), "histogram": shares(3, []string{"a", "b"},
			fiveBuckets...),
	} {
		o := written
		switch name {
		case "hostile":
			o.Title, o.Source, o.Notes = hostileTexts[0], hostileTexts[0], hostileTexts
		case "quantiles":
			o.Scope = "in this file"
		}
		golden.File(t, "testdata/"+name+".golden", structure(render(t, s, MaxPoints, o)))
	}
}

// The page of a set of releases does not depend on how they arrive.
func TestTheSameReleasesGiveTheSameBytes(t *testing.T) {
	for name, s := range map[string]sample{"mixed": mixed(), "many": many(20, 60)} {
		for _, limit := range []int{MaxPoints, 300} {
			want := render(t, s, limit, written)
			shuffled := sample{s.promise, slices.Clone(s.releases)}
			rand.New(runseed.PCG(t, 9, 9)).Shuffle(len(s.releases), func(i, j int) {
				shuffled.releases[i], shuffled.releases[j] = shuffled.releases[j], shuffled.releases[i]
			})
			if got := render(t, shuffled, limit, written); got != want {
				t.Errorf("%s, limit %d: another order gives another page", name, limit)
			}
		}
		twice := sample{s.promise, append(slices.Clone(s.releases), s.releases...)}
		if render(t, twice, MaxPoints, written) != render(t, s, MaxPoints, written) {
			t.Errorf("%s: releases that come twice are counted twice", name)
		}
	}
}

// Any key is one string in the data block, which ends where it should.
func TestAnyKeyIsOneString(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.OneOf(rapid.SampledFrom(hostileTexts), rapid.String())
		key, name := part.Draw(rt, "key")+part.Draw(rt, "more"), part.Draw(rt, "metric")
		r := rand.New(runseed.PCG(rt, 1, 1))
		html := render(t, sample{promiseFor(), []schemas.Release{released(r, name, key, monday, hour, 100)}}, MaxPoints,
			Options{})
		m := block(t, html).Metrics
		if len(m) != 1 || m[0].Name != name || len(m[0].Keys) != 1 || m[0].Keys[0].Key != key {
			rt.Fatalf("read back %+v", m)
		}
		if strings.Count(strings.ToLower(html), "<script") != 2 {
			rt.Fatal("another script")
		}
	})
}

func TestColumnsHaveWhatWasReleased(t *testing.T) {
	type id struct {
		metric, key string
		start       int64
	}
	for _, s := range []sample{mixed(), ranked(3, 500, []string{"a", "b"}, fiveRanks...), shares(3, []string{"a", "b"},
		fiveBuckets...)} {
		want := map[id]schemas.Release{}
		for _, r := range s.releases {
			want[id{r.Metric, r.Key, r.WindowStart}] = r
		}
		for _, m := range block(t, render(t, s, MaxPoints, written)).Metrics {
			for _, k := range m.Keys {
				metric, missed := m.Name, flat(k.Missed)
				if m.Parts != nil {
					metric = m.Parts[k.Part].Name
				}
				for i, window := range flat(k.At) {
					name := id{metric, k.Key, m.First + window*m.Step}
					r, ok := want[name]
					low, high := float64(k.Value[i]-k.Below[i])/unit, float64(k.Value[i]+k.Above[i])/unit
					if !ok || r.Value != k.Value[i] || low > r.Low+1e-8 || low < r.Low-2./unit || high < r.High-1e-8 ||
						high > r.High+2./unit ||
						r.Met == slices.Contains(missed, int64(i)) || int64(r.Rungs) != k.Rungs[i] {
						t.Fatalf("%v: value %d, %g to %g, rungs %d; released %+v", name, k.Value[i], low, high,
							k.Rungs[i], r)
					}
					delete(want, name)
				}
			}
		}
		if len(want) > 0 {
			t.Errorf("%d releases are missing", len(want))
		}
	}
}

func flat(r runs) (out []int64) {
	for i := 0; i < len(r); i += 2 {
		for j := range r[i+1] {
			out = append(out, r[i]+j)
		}
	}
	return out
}

func TestAPageThatCannotHaveAllValuesSaysSo(t *testing.T) {
	s := many(20, 60)
	html := render(t, s, 310, written)
	m := block(t, html).Metrics[0]
	if len(m.Keys) != 20 || m.First != monday+45*hour || !slices.Equal(flat(m.Keys[0].At), flat(runs{0, 15})) {
		t.Errorf("%d keys from %d: %v", len(m.Keys), m.First, m.Keys[0].At)
	}
	for _, text := range []string{
		"Charts and table show 300 of 1,200 released values: those of the newest 15 windows.", "<dd>1,200</dd>",
		"<dt>windows</dt><dd>60</dd>",
	} {
		if !strings.Contains(html, text) {
			t.Errorf("the page does not say %q", text)
		}
	}
	one := render(t, s, 7, written)
	m = block(t, one).Metrics[0]
	if len(m.Keys) != 7 || m.Keys[0].Key != "service-000" || !strings.Contains(one, "of the newest window") {
		t.Errorf("of a window that does not fit: %d keys", len(m.Keys))
	}
	if whole := render(t, s, 1200, written); strings.Contains(whole, "Charts and table show") {
		t.Error("a whole page says that it is a part")
	}
}

func TestTwoValuesForOneKeyAreRefused(t *testing.T) {
	s := pages()
	other := s.releases[3]
	other.Value++
	c := newCollector(s.promise, MaxPoints)
	for _, r := range append(s.releases, other) {
		c.Add(r)
	}
	if err := c.Write(io.Discard, Options{}); !errors.Is(err, ErrConflict) {
		t.Errorf("error %v", err)
	}
}

// A reader takes the value of "all together" for the value of all events.
func TestTheEmptyKeyIsAllTogetherOnlyWithoutKeys(t *testing.T) {
	for _, tc := range []struct{ field, want string }{{"key", terminal.EmptyKey}, {"", "all together"}} {
		d := must.Have(compiled())
		d.Config.Events.Format.Key = tc.field
		var b bytes.Buffer
		c := NewCollector(d)
		c.Add(noisy("events", "", 300, 1).releases[0])
		must.Succeed(t, c.Write(&b, written))
		if got := block(t, b.String()).Metrics[0].NoKey; got != tc.want {
			t.Errorf("key field %q: the empty key is called %q", tc.field, got)
		}
	}
}

// The script is small, loads nothing and never sets markup.
func TestTheScriptIsSmallAndKeepsToText(t *testing.T) {
	a, err := fileAssets()
	if err != nil {
		t.Fatal(err)
	}
	live, err := liveAssets()
	if err != nil {
		t.Fatal(err)
	}
	if len(a.script) > 50<<10 || len(live.script) > 54<<10 {
		t.Errorf("the script has %d bytes, that of a page that is served %d", len(a.script), len(live.script))
	}
	const asks, svgSpace = "fetch(location.pathname, ", `"http://www.w3.org/2000/svg"` // a name, not an address
	if strings.Count(live.script, asks) != 1 || strings.Contains(a.script, "fetch") {
		t.Error("a page that is served asks for itself, and no other page asks for anything")
	}
	for _, word := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
		"Function(", "fetch(", "XMLHttpRequest", "import(", "http:", "https:", "//cdn", "@import", "url("} {
		if strings.Contains(a.style+strings.NewReplacer(asks, "", svgSpace, "").Replace(live.script), word) {
			t.Errorf("the page has %q", word)
		}
	}
	entries, err := files.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".js") && !slices.Contains(scripts[:], e.Name()) && e.Name() != "live.js" {
			t.Errorf("page/%s is not on the page", e.Name())
		}
	}
}

// A metric with few values keeps them beside one with many.
func TestRoomIsShared(t *testing.T) {
	s := many(10, 100)
	p := pages()
	s.promise.metrics = append(s.promise.metrics, p.promise.metrics...)
	s.releases = append(s.releases, p.releases...)
	for _, m := range block(t, render(t, s, 400, written)).Metrics {
		n := 0
		for _, k := range m.Keys {
			n += len(k.Value)
		}
		if want := map[string]int{"views": 144, "requests": 250}[m.Name]; n != want {
			t.Errorf("%s: %d values, want %d", m.Name, n, want)
		}
	}
}
