package serve

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/tollgate-dp/tollgate/schemas"
)

// A key that was not released in a window, one that never was, and one that was released in other
// windows only: the answers are the same bytes, header and body.
func TestKeysThatWereNotReleasedAnswerAlike(t *testing.T) {
	s := serveValues(t, windows(0, 10))
	const odd = "metric=views&from=2025-03-03T00:01:00Z&to=2025-03-03T00:02:00Z&key="
	var want got
	for i, key := range []string{"cart", "never", "", "home%00", strings.Repeat("x", 2000), "%E2%82%AC"} {
		response := s.get("/v1/releases?" + odd + key)
		response.header.Del("Date")
		if i == 0 {
			want = response
		}
		if response.code != http.StatusOK || response.body != want.body || !maps.EqualFunc(response.header, want.header,
			slices.Equal) {
			t.Errorf("key %.10q answers\n%+v\nand cart\n%+v", key, response, want)
		}
	}
	if want.body != `{"releases":[],"more":false}`+"\n" {
		t.Errorf("the answer is %s", want.body)
	}
	if home := s.get("/v1/releases?" + odd + "home"); !strings.Contains(home.body, `"value":901,`) {
		t.Errorf("a key that was released: %s", home.body)
	}
}

// decoded is a response of /v1/releases.
type decoded struct {
	Releases []struct {
		Metric, Key string
		WindowEnd   time.Time `json:"window_end"`
		Value       float64
	}
	More bool
	Next string
}

func (s *served) releases(query string) (d decoded) {
	s.t.Helper()
	response := s.get("/v1/releases?" + query)
	if err := json.Unmarshal([]byte(response.body), &d); err != nil || response.code != http.StatusOK {
		s.t.Fatalf("%s: %d %s (%v)", query, response.code, response.body, err)
	}
	return d
}

func TestPagesOfReleasesMissNothing(t *testing.T) {
	all := windows(0, 30)
	s := serveValues(t, all[:60])
	for query, want := range map[string]func(*schemas.Release) bool{
		"":                      func(*schemas.Release) bool { return true },
		"metric=views":          func(r *schemas.Release) bool { return r.Metric == "views" },
		"metric=views&key=cart": func(r *schemas.Release) bool { return r.Key == "cart" },
		"metric=visits&key=":    func(r *schemas.Release) bool { return r.Metric == "visits" },
		"from=2025-03-03T00:05:00Z&to=2025-03-03T01:09:00%2B01:00": func(r *schemas.Release) bool {
			return r.WindowEnd > monday+5*minute && r.WindowEnd <= monday+9*minute
		},
	} {
		var expected []string
		for i := range 60 {
			if want(&all[i]) {
				expected = append(expected, fmt.Sprintf("%s/%s/%d", all[i].Metric, all[i].Key, all[i].WindowEnd))
			}
		}
		for _, limit := range []int{1, 7, 1000} {
			var found []string
			after, pages := "", 0
			for more := true; more; pages++ {
				page := s.releases(fmt.Sprintf("%s&limit=%d%s", query, limit, after))
				for _, r := range page.Releases {
					found = append(found, fmt.Sprintf("%s/%s/%d", r.Metric, r.Key, r.WindowEnd.UnixMilli()))
				}
				after, more = "&after="+page.Next, page.More
			}
			if !slices.Equal(found, expected) || pages > len(expected)/limit+1 {
				t.Errorf("%q in pages of %d: %d values on %d pages, want %d", query, limit, len(found), pages,
					len(expected))
			}
		}
	}
	if n := len(s.releases("").Releases); n != 60 {
		t.Errorf("%d values without a limit", n)
	}

	// A program that follows.
	last := s.releases("limit=1000").Next
	if page := s.releases("after=" + last); len(page.Releases) != 0 || page.Next != "" || page.More {
		t.Errorf("after the last value: %+v", page)
	}
	s.show(all[10:])
	if page := s.releases("after=" + last); len(page.Releases) != len(all)-60 {
		t.Errorf("%d new values, want %d", len(page.Releases), len(all)-60)
	}
}

