package report

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// liveServer serves a page of the values published so far, as internal/app/serve does.
type liveServer struct {
	t testing.TB

	mu       sync.Mutex
	sample   sample
	page     []byte
	served   Served
	settled  Settled
	due      *Due
	kept     string // {n} is how many releases
	asked    int    // how often it was asked for another page
	answered int    // and had one
}

func (l *liveServer) publish(releases ...schemas.Release) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sample.releases = append(l.sample.releases, releases...)
	c := newCollector(l.sample.promise, MaxPoints)
	for _, r := range l.sample.releases {
		c.Add(r)
	}
	var b bytes.Buffer
	live := Live{Every: 50 * time.Millisecond, Kept: strings.ReplaceAll(l.kept, "{n}",
		strconv.Itoa(len(l.sample.releases))), Due: l.due}
	served, err := c.WriteLive(&b, Options{Title: "Page views", Settled: l.settled}, live)
	if err != nil {
		l.t.Fatal(err)
	}
	l.page, l.served = b.Bytes(), served
}

func (l *liveServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tag := `W/"` + l.served.Version + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Content-Security-Policy", l.served.Policy+"; frame-ancestors 'none'")
	if given := r.Header.Get("If-None-Match"); given != "" {
		l.asked++
		if given == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		l.answered++
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(l.page) //nolint:errcheck // the browser sees it
}

func (l *liveServer) asks(n int) func() bool {
	l.mu.Lock()
	from := l.asked
	l.mu.Unlock()
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.asked >= from+n
	}
}

// pages returns how many pages were sent to one that is open.
func (l *liveServer) pages() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(l.answered)
}

// seen is what a reader of a live page sees.
type seen struct {
	Ready, Errors, Live, Legend, Legends, Keys, Tile, Rows, Text string
	Same                                                         bool // no page was loaded since the first one
	Charts, Wide                                                 float64
}

func look(b *tab) (s seen) {
	b.t.Helper()
	b.eval(`(() => {
		const text = (selector) => [...document.querySelectorAll(selector)].map((e) => e.textContent).join("|");
		window.first ??= document.getElementById("live");
		return {
			ready: document.documentElement.dataset.ready, errors: document.documentElement.dataset.errors,
			live: text("#live"), legend: text(".legend bdi"), keys: text(".keys .full"),
			tile: text(".sum .tiles div:nth-child(2) dd"),
			legends: text("fieldset legend"), rows: text("tbody tr:first-child"), text: document.body.innerText,
			same: window.first === document.getElementById("live"),
			charts: document.querySelectorAll(".picture").length,
			wide: document.documentElement.scrollWidth,
		};
	})()`, &s)
	return s
}

// await waits until a page shows something.
func (l *liveServer) await(b *tab, what string, ok func(seen) bool) seen {
	l.t.Helper()
	var s seen
	await.That(l.t, 30*time.Second, what, func() bool {
		s = look(b)
		return ok(s)
	})
	if s.Errors != "0" || s.Ready != "true" || !s.Same {
		l.t.Errorf("%s: ready %q, %s errors, the page that was loaded first: %t", what, s.Ready, s.Errors, s.Same)
	}
	return s
}

