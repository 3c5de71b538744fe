package integration

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// needTwo skips a test that needs two brokers as processes of this machine, with their disks.
func needTwo(t *testing.T) {
	t.Helper()
	if kind(t) != kafkaKind {
		t.Skipf("needs two real Kafkas and their disks: `.ci/run kafka`, or %s=%s", kindVariable, kafkaKind)
	}
}

// startSite starts a broker on a directory, which may hold what another one has left.
func startSite(t *testing.T, o realkafka.Options) *realkafka.Broker {
	t.Helper()
	b, err := realkafka.Start(t.Context(), o)
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(b.Kill) // its directory ends with the test
	return b
}

// at returns the deployment on another broker.
func (d *deployment) at(t *testing.T, addr string) *deployment {
	t.Helper()
	config := d.config
	config.Kafka.Brokers = []string{addr}
	other := attach(t, config)
	other.partitions, other.adjust = d.partitions, d.adjust
	return other
}

// source is a deployment on a broker of its own, with copies of that broker's disk at three
// moments, each a few turns after the one before.
type source struct {
	*deployment
	broker *realkafka.Broker
	dir    string
	copies map[string]string // directories, by moment
	last   map[string]uint64 // the settled turn of each moment
	all    published         // what the source publishes in the end
}

// The moments of a source.
const (
	earlier = "earlier" // drained: what a backup has that is some minutes old
	before  = "before"  // drained, some turns later
	after   = "after"   // a turn later, of which the values are published and SETTLED is missing
)

// withoutFuture has the time of every record count, so that copies with other times are noticed.
func withoutFuture(c *pipeline.Config) { c.Time.NoFuture = true }

// live closes no turn at the end of the events.
func live(o *runOptions) { o.Bounded = false }

func newSource(t *testing.T) *source {
	t.Helper()
	dir := t.TempDir()
	s := &source{broker: startSite(t, realkafka.Options{Dir: dir}), dir: dir, copies: map[string]string{}, last: map[string]uint64{}}
	s.deployment = newDeployment(t, s.broker.Addr(), "failover", 2, tight, sharded(2, 1), withoutFuture)
	w := calm(2525)
	w.Windows = 10
	dealt := scatter(w.arrivals(), 2, 1)
	for p := range dealt {
		s.append(int32(p), dealt[p][:len(dealt[p])*3/4])
	}
	s.runTurns(3, live)
	s.copy(t, earlier)
	for p := range dealt {
		s.append(int32(p), dealt[p][len(dealt[p])*3/4:])
	}
	s.runTurns(3, live)
	s.copy(t, before)
	if _, err := s.tryRun(func(o *runOptions) {
		o.Hooks.At = func(point string, _ int) error {
			if point == crashpoint.CountsWritten {
				return errDied
			}
			return nil
		}
	}); err == nil {
		t.Fatal("the run has not died")
	}
	s.copy(t, after)
	s.finish()
	s.verify()
	var err error
	if s.all, err = s.readCounts(); err != nil {
		t.Fatal(err)
	}
	return s
}

// copy takes the disk of the broker as a snapshot of a volume does, in no good order.
func (s *source) copy(t *testing.T, moment string) {
	t.Helper()
	tr, err := s.readTrusted()
	if err != nil {
		t.Fatal(err)
	}
	s.last[moment] = tr.last
	s.broker.Kill()
	s.copies[moment] = filepath.Join(t.TempDir(), moment)
	if err := os.CopyFS(s.copies[moment], os.DirFS(s.dir)); err != nil {
		t.Fatal(err)
	}
	if err := s.broker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.client = attach(t, s.config).client
}

// topic returns the name of one of the six topics.
func (s *source) topic(t *testing.T, called string) string {
	t.Helper()
	o := s.compiled.Config.Outputs
	name := map[string]string{"events": s.config.Events.Topic, "control": o.Control, "ledger": o.Ledger, "counts": o.Counts, "turns": o.Turns, "dead letters": o.DeadLetter}[called]
	if name == "" {
		t.Fatalf("no topic is called %q", called)
	}
	return name
}