// Whatever a key is, it is one string in an answer, can be asked for, and fits into a cursor.
func TestAnyKeyCanBeAskedFor(t *testing.T) {
	keys := []string{
		"", " ", `"`, `\`, "</script><script>", "a&b=c;d", "+1", "%41", "пример", "\u2028\u202e", "\x00\x1f\x7f",
		"line\r\nbreak", "__proto__", strings.Repeat("\x01", 512),
	}
	slices.Sort(keys)
	var rows []schemas.Release
	for _, key := range keys {
		rows = append(rows, value("views", key, 0, 1))
	}
	s := serveValues(t, rows)
	after := ""
	for i, key := range keys {
		if page := s.releases("metric=views&key=" + url.QueryEscape(key)); len(page.Releases) != 1 ||
			page.Releases[0].Key != key {
			t.Errorf("%q: %+v", key, page)
		}
		page := s.releases("limit=1&metric=views" + after)
		if len(page.Releases) != 1 || page.Releases[0].Key != key || page.More != (i < len(keys)-1) {
			t.Errorf("page %d: %+v, want %q", i, page, key)
		}
		after = "&key=" + url.QueryEscape(key) + "&after=" + page.Next
		if end := s.releases("metric=views" + after); len(end.Releases) != 0 {
			t.Errorf("after %q: %+v", key, end)
		}
		after = "&after=" + page.Next
	}
}

func TestBadQueriesSayWhatToDo(t *testing.T) {
	s := serveValues(t, windows(0, 3))
	for query, want := range map[string]string{
		"from=yesterday":                 "from must be a time such as 2025-03-03T12:00:00Z",
		"to=2025-03-03":                  "to must be a time such as",
		"from=2025-03-03T00:00:00+01:00": "write the + of an offset as %2B",
		"limit=0":                        "limit must be a whole number from 1 to 1000",
		"limit=1001":                     "send further requests with after",
		"limit=ten":                      "limit must be",
		"limit=":                         "limit must be",
		"after=xyz":                      "after must be the unchanged field next of an earlier response",
		"after=":                         "after must be",
		"after=W10":                      "after must be",
		"metric=views&metric=views":      "metric is given more than once",
		"key=home":                       "add the metric of the key",
		"metric=views&key=%ff":           "key is not UTF-8",
		"key=%zz":                        "percent-encode",
		"a;b":                            "percent-encode",
		"user=u1":                        "metric, key, from, to, limit and after",
	} {
		response := s.get("/v1/releases?" + query)
		var e errorResponse
		if err := json.Unmarshal([]byte(response.body), &e); err != nil || response.code != http.StatusBadRequest ||
			!strings.Contains(e.Error, want) {
			t.Errorf("%s: %d %s", query, response.code, response.body)
		}
		if response.header.Get("Cache-Control") != "no-store" || strings.Contains(response.body, "yesterday") {
			t.Errorf("%s: %v %s", query, response.header, response.body)
		}
	}
	if response := s.get("/v1/releases?metric=clicks"); response.code != http.StatusNotFound ||
		!strings.Contains(response.body, "/v1/metrics lists them") {
		t.Errorf("an unknown metric: %+v", response)
	}
	s.show([]schemas.Release{value("clicks", "a", 0, 1)})
	if page := s.releases("metric=clicks"); len(page.Releases) != 1 {
		t.Errorf("a metric of an earlier configuration: %+v", page)
	}
}

func TestNothingElseIsAnswered(t *testing.T) {
	s := serveValues(t, windows(0, 3))
	for _, path := range []string{
		"/index.html", "//", "/v1", "/v1/", "/v1/releases/", "/v1/../metrics", "/..", "/%2e%2e/etc/passwd",
		"/debug/pprof/", "/favicon.ico", "/robots.txt", "/-/", "/v2/releases", "/V1/metrics",
	} {
		if response := s.get(path); response.code != http.StatusNotFound || !strings.Contains(response.body,
			"/openapi.yaml lists all addresses") {
			t.Errorf("%s: %+v", path, response)
		}
	}
	page, err := http.NewRequest(http.MethodGet, s.URL+"/nothing", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	page.Header.Set("Accept", "text/html,*/*;q=0.8")
	shown, err := s.Client().Do(page)
	if err != nil {
		t.Fatal(err)
	}
	shown.Body.Close()
	if shown.StatusCode != http.StatusNotFound || !strings.HasPrefix(shown.Header.Get("Content-Type"), "text/html") {
		t.Errorf("a browser is shown %d, %s", shown.StatusCode, shown.Header.Get("Content-Type"))
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "FOO"} {
		if response := s.request(method, "/v1/metrics"); response.code != http.StatusMethodNotAllowed ||
			response.header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %+v", method, response)
		}
	}
	if response := s.get("/v1/releases?metric=" + strings.Repeat("a", maxURL)); response.code !=
		http.StatusRequestURITooLong {
		t.Errorf("a long address: %d", response.code)
	}
	r, err := http.NewRequest(http.MethodGet, s.URL+"/v1/metrics", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusBadRequest || !response.Close {
		t.Errorf("a body: %d, closed %t", response.StatusCode, response.Close)
	}
}

// Whatever is asked, the answer cannot be taken for another type, be framed, or say where its
// reader came from; the page's own policy has neither unsafe-inline nor another host in it.
func TestHeadersAreMadeForThePublic(t *testing.T) {
	s := serveValues(t, windows(0, 3))
	for _, path := range []string{"/", "/v1/releases", "/v1/releases?limit=x", "/v1/metrics", "/openapi.yaml",
		"/-/ready", "/-/healthy", "/metrics", "/nothing"} {
		h := s.get(path).header
		policy := h.Get("Content-Security-Policy")
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" ||
			h.Get("X-Frame-Options") != "DENY" ||
			!strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") ||
			strings.Contains(policy, "unsafe") ||
			h.Get("Cache-Control") == "" || h.Get("Content-Type") == "" || h.Get("Server") != "" {
			t.Errorf("%s: %v", path, h)
		}
		if head := s.request(http.MethodHead, path); head.body != "" || head.header.Get("Content-Type") !=
			h.Get("Content-Type") {
			t.Errorf("HEAD %s: %+v", path, head)
		}
	}
	page := s.get("/")
	policy := strings.TrimSuffix(page.header.Get("Content-Security-Policy"), "; frame-ancestors 'none'")
	if meta := regexp.MustCompile(`http-equiv="Content-Security-Policy" ` +
		`content="([^"]*)"`).FindStringSubmatch(page.body); html.UnescapeString(meta[1]) != policy {
		t.Errorf("the header has the policy %s, the page %s", policy, meta[1])
	}
	for _, part := range strings.Split(policy, "; ") {
		if !regexp.MustCompile(`^((script|style)-src 'sha256-[^']+'|(default-src|base-uri|form-action) ` +
			`'none'|connect-src 'self'|img-src data:)$`).MatchString(part) {
			t.Errorf("the policy has %q", part)
		}
	}
	if strings.Contains(page.body, "127.0.0.1") || strings.Contains(page.body, "topic") {
		t.Error("the page names a broker or a topic")
	}
}

