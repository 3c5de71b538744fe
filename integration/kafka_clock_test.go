package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// steppedBroker returns a Kafka whose clock can be moved: one class of it is replaced by
// testdata/clock. step sets how far it is off.
func steppedBroker(t *testing.T) (addr string, step func(time.Duration)) {
	t.Helper()
	if kind(t) != kafkaKind {
		t.Skipf("moves the clock of a broker of this machine: %s=%s", kindVariable, kafkaKind)
	}
	jars, err := realkafka.Jars()
	if err != nil {
		unavailable(t, err)
	}
	javac, err := exec.LookPath("javac")
	if err != nil {
		unavailable(t, fmt.Errorf("compiling the broker's clock: %w", err))
	}
	dir := t.TempDir()
	source := filepath.Join("testdata", "clock", "org", "apache", "kafka", "common", "utils", "SystemTime.java")
	if out, err := exec.Command(javac, "-cp", filepath.Join(jars, "*"), "-d", dir, source).CombinedOutput(); err != nil {
		t.Fatalf("compiling the clock: %v\n%s", err, out)
	}
	clock := filepath.Join(dir, "clock")
	set := func(d time.Duration) string {
		text := strconv.FormatInt(d.Milliseconds(), 10)
		if err := os.WriteFile(clock, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return text
	}
	step = func(d time.Duration) {
		want := set(d)
		await.That(t, patience, "the broker's clock is set by "+want+" ms", func() bool {
			taken, err := os.ReadFile(clock + ".taken")
			return err == nil && string(taken) == want
		})
	}
	set(0)
	broker, err := realkafka.Start(t.Context(), realkafka.Options{Classes: dir, Flags: []string{"-Dtollgate.clock=" + clock}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := broker.Close(); err != nil {
			t.Error(err)
		}
	})
	return broker.Addr(), step
}

// The broker's clock steps back, as clocks do that are corrected. Below the slack the record's own
// times alone decide about it; above, what stood before it on the partition decides, too, which the
// reference says as well.
func TestRuleAClockStepBelowTheSlackChangesNoFate(t *testing.T) {
	needReal(t)
	t.Parallel()
	addr, step := steppedBroker(t)
	for _, k := range []struct {
		back  time.Duration
		bites bool
	}{{2 * time.Second, false}, {8 * time.Second, true}} {
		d := appended(t, addr, fmt.Sprintf("step%d", k.back/time.Second), 1, func(c *pipeline.Config) { c.Time.Slack = 3 * time.Second })
		random := rand.New(runseed.PCG(t, uint64(k.back), 8))
		var eventTimes []int64
		for _, off := range []time.Duration{0, -k.back, 0, -k.back, 0} {
			step(off)
			for i := range 25 {
				millis := time.Now().Add(off).UnixMilli() - random.Int64N(1300) // lateness is a second
				eventTimes = append(eventTimes, millis)
				d.append(0, []arrival{goodEvent(fmt.Sprintf("u%d", i), "p00", wildStamp(random), millis)})
			}
		}
		log := d.independentLog()
		late, stepped := uint64(0), int64(0)
		for i, r := range log[0] {
			if eventTimes[i] < r.Timestamp-d.config.Time.Lateness.Milliseconds() {
				late++
			}
			if i > 0 {
				stepped = max(stepped, log[0][i-1].Timestamp-r.Timestamp)
			}
		}
		if stepped < k.back.Milliseconds()-1500 {
			t.Fatalf("the broker's clock went back by %d ms only", stepped)
		}
		d.sameLog(log)
		d.run()
		if err := d.checkAgainst(log); err != nil {
			t.Fatal(err)
		}
		r := d.report()
		if k.bites != (r.Late > late) || r.Late < late || late == 0 {
			t.Errorf("step of %v: %d records are late, %d by their own times", k.back, r.Late, late)
		}
	}
}
