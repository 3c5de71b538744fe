package integration

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"text/template"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// subject is a deployment under faults. Its runs connect through the proxy; the test reads its
// topics directly.
type subject struct {
	*deployment
	dir, file string
	settings  subjectSettings
	args      []string // further flags of every run
	watch     *watch
	feed      *feeder
	runs      []*proc // all so far
	current   *proc   // the run that should own the deployment; nil between two
}

// subjectSettings are the settings that differ between the configuration files of campaigns.
type subjectSettings struct {
	name        string // the deployment's
	events      string // topic; newSubject derives it from the name
	broker      string // empty: the proxy
	window      time.Duration
	slots       int
	appendTimes bool
	compacted   bool   // Kafka compacts the ledger during the campaign
	changes     int    // number of changes so far
	noiseEnv    string // environment variable of the noise key; empty: a file
}

const campaignPartitions = 3

//go:embed testdata/campaign.yaml.tmpl
var campaignFile string

// yaml returns the configuration file; {{w 3}} means three windows.
func (s subjectSettings) yaml() string {
	file := template.Must(template.New("").Funcs(template.FuncMap{
		"mod": func(a, b int) int { return a % b }, "div": func(a, b int) int { return a / b },
		"w": func(n int) string { return timespan.Text(time.Duration(n) * s.window) },
	}).Parse(campaignFile))
	var text strings.Builder
	if err := file.Execute(&text, map[string]any{
		"Name": s.name, "Brokers": strings.Split(s.broker, ","), "Events": s.events, "AppendTimes": s.appendTimes,
		"Changes": s.changes, "NoiseEnv": s.noiseEnv, "Slots": s.slots,
	}); err != nil {
		panic(err)
	}
	return text.String()
}

// write writes the configuration file.
func (s *subject) write() {
	s.t.Helper()
	must.Succeed(s.t, os.WriteFile(s.file, []byte(s.settings.yaml()), 0o600))
}

// load returns the configuration of the file with the address of a broker.
func (s *subject) load(broker string) pipeline.Config {
	s.t.Helper()
	file := must.Have(config.Open(s.file, config.Process()))
	must.Succeed(s.t, file.Resolve(config.Options{}))
	c := must.Have(file.Compile()).Config
	c.Kafka.Brokers = strings.Split(broker, ",")
	return c
}

// newSubject begins a deployment as a user does: a file, topics and keys by `tollgate init`, the
// first events by `tollgate replay`.
func (c *campaign) newSubject(settings subjectSettings, start time.Time) *subject {
	c.t.Helper()
	settings.events = settings.name + "-events"
	if settings.broker == "" {
		settings.broker = c.proxy.addr
	}
	s := &subject{dir: c.t.TempDir(), settings: settings, deployment: &deployment{t: c.t}}
	s.file = filepath.Join(s.dir, "tollgate.yaml")
	s.write()
	topic := map[string]string{}
	if settings.appendTimes {
		topic["message.timestamp.type"] = "LogAppendTime"
	}
	createTopic(c.t, c.addr, settings.events, campaignPartitions, c.copies, topic)
	keys := []string{"--generate-keys"}
	if settings.noiseEnv != "" {
		keys = nil
		must.Succeed(c.t, os.WriteFile(filepath.Join(s.dir, "user-hash.key"), []byte(strings.Repeat("33", 32)+"\n"),
			0o600))
	}
	c.must(s, "init", slices.Concat([]string{"init", "--config", s.file, "--create-topics", "--replication",
		strconv.Itoa(c.copies), "--start", start.Format(time.RFC3339)}, keys)...)
	s.attachTo(c.addr)
	if settings.compacted {
		alterTopic(c.t, c.addr, s.config.Outputs.Ledger, eager())
	}
	s.watch = startWatch(c.t, c.addr, s.config.Outputs.Control)
	s.feed = newFeeder(s, uint64(len(settings.name)))
	if !settings.appendTimes {
		c.must(s, "replay", "replay", "--config", s.file, "--input", s.feed.file(20))
	}
	s.feed.start()
	return s
}

// attachTo compiles the file and connects to a broker without the proxy.
func (s *subject) attachTo(broker string) {
	past := s.past
	d := attach(s.t, s.load(broker))
	*s.deployment = *d
	s.config = d.compiled.Config // with the defaults
	s.past, s.partitions = past, campaignPartitions
}