// The page is packed when it is made; what a client has already is not sent again.
func TestPagesArePackedOnceAndCached(t *testing.T) {
	s := serveValues(t, windows(0, 3))
	for _, path := range []string{"/", "/v1/metrics", "/openapi.yaml"} {
		plain, packed := s.get(path), s.get(path, "Accept-Encoding", "br, gzip;q=0.8")
		if packed.header.Get("Content-Encoding") != "gzip" || packed.header.Get("Vary") != "Accept-Encoding" ||
			packed.header.Get("ETag") != plain.header.Get("ETag") {
			t.Errorf("%s: %v", path, packed.header)
			continue
		}
		r, err := gzip.NewReader(strings.NewReader(packed.body))
		if err != nil {
			t.Fatal(err)
		}
		if unpacked, err := io.ReadAll(r); err != nil || string(unpacked) != plain.body {
			t.Errorf("%s: %d bytes unpacked, %d plain (%v)", path, len(unpacked), len(plain.body), err)
		}
		if no := s.get(path, "Accept-Encoding", "gzip;q=0.0"); no.header.Get("Content-Encoding") != "" {
			t.Errorf("%s is packed for a client that refuses that", path)
		}
	}
	for _, path := range []string{"/", "/v1/releases?metric=views", "/v1/metrics", "/openapi.yaml"} {
		tag := s.get(path).header.Get("ETag")
		for _, given := range []string{tag, strings.TrimPrefix(tag, "W/"), `"x", ` + tag, "*"} {
			if response := s.get(path, "If-None-Match", given); response.code != http.StatusNotModified ||
				response.body != "" || response.header.Get("ETag") != tag {
				t.Errorf("%s with %s: %+v", path, given, response)
			}
		}
		if response := s.get(path, "If-None-Match", `W/"another"`); response.code != http.StatusOK {
			t.Errorf("%s with another tag: %d", path, response.code)
		}
	}
	before, page := s.get("/v1/releases").header.Get("ETag"), s.get("/").header.Get("ETag")
	s.show(windows(0, 4))
	if s.get("/v1/releases").header.Get("ETag") == before || s.get("/").header.Get("ETag") == page {
		t.Error("other values have the same tag")
	}
	first := s.view.Load().page.packed
	s.get("/", "Accept-Encoding", "gzip")
	if again := s.view.Load().page.packed; &again[0] != &first[0] {
		t.Error("the page was packed again")
	}
}