// Values appear on a page that is open, and what its reader has chosen stays.
func TestALivePageTakesInWhatIsPublished(t *testing.T) {
	browser(t)
	all := pages()
	window := func(i int) []schemas.Release { return all.releases[6*i : 6*i+6] }
	due := &Due{Slide: 24 * time.Hour, Wait: 3 * time.Minute, Grid: time.Second, Since: time.Now()}
	l := &liveServer{t: t, sample: sample{promise: all.promise}, due: due, kept: "All {n}."}
	l.publish()
	server := httptest.NewServer(l)
	defer server.Close()
	b := visit(t, server.URL+"/", desktop, "light")
	empty := look(b)
	if empty.Charts != 0 || !strings.Contains(empty.Text, "No value is published yet.") {
		t.Errorf("an empty page: %+v", empty)
	}
	var by, windowEnd time.Time
	for _, now := range []time.Time{time.Now().Add(-time.Minute), time.Now()} { // a day may begin meanwhile
		end := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		by, windowEnd = end.Add(3*time.Minute), end
		if empty.Live == "The first values are due by "+by.Format("2006-01-02 15:04")+" UTC, for the window that "+
			"ends at "+windowEnd.Format("2006-01-02 15:04")+"." {
			by = time.Time{}
			break
		}
	}
	if !by.IsZero() {
		t.Errorf("the first values are due by %s: %q", by, empty.Live)
	}

	l.publish(window(0)[0])
	s := l.await(b, "a chart appears", func(s seen) bool { return s.Charts == 1 })
	if !strings.Contains(s.Text, "All 1.") {
		t.Errorf("the page still says how much the first one had: %q", s.Text)
	}
	if s.Legend != "/home" || s.Tile != "1" {
		t.Errorf("the first value: %+v", s)
	}
	l.publish(window(0)[1:]...)
	l.publish(window(1)...)
	s = l.await(b, "a window of six keys", func(s seen) bool { return s.Tile == "12" })
	if s.Legends != "6 keys, sum of values" || strings.Count(s.Legend, "|") != 4 || !strings.Contains(s.Rows,
		"01:00–02:00") {
		t.Errorf("a second window: %+v", s)
	}

	var ok bool
	b.eval(`(() => {
		[...document.querySelectorAll("button")].find((e) => e.textContent === "1").click();
		const search = document.querySelector("input[type=search]");
		search.value = "c";
		search.dispatchEvent(new Event("input"));
		const scope = document.querySelector("details select");
		scope.value = "all";
		scope.dispatchEvent(new Event("change"));
		document.querySelector(".keys input").focus();
		return true;
	})()`, &ok)
	chosen := look(b)
	for i := 2; i < 12; i++ {
		l.publish(window(i)...)
	}
	s = l.await(b, "ten more windows", func(s seen) bool { return s.Tile == "72" })
	if s.Legend != chosen.Legend || s.Keys != chosen.Keys || !strings.Contains(s.Rows, "00:00–01:00") {
		t.Errorf("what was chosen is gone: %+v, was %+v", s, chosen)
	}
	b.eval(`document.activeElement.matches(".keys input") && +document.querySelector(".picture").dataset.points === 12`,
		&ok)
	if !ok {
		t.Error("the focus is lost, or the chart does not show all windows")
	}

	var before, after float64
	const drawn = `+document.querySelector(".picture").dataset.points`
	b.eval(`(() => { const zoom = document.querySelector("button[title='Zoom in']"); zoom.click(); zoom.click(); `+
		`return `+drawn+`; })()`, &before)
	l.publish(window(12)...)
	l.await(b, "a window beside a part of the chart", func(s seen) bool { return s.Tile == "78" })
	if b.eval(drawn, &after); before >= 12 || after < before-1 || after > before+1 {
		t.Errorf("a chart that showed %g windows shows %g after another one came", before, after)
	}

	// A metric of an earlier configuration: the page has another outline.
	l.publish(schemas.Release{Metric: "old", WindowEnd: hour, Value: unit, Rungs: 1, Confidence: 0.9})
	l.await(b, "another metric", func(s seen) bool { return s.Charts == 2 })
	before = l.pages()
	await.That(t, 30*time.Second, "the page asks on", l.asks(3))
	if l.pages() != before {
		t.Error("a page was sent that the reader has")
	}
	b.call("Log.disable", nil, nil) // which has each failed request
	server.Close()
	l.await(b, "nothing answers", func(s seen) bool {
		return strings.HasPrefix(s.Live, "No answer since ") && strings.Contains(s.Text, "Newest values: ")
	})
	if b.eval(`getComputedStyle(document.querySelector(".when"), "::after").content.includes("out of date")`,
		&ok); !ok {
		t.Error("the values do not look old")
	}
}

// The version of a page follows from what is on it, and nothing else.
func TestTheVersionIsThatOfTheContents(t *testing.T) {
	served := func(s sample, title string) Served {
		c := newCollector(s.promise, MaxPoints)
		for _, r := range s.releases {
			c.Add(r)
		}
		var b bytes.Buffer
		got, err := c.WriteLive(&b, Options{Title: title}, Live{Every: time.Second, Kept: "All."})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), `data-live="1000" data-version="`+got.Version+`"`) ||
			strings.Contains(got.Policy, "unsafe") || !strings.Contains(got.Policy, "connect-src 'self'") {
			t.Errorf("version %q, policy %q", got.Version, got.Policy)
		}
		return got
	}
	s := mixed()
	first := served(s, "a")
	if again := served(sample{s.promise, append(append([]schemas.Release{}, s.releases[100:]...), s.releases[:100]...)},
		"a"); again != first {
		t.Errorf("the same values in another order give %+v, then %+v", first, again)
	}
	other := mixed()
	other.releases[7].Value++
	for name, version := range map[string]string{
		"a value": served(other, "a").Version, "the title": served(s, "b").Version,
		"the promise": served(sample{promiseFor(facts("searches", "events", pipeline.KeysPrivate, hour, hour)),
			s.releases}, "a").Version,
	} {
		if version == first.Version {
			t.Errorf("another version was expected for %s", name)
		}
	}
	if html := render(t, s, MaxPoints, written); strings.Contains(html, "data-live") || strings.Contains(html,
		"connect-src") {
		t.Error("a file asks for something")
	}
}

// Settled windows without values are drawn, counted, and a notice says how many of them are the
// newest ones.
func TestSettledWindowsWithoutValuesAreShown(t *testing.T) {
	all := pages() // of 12 windows from 2025-03-03 00:00
	s := sample{promise: all.promise, releases: all.releases[6:12]}
	c := newCollector(s.promise, MaxPoints)
	for _, r := range s.releases {
		c.Add(r)
	}
	var o Options
	end := func(hour int) time.Time {
		return time.UnixMilli(s.releases[0].WindowEnd).Add(time.Duration(hour) * time.Hour)
	}
	o.Settled.Add(1, end(-1), end(-1))
	o.Settled.Add(1, end(4), end(4))
	released, err := c.points.settle()
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPage(c.promise, released, o)
	if err != nil {
		t.Fatal(err)
	}
	section := p.Sections[0]
	if diff := cmp.Diff(plain("windows", "1 of 6 have values"), section.Tiles[0]); diff != "" ||
		!strings.HasPrefix(section.Silent, "No values in the latest 4 windows, up to ") ||
		!strings.Contains(string(p.Data), `"windows":6,`) {
		t.Errorf("%s%q, %s", diff, section.Silent, p.Data)
	}
	o.Settled.Add(2, end(2), end(2)) // of a later configuration, which may have other metrics
	if p, err = newPage(c.promise, released, o); err != nil || p.Sections[0].Tiles[0].Text != "1 of 3 have values" {
		t.Errorf("%+v, %v", p.Sections[0].Tiles[0], err)
	}
}