// header returns the first record of control.
func (s *subject) header() *schemas.Header {
	s.t.Helper()
	record := must.Have(schemas.DecodeControl(s.records(s.config.Outputs.Control, 0)[0].Value))
	return record.Body.(*schemas.Header)
}

// calm begins a deployment that differs from the subject in its name only: events, incarnation and
// keys are the same. Undisturbed, it must publish the same values.
func (c *campaign) calm(s *subject, name string) *subject {
	c.t.Helper()
	settings := s.settings
	settings.name, settings.broker = s.settings.name+"-"+name, c.addr
	twin := &subject{dir: s.dir, settings: settings, deployment: &deployment{t: c.t}, feed: s.feed}
	twin.file = filepath.Join(s.dir, name+".yaml") // in the directory of the key files
	twin.write()
	twin.deployment = attach(c.t, twin.load(c.addr))
	ctx, h := patient(c.t), s.header()
	must.Succeed(c.t, pipeline.CreateTopics(ctx, twin.compiled, pipeline.TopicOptions{Replication: 1}))
	must.Succeed(c.t, pipeline.Init(ctx, twin.compiled, pipeline.InitOptions{Incarnation: h.Incarnation,
		Start: time.UnixMilli(h.StartMillis)}))
	twin.attachTo(c.addr)
	return twin
}

// feeder writes events ahead of the runs. With producers' times, the events of a window follow from
// its number, and there are as many windows as the faults need. With append times, events are
// written at the pace of the clock.
type feeder struct {
	s       *subject
	client  *kafkalog.Client
	work    workload
	seed    uint64
	next    int          // window
	written atomic.Int64 // next, for other goroutines
	stopped chan struct{}
	done    chan struct{}
	err     error
}

// ahead is how many windows are written beyond the settled turn: more than a run reads ahead.
const ahead = 80

func newFeeder(s *subject, seed uint64) *feeder {
	w := workload{Users: 300, Pages: 8, Window: s.settings.window, Disturb: s.settings.window / 2, Broken: 2, Late: 2,
		Past: 1, Future: 1, Bought: true}
	return &feeder{s: s, client: s.client, work: w, seed: seed, stopped: make(chan struct{}), done: make(chan struct{})}
}

// oddAmounts has values at the limits of an integer, integers with a point or an exponent, and
// texts that are not integers.
var oddAmounts = []string{
	"9223372036854775807", "-9223372036854775808", "68719476737", "7.0", "7e0", "-0",
	"9223372036854775808", "1.5", "1e400", `"7"`, "null", "true", "[7]",
}

// window returns the events of window n, ordered by their stamps.
func (f *feeder) window(n int, w workload) []arrival {
	random := rand.New(rand.NewPCG(f.seed, uint64(n))) // fixed seed: campaignSeed's
	users, pages := rand.NewZipf(random, 1.2, 4, uint64(w.Users-1)), rand.NewZipf(random, 1.3, 2, uint64(w.Pages-1))
	first := base.Add(time.Duration(n) * w.Window).UnixMilli()
	var all []arrival
	if n%20 > 16 {
		return nil // three windows in a row without any event
	}
	for range 30 {
		stamp := first + random.Int64N(w.Window.Milliseconds())
		user, page := fmt.Sprintf("u%04d", users.Uint64()), fmt.Sprintf("p%02d", pages.Uint64())
		a := w.arrival(random, user, page, stamp)
		if w.Broken > 0 && random.IntN(25) == 0 {
			odd := oddAmounts[random.IntN(len(oddAmounts))]
			a.value = fmt.Appendf(nil, `{"user":%q,"page":%q,"ts":%d,"amount":%s,"item":{"category":"toy"}}`, user,
				page, stamp, odd)
		}
		all = append(all, a)
	}
	sortByStamp(all)
	return all
}

// file writes the first windows to a file. Replayed records are stamped with their event times, so
// none may be far ahead.
func (f *feeder) file(windows int) string {
	w := f.work
	w.Broken, w.Late, w.Past, w.Future = 0, 0, 0, 0
	var text bytes.Buffer
	for ; f.next < windows; f.next++ {
		for _, a := range f.window(f.next, w) {
			text.Write(append(a.value, '\n'))
		}
	}
	name := filepath.Join(f.s.dir, "events.jsonl")
	must.Succeed(f.s.t, os.WriteFile(name, text.Bytes(), 0o600))
	return name
}