// A page that describes another configuration than its newest values have shows that.
func TestAnotherConfigurationIsMarked(t *testing.T) {
	var log bytes.Buffer
	s := serveValues(t, windows(0, 3))
	s.options.Logger = slog.New(slog.NewTextHandler(&log, nil))
	const mark = "The newest values were released under a different configuration"
	if page := s.get("/").body; strings.Contains(page, mark) {
		t.Error("the page of the configuration in force is marked")
	}
	rows := windows(0, 4)
	rows[0].MetricDigest[0]++ // an old window, from before a change
	s.show(rows)
	if page := s.get("/").body; strings.Contains(page, mark) {
		t.Error("the page is marked because of old values")
	}
	last := &rows[len(rows)-2]
	last.MetricDigest[0]++
	for range 3 {
		s.show(rows)
	}
	if page := s.get("/").body; last.Metric != "views" || !strings.Contains(page, mark) {
		t.Error("the page is not marked")
	}
	if strings.Count(log.String(), "WARN") != 1 || !strings.Contains(log.String(), "metrics=[views]") {
		t.Errorf("the log has %s", &log)
	}
}

func TestReadinessSaysWhy(t *testing.T) {
	s := serveValues(t, windows(0, 3))
	if response := s.get("/-/ready"); response.code != http.StatusOK || response.body != "ready\n" {
		t.Errorf("%+v", response)
	}
	away := time.Now().Add(-31 * time.Second)
	s.responded.Store(away.UnixMilli())
	// It has values to show, so that no proxy may leave it out.
	if response := s.get("/-/ready"); response.code != http.StatusOK || response.body != "ready, but newer "+
		"values may be missing: Kafka has not responded for 31s\n" {
		t.Errorf("%+v", response)
	}
	if response := s.get("/v1/releases"); response.code != http.StatusOK {
		t.Errorf("values that were read: %+v", response)
	}
	if scraped, want := s.get("/metrics").body, "tollgate_serve_broker_answered_timestamp_seconds "+
		strconv.FormatFloat(float64(away.UnixMilli())/1000, 'g', -1, 64)+"\n"; !strings.Contains(scraped, want) {
		t.Errorf("no %s in %s", want, scraped)
	}
	if response := s.get("/-/healthy"); response.code != http.StatusOK {
		t.Errorf("healthy: %+v", response)
	}
	s.ending.Store(true)
	if response := s.get("/-/ready"); response.body != "this process is ending\n" {
		t.Errorf("%+v", response)
	}
	if err := s.server.show(nil, false); err != nil {
		t.Fatal(err)
	}
	if response := s.get("/v1/releases"); response.code != http.StatusServiceUnavailable ||
		response.header.Get("Retry-After") == "" {
		t.Errorf("before values are read: %+v", response)
	}
}

