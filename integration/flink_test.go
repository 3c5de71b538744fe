package integration

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/realflink"
)

const (
	flinkVariable       = "TOLLGATE_FLINK"
	flinkFaultsVariable = "TOLLGATE_FLINK_FAULTS" // number of killed workers; other faults are in proportion
)

// flinkCampaign is a campaign on a Flink cluster.
type flinkCampaign struct {
	*campaign
	cluster *realflink.Cluster
	s       *subject
}

// flinkSlots is the number of slots of each of three TaskManagers: one of them may be away.
const flinkSlots = 2

// The real binary runs on a real Flink cluster and a real broker. Workers, TaskManagers, the
// JobManager and submitters are killed, a TaskManager is frozen for a minute, and jobs are
// submitted twice, or drained and submitted at another parallelism. The counts equal the sequential
// reference's and, byte for byte, the counts of an undisturbed run in one process.
func TestInvariant5AFlinkCampaignChangesNothing(t *testing.T) {
	if os.Getenv(flinkVariable) != "1" {
		t.Skipf("faults on a real cluster of Flink take minutes: `.ci/run flink`, or %s=1 (%s chooses how many)",
			flinkVariable, flinkFaultsVariable)
	}
	kills := int(number(t, flinkFaultsVariable, 30))
	f := startFlinkCampaign(t)
	for i := range kills {
		f.befalls(f.s, "worker killed", f.workerKilled)
		if i%3 == 2 {
			f.befalls(f.s, "TaskManager killed", f.taskManagerKilled)
		}
		if i%10 == 4 {
			f.befalls(f.s, "JobManager killed", f.jobManagerKilled)
			f.befalls(f.s, "drained, and another parallelism", f.otherParallelism)
			f.befalls(f.s, "two jobs", f.twoJobs)
			f.befalls(f.s, "submitter killed", func() bool { return f.lose(f.s) })
		}
		if i == kills/2 {
			f.befalls(f.s, "TaskManager frozen", f.taskManagerFrozen)
		}
	}
	f.faultNow = "the last run"
	row := subjectRow{name: f.s.settings.name}
	f.finish(f.s, &row)
	f.rows = append(f.rows, row)
	f.table()
}

func startFlinkCampaign(t *testing.T) *flinkCampaign {
	t.Helper()
	cluster := startFlink(t, realflink.Options{TaskManagers: 3, Slots: flinkSlots})
	f := &flinkCampaign{campaign: startCampaign(t, 13, "-tags", "flink"), cluster: cluster}
	f.s = f.newSubject(subjectSettings{name: "campaign-flink", window: 10 * time.Second, slots: 10}, base)
	f.atParallelism(2)
	f.run(f.s)
	return f
}

// startFlink starts a cluster, or skips the test if this machine cannot run one.
func startFlink(t testing.TB, o realflink.Options) *realflink.Cluster {
	t.Helper()
	cluster, err := realflink.Start(t.Context(), o)
	if errors.Is(err, realflink.ErrUnavailable) && os.Getenv("TOLLGATE_REQUIRE_FLINK") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(cluster.Logs())
		}
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

func (f *flinkCampaign) atParallelism(n int) { f.s.args = f.flags(n) }

// flags returns the flags of a run on the cluster.
func (f *flinkCampaign) flags(parallelism int) []string {
	return []string{"--engine", "flink", "--flink", f.cluster.URL(), "--parallelism", strconv.Itoa(parallelism)}
}

func (f *flinkCampaign) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatalf("%s: %v", f.faultNow, err)
	}
}

func (f *flinkCampaign) workerKilled() bool {
	hit := f.open(f.s)
	workers, err := f.cluster.Workers()
	f.must(err)
	if len(workers) == 0 {
		f.complain(f.s.current, "no TaskManager has a worker")
		return false
	}
	f.must(f.cluster.KillWorker(workers[f.random.IntN(len(workers))]))
	return hit
}

// taskManagerKilled kills a TaskManager and starts it again, as a supervisor would.
func (f *flinkCampaign) taskManagerKilled() bool {
	hit, n := f.open(f.s), f.random.IntN(f.cluster.TaskManagers())
	f.cluster.KillTaskManager(n)
	f.must(f.cluster.RestartTaskManager(f.t.Context(), n))
	return hit
}

// jobManagerKilled kills the JobManager. It restarts without the job, which is submitted again.
func (f *flinkCampaign) jobManagerKilled() bool {
	hit := f.open(f.s)
	f.cluster.KillJobManager()
	f.must(f.cluster.StartJobManager(f.t.Context()))
	return hit
}