func (f *feeder) start() {
	go func() {
		defer close(f.done)
		for !f.over() && f.err == nil {
			if f.s.settings.appendTimes {
				f.err = f.put(f.live())
				time.Sleep(f.work.Window / 4)
				continue
			}
			if f.next > int(f.s.watch.now().settled)+ahead {
				time.Sleep(20 * time.Millisecond) // far enough ahead
				continue
			}
			f.err = f.put(spread(f.window(f.next, f.work), campaignPartitions))
			f.next++
			f.written.Store(int64(f.next))
		}
	}()
	f.s.t.Cleanup(func() {
		if !f.over() {
			close(f.stopped)
		}
		<-f.done
	})
}

// ready reports whether so many windows have been written.
func (f *feeder) ready(windows int) bool { return f.written.Load() >= int64(windows) }

func (f *feeder) over() bool {
	select {
	case <-f.stopped:
		return true
	default:
		return false
	}
}

// live returns a quarter of a window's events around the present time, some of them slightly late
// and some with wild stamps.
func (f *feeder) live() [][]arrival {
	random := rand.New(rand.NewPCG(f.seed, uint64(time.Now().UnixNano()))) // fixed seed: campaignSeed's
	w, now := f.work, time.Now().UnixMilli()
	var all []arrival
	for range 8 {
		user, page := fmt.Sprintf("u%04d", random.IntN(w.Users)), fmt.Sprintf("p%02d", random.IntN(w.Pages))
		millis := now - random.Int64N(3*w.Window.Milliseconds()/2)
		if random.IntN(50) == 0 {
			all = append(all, arrival{user, wildStamp(random), brokenValue(random, user)})
			continue
		}
		all = append(all, bought(user, page, wildStamp(random), millis, random.Int64N(41)-10,
			categories[random.IntN(len(categories))]))
	}
	return spread(all, campaignPartitions)
}

// put appends events and retries while the broker is away. A record that is then written twice is
// two events for every reader.
func (f *feeder) put(dealt [][]arrival) error {
	for p, arrivals := range dealt {
		messages := make([]kafkalog.Message, len(arrivals))
		for i, a := range arrivals {
			messages[i] = kafkalog.Message{Value: a.value, Timestamp: kafkalog.At(a.stamp)}
		}
		err := f.append(int32(p), messages)
		for attempt := 1; err != nil && attempt < 20; attempt++ {
			err = f.append(int32(p), messages)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *feeder) append(partition int32, messages []kafkalog.Message) error {
	if len(messages) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p, err := f.client.NewProducer(ctx, f.s.settings.events, partition, "")
	if err != nil {
		return err
	}
	defer p.Close()
	_, err = p.Append(ctx, messages)
	return err
}

// finish ends the feeding and closes all windows, with records that belong to none of them.
func (f *feeder) finish(t testing.TB) {
	t.Helper()
	close(f.stopped)
	<-f.done
	if f.err != nil {
		t.Fatalf("feeding: %v", f.err)
	}
	stamp := base.Add(time.Duration(f.next+10) * f.work.Window).UnixMilli()
	if f.s.settings.appendTimes {
		// Late records of an outage have moved the append times, so a run may have settled turns
		// after the last event. An event of the present belongs to a later turn: every run up to
		// the end settles the same turns.
		f.putEverywhere(t, bought("last", "p00", 0, time.Now().UnixMilli(), 1, "toy"))
		time.Sleep(4 * f.work.Window) // until the append time of the closer ends the windows
	}
	f.putEverywhere(t, bought("closer", "p00", stamp, f.s.header().StartMillis-1000, 1, "toy"))
}

// putEverywhere appends a record to every partition.
func (f *feeder) putEverywhere(t testing.TB, a arrival) {
	t.Helper()
	dealt := make([][]arrival, campaignPartitions)
	for p := range dealt {
		dealt[p] = []arrival{a}
	}
	if err := f.put(dealt); err != nil {
		t.Fatalf("feeding: %v", err)
	}
}

// named returns the name of the next process: "run 3 of plain".
func (s *subject) named(command string) string {
	return fmt.Sprintf("%s %d of %s", command, len(s.runs)+1, strings.TrimPrefix(s.settings.name, "campaign-"))
}