// Labels name the route and the status, and nothing of the request.
func TestMetricsHaveNothingOfARequest(t *testing.T) {
	s := serveValues(t, windows(0, 3))
	for _, path := range []string{"/", "/v1/releases?metric=views&key=secret-key", "/v1/releases?limit=x",
		"/secret-path", "/v1/metrics"} {
		s.get(path, "User-Agent", "secret-agent")
	}
	families, err := s.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("names: %v, %v", problems, err)
	}
	page, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if name := f.GetName(); strings.HasPrefix(name, "tollgate_") && !strings.Contains(string(page), "\n| `"+name) {
			t.Errorf("docs/metrics.md does not define %s", name)
		}
	}
	if defined := strings.Count(string(page), "\n| `tollgate_serve_"); defined != 5 {
		t.Errorf("docs/metrics.md defines %d metrics of this package", defined)
	}
	text := s.get("/metrics").body
	for _, want := range []string{
		`tollgate_serve_requests_total{code="200",route="/v1/releases"} 1`,
		`tollgate_serve_requests_total{code="400",route="/v1/releases"} 1`,
		`tollgate_serve_requests_total{code="404",route="other"} 1`,
		`tollgate_serve_request_duration_seconds_count{route="/"} 1`, "tollgate_serve_values 8",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	if strings.Contains(text, "secret") {
		t.Error("a label has something of a request")
	}
	for line := range strings.Lines(text) { // the page may be on the machine of the run
		if strings.Contains(line, "network") || strings.Contains(line, "memstats") {
			t.Errorf("what the machine has read can be seen in %s", line)
		}
	}
}

// No query is answered with anything but values, or an error that says what to do; a cursor is
// what the server gave, or refused.
func FuzzQuery(f *testing.F) {
	f.Add("metric=views&key=home&from=2025-03-03T00:00:00Z&to=2025-03-04T00:00:00Z&limit=3")
	f.Add("after=" + positionOf(&windows(0, 1)[0]).cursor())
	f.Add("after=WzEsImEiLDIsImIiXQ&a=b;c")
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := parseQuery(raw)
		if err != nil {
			if e, ok := err.(*badQuery); !ok || e.text == "" { //nolint:errorlint // it is not wrapped
				t.Fatal(err)
			}
			return
		}
		if q.limit < 1 || q.limit > maxLimit || q.key != nil && q.metric == nil {
			t.Fatalf("%+v", q)
		}
		if q.after != nil {
			if again, ok := parseCursor(q.after.cursor()); !ok || again != *q.after {
				t.Fatalf("a cursor of %+v gives %+v", q.after, again)
			}
		}
		given, _ := url.ParseQuery(raw)
		if got, ok := given["after"]; ok && got[0] != q.after.cursor() {
			t.Fatalf("the cursor %s was taken for %s", got[0], q.after.cursor())
		}
	})
}

func TestAConflictEndsIt(t *testing.T) {
	s := serveValues(t, nil)
	f := newFeed(s.server, 1000)
	f.kept.add([]schemas.Release{value("views", "home", 0, 1), value("views", "home", 0, 2)})
	f.change()
	if err := f.show(t.Context()); err == nil || !strings.Contains(err.Error(), "two different values for one metric, "+
		"window and key") {
		t.Errorf("two values for one cell: %v", err)
	}
}

// The log has what the server has to say of itself, and nothing that a client can repeat at will.
func TestClientsCannotFillTheLog(t *testing.T) {
	var b bytes.Buffer
	q := quiet{func(text string) { b.WriteString(text) }}
	fmt.Fprintln(q, "http: URL query contains semicolon, which is no longer a supported separator")
	fmt.Fprintln(q, "http: TLS handshake error from 192.0.2.1:1234: EOF")
	fmt.Fprintln(q, "http: Accept error: too many open files; retrying in 5ms")
	if b.String() != "http: Accept error: too many open files; retrying in 5ms" {
		t.Errorf("the log has %q", &b)
	}
}