// restored starts a second broker on the disk of a moment, with some topics as they were at another
// moment, and returns the deployment there.
func (s *source) restored(t *testing.T, moment string, others map[string]string) *deployment {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "restored")
	if err := os.CopyFS(dir, os.DirFS(s.copies[moment])); err != nil {
		t.Fatal(err)
	}
	for called, other := range others {
		partitions, err := filepath.Glob(filepath.Join(s.copies[other], "data", s.topic(t, called)+"-[0-9]*"))
		if err != nil || len(partitions) == 0 {
			t.Fatalf("topic %s has no partitions on disk: %v", called, err)
		}
		for _, from := range partitions {
			to := filepath.Join(dir, "data", filepath.Base(from))
			if err := os.RemoveAll(to); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(to, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s.at(t, startSite(t, realkafka.Options{Dir: dir}).Addr())
}

// compare says how many of the values that the source has published stand on another deployment's
// counts after a turn: the same, or others.
func (s *source) compare(t *testing.T, d *deployment, turn uint64) (same, others int) {
	t.Helper()
	got, err := d.readCounts()
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range got.values {
		switch was, known := s.all.values[key]; {
		case got.turns[key] <= turn || !known:
		case bytes.Equal(was, value):
			same++
		default:
			others++
		}
	}
	return same, others
}

// restore is a case of what comes back from backups.
type restore struct {
	name   string
	moment string            // of all topics
	others map[string]string // but those, by topic
	says   []string          // what a refusal says; nil: the run goes on
}

func restores() []restore {
	return []restore{
		{name: "all six of one moment, a turn under way", moment: after},
		{name: "the turn under way has lost its values", moment: after, others: map[string]string{"counts": before}},
		{name: "the turn under way has lost its values and its decisions", moment: after, others: map[string]string{"counts": before, "ledger": before}},
		{name: "the turn under way has lost its decisions", moment: after, others: map[string]string{"ledger": before},
			says: []string{"counts holds values of it, but 2 of 2 shards have no ledger record of it: the ledger was restored from an older copy than counts"}},
		{name: "events alone are older", moment: after, others: map[string]string{"events": earlier},
			says: []string{"failover-events", "are gone"}},
		{name: "control alone is older", moment: after, others: map[string]string{"control": earlier},
			says: []string{"it says that turn 6 is settled, but control has settled turn 3: control was restored from an older copy"}},
		{name: "the ledger alone is older", moment: after, others: map[string]string{"ledger": earlier},
			says: []string{"has decided turn 3, but control has settled turn 6: the ledger was restored from an older copy than control"}},
		{name: "counts alone are older", moment: after, others: map[string]string{"counts": earlier},
			says: []string{"partition 0 ends at offset", "but when turn 6 was settled it ended at", "restore it with its offsets"}},
		{name: "the ends of turns and dead letters alone are older", moment: after, others: map[string]string{"turns": earlier, "dead letters": earlier}},
		{name: "control and the ends of turns are older", moment: after, others: map[string]string{"control": earlier, "turns": earlier},
			says: []string{"has decided turn 7, but control has settled turn 3: control was restored from an older copy than the ledger"}},
		{name: "all but counts are older", moment: earlier, others: map[string]string{"counts": after},
			says: []string{"counts holds values of it, but 2 of 2 shards have no ledger record of it"}},
		{name: "all but the ends of turns are older", moment: earlier, others: map[string]string{"turns": after},
			says: []string{"it says that turn 6 is settled, but control has settled turn 3: control was restored from an older copy"}},
		{name: "all but the events are older", moment: earlier, others: map[string]string{"events": after}},
	}
}

// After a restore, and on another cluster, a deployment goes on where nothing can have two values,
// and is refused, with what is wrong and what to do, where something could.
func TestRuleNothingIsReleasedTwiceAfterARestoreOrFailover(t *testing.T) {
	needTwo(t)
	s := newSource(t)
	for _, r := range restores() {
		t.Run(r.name, func(t *testing.T) { s.comesBack(t, s.restored(t, r.moment, r.others), r.says) })
	}
	t.Run("published turns are lost and other events come", s.otherEventsCome)
	t.Run("another cluster", s.mirrored)
}

// comesBack runs what was restored or copied. It must be refused in these words, and without a STOP
// that would outlive the repair; without words, it must go on and give what the source has given.
func (s *source) comesBack(t *testing.T, d *deployment, says []string) {
	t.Helper()
	d.t = t
	_, err := d.tryRun()
	if says == nil {
		if err != nil {
			t.Fatal(err)
		}
		same, others := s.compare(t, d, 0)
		t.Logf("goes on: %d values are the bytes that were published before, %d are not", same, others)
		if others > 0 || same != len(s.all.values) {
			t.Errorf("%d of %d values are the same bytes, %d are others", same, len(s.all.values), others)
		}
		return
	}
	t.Logf("refused: %v", err)
	if !errors.Is(err, pipeline.ErrLogFault) {
		t.Fatalf("the run ended with %v, want a fault of the log", err)
	}
	for _, says := range says {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v\ndoes not say\n%s", err, says)
		}
	}
	if status, err := pipeline.ReadStatus(t.Context(), d.compiled, base); err != nil || status.Stop != nil {
		t.Errorf("the refusal has left %v, %v", status, err)
	}
}

// otherEventsCome is what no program can know: all topics come back without the last minutes, and
// the events of these minutes are not those that were counted. With the same noise key a reader
// of the first values learns from the second ones which counts have changed. With a new key, and
// a budget from which the lost turns are taken, the second values are one more release.
func (s *source) otherEventsCome(t *testing.T) {
	lost := s.last[earlier]
	odd := regexp.MustCompile(`"u[0-9]*[13579]"`)
	again := func(t *testing.T, d *deployment) (same, others int) { // without the events of half of the users
		d.t = t
		for p, records := range s.eventLog() {
			var arrivals []arrival
			held := len(d.records(d.config.Events.Topic, p))
			for _, r := range records[held:] {
				if !odd.Match(r.Value) {
					arrivals = append(arrivals, arrival{stamp: r.Timestamp, value: r.Value})
				}
			}
			d.append(p, arrivals)
		}
		d.run()
		d.verify()
		same, others = s.compare(t, d, lost)
		t.Logf("of the values after turn %d, which were published before, %d are the same bytes and %d are not", lost, same, others)
		return same, others
	}
	rotated := func(c *pipeline.Config) {
		c.Keys.Noise = []noisereduction.NoiseKey{{ID: "k2", Secret: secret.New([32]byte{2, 5})}}
		c.Privacy.Epsilon *= 0.7
	}
	t.Run("the same noise key", func(t *testing.T) {
		if same, others := again(t, s.restored(t, earlier, nil)); same == 0 || others == 0 {
			t.Error("the case does not show what it is for")
		}
	})
	t.Run("a new noise key and a smaller budget", func(t *testing.T) {
		d := s.restored(t, earlier, nil)
		d.t = t
		d.change(rotated)
		if same, others := again(t, d); same > 0 || others == 0 {
			t.Error("noise was drawn a second time")
		}
	})
	t.Run("the ends of turns are newer", func(t *testing.T) {
		d := s.restored(t, earlier, map[string]string{"turns": after})
		d.t = t
		_, err := d.tryChange(crashpoint.Hooks{}, rotated)
		t.Logf("the change was refused: %v", err)
		if !errors.Is(err, pipeline.ErrLogFault) || !strings.Contains(err.Error(), "control was restored from an older copy") {
			t.Fatalf("the change ended with %v", err)
		}
		deleteTopic(t, d.config.Kafka.Brokers[0], s.topic(t, "turns"))
		d.change(rotated) // which makes the topic
		if same, others := again(t, d); same > 0 || others == 0 {
			t.Error("noise was drawn a second time")
		}
	})
	t.Run("a turn is under way", func(t *testing.T) {
		d := s.restored(t, after, nil)
		d.t = t
		if _, err := d.tryChange(crashpoint.Hooks{}, rotated); !errors.Is(err, pipeline.ErrInterruptedTurn) {
			t.Fatalf("the change ended with %v", err)
		}
		turn := s.last[after] + 1
		until := base.Add(time.Duration(turn) * 10 * time.Second)
		if r := d.run(live, func(o *runOptions) { o.Until = until }); r.Settled != turn {
			t.Fatalf("up to %v turn %d was settled, want %d", until, r.Settled, turn)
		}
		same, others := s.compare(t, d, s.last[after])
		t.Logf("the turn under way was finished: %d values are the same bytes, %d are not", same, others)
		if same == 0 || others > 0 {
			t.Error("the turn under way has other values")
		}
		d.change(rotated)
	})
}