// taskManagerFrozen freezes a TaskManager and its workers until the job has long continued
// elsewhere.
func (f *flinkCampaign) taskManagerFrozen() bool {
	hit, frozen := f.open(f.s), 0
	for n := range f.cluster.TaskManagers() { // choose one that has workers
		workers, err := f.cluster.WorkersOf(n)
		f.must(err)
		if len(workers) > 0 {
			frozen = n
		}
	}
	f.must(f.cluster.FreezeTaskManager(frozen))
	began := time.Now()
	f.moves(f.s, f.s.current, 5)
	time.Sleep(time.Minute - time.Since(began)) // the duration is a part of the fault
	f.must(f.cluster.ThawTaskManager(frozen))
	f.moves(f.s, f.s.current, 20)
	return hit
}

func (f *flinkCampaign) otherParallelism() bool {
	hit := f.open(f.s)
	f.drained(f.s)
	f.atParallelism(1 + f.random.IntN(3))
	return hit
}

func (f *flinkCampaign) twoJobs() bool {
	hit, older := f.open(f.s), f.s.current
	f.run(f.s)
	f.isSuperseded(older)
	return hit
}

// The same log gives the same counts and tallies in one process and on Flink, at every parallelism,
// with one READ or several.
func TestInvariant5SameOutputOnFlink(t *testing.T) {
	if os.Getenv(flinkVariable) != "1" {
		t.Skipf("a real cluster of Flink takes a while: `.ci/run flink`, or %s=1", flinkVariable)
	}
	f := &flinkCampaign{cluster: startFlink(t, realflink.Options{Slots: 4}), campaign: startCampaign(t, 14, "-tags",
		"flink")}
	f.faultNow = "undisturbed"
	f.s = f.newSubject(subjectSettings{name: "campaign-same", broker: f.broker.Addr(),
		window: 10 * time.Second, slots: 10}, base)
	await.That(t, patience, "there are windows", func() bool { return f.s.feed.ready(ahead) })
	f.s.feed.finish(t)
	tallies := f.toTheEnd(f.s)
	if err := f.s.check(); err != nil {
		t.Error(err)
	}
	counts := must.Have(f.s.readCounts())
	for _, parallelism := range []int{1, 2, 4} {
		twin := f.calm(f.s, fmt.Sprint("flink-", parallelism))
		twin.args = f.flags(parallelism)
		f.sameAs(f.s, twin, counts, tallies)
	}
}

// The submitting process reports errors of the start and leaves no job.
func TestRuleFlinkSaysAtTheStartWhatIsWrong(t *testing.T) {
	if os.Getenv(flinkVariable) != "1" {
		t.Skipf("a real cluster of Flink takes a while: `.ci/run flink`, or %s=1", flinkVariable)
	}
	const missing, other = "TOLLGATE_TEST_KEY_MISSING", "TOLLGATE_TEST_KEY_OTHER"
	ours, theirs := strings.Repeat("11", 32), strings.Repeat("22", 32)
	cluster := startFlink(t, realflink.Options{Slots: 2, Env: []string{other + "=" + theirs}})
	t.Setenv(missing, ours) // for the runs, not for the cluster
	t.Setenv(other, ours)
	f := &flinkCampaign{cluster: cluster, campaign: startCampaign(t, 15, "-tags", "flink")}
	f.faultNow = "at the start"
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never responds
	f.must(err)
	defer silent.Close()
	for i, test := range []struct {
		name  string
		env   string // variable of the noise key; empty: a file
		begun func() // called when the job has its slots, before its workers begin
		code  int
		texts []string // on stderr
	}{
		{name: "missing-key", env: missing, code: 1, texts: []string{"a worker could not start", missing}},
		{name: "other-key", env: other, code: 3, texts: []string{"configuration or keys are not the run's",
			"the noise key"}},
		{name: "silent-broker", begun: func() { f.proxy.to(silent.Addr().String()) },
			code: 1, texts: []string{"a worker could not start", "Kafka did not respond to this worker"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := f.newSubject(subjectSettings{name: fmt.Sprint("campaign-wrong", i), window: 10 * time.Second,
				slots: 10, noiseEnv: test.env}, base)
			s.args = f.flags(2)
			p := f.start(s)
			if test.begun != nil {
				await.That(t, patience, "the job has slots", func() bool {
					total, free, err := cluster.Slots(t.Context())
					return err == nil && free < total
				})
				test.begun()
				defer f.proxy.to(f.broker.AddrOf("PROXIED"))
			}
			if !p.ends(endsWithin) || p.code() != test.code {
				t.Errorf("want code %d: %v", test.code, p)
			}
			for _, text := range test.texts {
				if !p.logged(text) {
					t.Errorf("no %q in the log: %v", text, p)
				}
			}
			if left, err := cluster.Unfinished(t.Context()); err != nil || left != 0 {
				t.Errorf("%d jobs are left (%v)", left, err)
			}
		})
	}
}
