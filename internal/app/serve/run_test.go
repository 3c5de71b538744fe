package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

const patienceOfTests = 30 * time.Second

// running is Run in a test.
type running struct {
	addr string
	log  await.Buffer
	stop func() error // ends it, and returns what it returned
}

func run(t testing.TB, d *pipeline.Deployment, change func(*Options)) *running {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &running{addr: l.Addr().String()}
	o := someOptions
	o.Logger = slog.New(slog.NewTextHandler(&r.log, nil))
	change(&o)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	over := make(chan error, 1)
	go func() { over <- Run(ctx, d, l, o) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-over:
			return err
		case <-time.After(patienceOfTests):
			return errors.New("it does not end")
		}
	})
	t.Cleanup(func() { r.stop() }) //nolint:errcheck // tests that look at it call it before
	return r
}

func (r *running) get(t testing.TB, path string) (int, string) {
	t.Helper()
	response, err := http.Get("http://" + r.addr + path)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode, string(body)
}

// begin makes the topics of a deployment with events of some windows of a second. Event i has the
// price 7i mod 50.
func begin(t testing.TB, d *pipeline.Deployment, seconds, perSecond int) {
	t.Helper()
	ctx := t.Context()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := pipeline.CreateTopics(ctx, d, pipeline.TopicOptions{EventPartitions: 1}); err != nil {
		t.Fatal(err)
	}
	if err := pipeline.Init(ctx, d, pipeline.InitOptions{Start: start, Incarnation: [16]byte{1}}); err != nil {
		t.Fatal(err)
	}
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	producer, err := client.NewProducer(ctx, d.Config.Events.Topic, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	var events []kafkalog.Message
	for i := range seconds * perSecond {
		millis := start.Add(time.Duration(i) * time.Second / time.Duration(perSecond)).UnixMilli()
		events = append(events, kafkalog.Message{Value: fmt.Appendf(nil, `{"user":"person-%d","key":"%c","time":%d,`+
			`"price":%d}`, i%997, 'a'+rune(i%3), millis, 7*i%50), Timestamp: kafkalog.At(millis)})
	}
	if _, err := producer.Append(ctx, events); err != nil {
		t.Fatal(err)
	}
}

func publicSeconds(c *deployment.Config) {
	c.Metrics[0].Keys = deployment.Keys{Mode: deployment.KeysPublic, List: []string{"a", "b", "c"}}
	c.Metrics[0].Window, c.Metrics = time.Second, c.Metrics[:1]
}

// A run's published values appear, and nothing else; the process starts before the topics are there
// and waits for them, and ends when it is told to.
func TestRunServesWhatIsPublished(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	defer http.DefaultClient.CloseIdleConnections()
	broker := deploytest.Start(t)
	defer broker.Close()
	d := compiled(t, broker.Addr(), publicSeconds)
	r := run(t, d, func(*Options) {})
	if code, text := r.get(t, "/-/ready"); code != http.StatusServiceUnavailable ||
		text != "values are still being read\n" {
		t.Errorf("ready: %d %s", code, text)
	}
	if code, text := r.get(t, "/"); code != http.StatusOK || !strings.Contains(text, "Values are still being read.") {
		t.Errorf("the page: %d", code)
	}
	await.That(t, patienceOfTests, "the missing topic is named, and what to look at", func() bool {
		return strings.Contains(r.log.String(), d.Config.Outputs.Turns) && strings.Contains(r.log.String(),
			"that tollgate init has created")
	})
	begin(t, d, 10, 30)
	await.That(t, patienceOfTests, "that is ready", func() bool {
		code, _ := r.get(t, "/-/ready")
		return code == http.StatusOK
	})
	if code, text := r.get(t, "/v1/releases"); code != http.StatusOK || text != `{"releases":[],"more":false}`+"\n" {
		t.Errorf("before a run: %d %s", code, text)
	}
	if _, err := pipeline.Run(t.Context(), d, pipeline.RunOptions{Bounded: true}); err != nil {
		t.Fatal(err)
	}
	published, err := pipeline.ReadReleases(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	await.That(t, patienceOfTests, "all values are served", func() bool {
		_, text = r.get(t, "/v1/releases?limit=1000")
		return strings.Count(text, `"metric"`) == len(published)
	})
	if len(published) != 30 || strings.Contains(text, "person-") {
		t.Errorf("%d values", len(published))
	}
	for i := range published {
		if line, err := published[i].MarshalJSON(); err != nil || !strings.Contains(text, string(line)) {
			t.Errorf("%s is not served (%v)", line, err)
		}
	}
	if _, page := r.get(t, "/"); !strings.Contains(page, "<dt>released values</dt><dd>30</dd>") {
		t.Error("the page does not have all values")
	}
	_, metrics := r.get(t, "/metrics")
	for _, want := range []string{"tollgate_serve_values 30\n",
		fmt.Sprintf("tollgate_serve_last_turn_timestamp_seconds %g\n", float64(time.Date(2026, 1, 1, 0, 0, 10, 0,
			time.UTC).Unix()))} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no metric %s", want)
		}
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

// A user of Kafka that may read counts and the ends of turns is enough.
func TestTwoTopicsAreEnough(t *testing.T) {
	may := func(topic string) kfake.ACL {
		return kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: topic, Pattern: kmsg.ACLResourcePatternTypeLiteral,
			Operation: kmsg.ACLOperationRead, Allow: true}
	}
	names := compiled(t, "127.0.0.1:1", publicSeconds).Config.Outputs
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.EnableACLs(),
		kfake.BrokerConfigs(map[string]string{"log.retention.ms": "-1"}),
		kfake.Superuser("PLAIN", "operator", "secret"), kfake.User("PLAIN", "public", "secret", may(names.Counts),
			may(names.Turns)))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	as := func(user string) *pipeline.Deployment {
		return compiled(t, cluster.ListenAddrs()[0], publicSeconds, func(c *deployment.Config) {
			c.Kafka.SASL = &deployment.SASL{Mechanism: settings.SASLPlain, User: user, Password: secret.New("secret")}
		})
	}
	operator, public := as("operator"), as("public")
	begin(t, operator, 3, 30)
	if _, err := pipeline.Run(t.Context(), operator, pipeline.RunOptions{Bounded: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.TrustedReport(t.Context(), public); !errors.Is(err, pipeline.ErrForbidden) {
		t.Errorf("the user may read control: %v", err)
	}
	r := run(t, public, func(*Options) {})
	await.That(t, patienceOfTests, "all values are served", func() bool {
		_, text := r.get(t, "/v1/releases")
		return strings.Count(text, `"metric"`) == 9
	})
	if log := r.log.String(); strings.Contains(log, "WARN") {
		t.Errorf("the log has %s", log)
	}
}

// One client too many waits until another one has gone.
func TestClientsAtOnceAreBounded(t *testing.T) {
	r := run(t, compiled(t, "127.0.0.1:1"), func(o *Options) { o.Clients = 1 })
	responds := func(c net.Conn, patience time.Duration) bool {
		c.SetDeadline(time.Now().Add(patience)) //nolint:errcheck // a test without it fails later
		fmt.Fprint(c, "GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n")
		_, err := http.ReadResponse(bufio.NewReader(c), nil)
		return err == nil
	}
	var clients [2]net.Conn
	for i := range clients {
		c, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients[i] = c
		if got := responds(c, []time.Duration{patienceOfTests, 100 * time.Millisecond}[i]); got != (i == 0) {
			t.Errorf("client %d is answered: %t", i, got)
		}
	}
	clients[0].Close()
	if !responds(clients[1], patienceOfTests) {
		t.Error("there is no room when one has gone")
	}
}

// Clients that do not read what they have asked for, or never end a request, are cut off. They
// cost no copy of the page.
func TestSlowReadersAreCutOff(t *testing.T) {
	var rows []schemas.Release
	for i := range 20_000 {
		rows = append(rows, windows(i, i+1)...)
	}
	s := serveValues(t, rows)
	handler, err := s.handler()
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int64
	web := newWeb(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler.ServeHTTP(w, r)
	}), s.options.Logger)
	web.WriteTimeout, web.ReadHeaderTimeout = min(web.WriteTimeout, time.Second), web.ReadHeaderTimeout/2
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open atomic.Int64
	web.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	over := make(chan error, 1)
	go func() { over <- web.Serve(smallBuffers{l}) }()
	defer func() {
		web.Close()
		<-over
	}()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 220 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n")
		if i < 200 {
			fmt.Fprint(c, "\r\n")
		}
	}
	await.That(t, patienceOfTests, "all have asked", func() bool { return requests.Load() == 200 })
	runtime.ReadMemStats(&after)
	if page, more := len(s.view.Load().page.plain), after.HeapAlloc-min(before.HeapAlloc, after.HeapAlloc); page <
		1e6 || more > 20e6 {
		t.Errorf("200 clients of a page of %d bytes take %d bytes", page, more)
	}
	await.That(t, patienceOfTests, "all are cut off", func() bool { return open.Load() == 0 })
}
