package realflink_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/process"
	"github.com/tollgate-dp/tollgate/internal/testing/realflink"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a cluster where one is demanded: it fetches some hundred megabytes.
func start(t *testing.T, o realflink.Options) *realflink.Cluster {
	t.Helper()
	if os.Getenv("TOLLGATE_REQUIRE_FLINK") != "1" {
		t.Skip("fetches Flink and starts JVMs: `.ci/run flink` runs it, or TOLLGATE_REQUIRE_FLINK=1")
	}
	c, err := realflink.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Logs())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	tools := t.TempDir()
	for _, name := range []string{"bash", "sh", "sed", "sort", "head", "cut", "grep", "env", "dirname", "sha256sum", "find", "cat", "mktemp", "mkdir", "rm", "chmod", "mv"} {
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				ok(t, os.Symlink(filepath.Join(dir, name), filepath.Join(tools, name)))
				break
			}
		}
	}
	t.Setenv("PATH", tools)
	t.Setenv("TOLLGATE_FLINK_DIR", t.TempDir())
	refused := func(want string) {
		t.Helper()
		if _, err := realflink.Start(context.Background(), realflink.Options{}); !errors.Is(err, realflink.ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("Start = %v, want %q and ErrUnavailable", err, want)
		}
	}
	program := func(name, script string) {
		ok(t, os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	refused("java is not in the path")
	program("java", `echo 'openjdk version "11.0.2" 2019-01-15' >&2`)
	refused("is of version 11: JDK 17 or newer is needed")
	program("java", `echo 'openjdk version "17.0.15" 2025-04-15' >&2`)
	refused("mvn is not in the path")
	program("mvn", "exit 1")
	refused("mvn could not bring what is needed")
	left, err := filepath.Glob(filepath.Join(os.Getenv("TOLLGATE_FLINK_DIR"), "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("what failed has left %v, %v", left, err)
	}
}

// Everything that can die dies, and comes back.
func TestAClusterComesBackAfterDeaths(t *testing.T) {
	c := start(t, realflink.Options{TaskManagers: 2, Slots: 3})
	total, free, err := c.Slots(t.Context())
	if err != nil || total != 6 || free != 6 {
		t.Fatalf("%d slots, %d of them free, %v; want 6", total, free, err)
	}
	c.KillTaskManager(0)
	ok(t, c.RestartTaskManager(t.Context(), 0))
	ok(t, c.AwaitSlots(t.Context(), 6)) // those of the dead one are given up

	c.KillJobManager()
	if _, _, err := c.Slots(t.Context()); err == nil {
		t.Error("a JobManager that was killed answers")
	}
	ok(t, c.StartJobManager(t.Context()))
	ok(t, c.AwaitSlots(t.Context(), 6))

	i, err := c.StartTaskManager(t.Context())
	if err != nil || i != 2 {
		t.Fatalf("StartTaskManager = %d, %v; want number 2", i, err)
	}
	ok(t, c.AwaitSlots(t.Context(), 9))
	files, err := c.LogFiles()
	if err != nil || len(files) != 6 { // four processes, two of which were started again
		t.Errorf("logs %v, %v; want one for each of 6 starts", files, err)
	}
}

// A frozen TaskManager is given up after the heartbeat timeout, and is back when it goes on.
func TestAFrozenTaskManagerIsGivenUpAndComesBack(t *testing.T) {
	c := start(t, realflink.Options{TaskManagers: 2, Slots: 1, Settings: map[string]string{"heartbeat.timeout": "4000", "heartbeat.interval": "1000"}})
	ok(t, c.FreezeTaskManager(1))
	ok(t, c.AwaitSlots(t.Context(), 1))
	ok(t, c.ThawTaskManager(1))
	ok(t, c.AwaitSlots(t.Context(), 2))
}

// Workers are known by the environment that they inherit, whatever becomes of their parent.
func TestWorkersAreFoundFrozenAndKilled(t *testing.T) {
	dir := t.TempDir()
	c := start(t, realflink.Options{TaskManagers: 2, Slots: 1, Dir: dir})
	worker := func(taskManager string) *process.Process {
		cmd := exec.Command("sleep", "300")
		cmd.Env = append(os.Environ(), "TOLLGATE_FLINK_RUN="+dir, "TOLLGATE_TASKMANAGER="+taskManager)
		p, err := process.Start(cmd, filepath.Join(t.TempDir(), "log"))
		ok(t, err)
		t.Cleanup(p.Kill)
		return p
	}
	found := func(find func() ([]int, error), want ...int) {
		t.Helper()
		slices.Sort(want)
		if got, err := find(); err != nil || !slices.Equal(got, want) {
			t.Errorf("workers %v, %v; want %v", got, err, want)
		}
	}
	found(c.Workers)
	a, b, left := worker("taskmanager-0"), worker("taskmanager-1"), worker("taskmanager-1")
	found(c.Workers, a.Pid(), b.Pid(), left.Pid())
	found(func() ([]int, error) { return c.WorkersOf(0) }, a.Pid())

	state := func(p *process.Process) string {
		said, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid()))
		ok(t, err)
		return strings.Fields(string(said))[2]
	}
	ok(t, c.FreezeTaskManager(1))
	await.That(t, time.Minute, "the workers of TaskManager 1 are stopped", func() bool {
		return state(b) == "T" && state(left) == "T" && state(a) == "S"
	})
	ok(t, c.ThawTaskManager(1))
	await.That(t, time.Minute, "they go on", func() bool { return state(b) == "S" && state(left) == "S" })

	ok(t, c.KillWorker(a.Pid()))
	<-a.Gone()
	if err := c.KillWorker(os.Getpid()); err == nil {
		t.Error("a process that is no worker would have been killed")
	}
	c.KillTaskManager(1)
	ok(t, c.KillWorker(b.Pid())) // also one whose TaskManager is gone
	<-b.Gone()
	ok(t, c.Close())
	<-left.Gone()
}

func TestATemporaryDirectoryIsRemoved(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	c := start(t, realflink.Options{})
	ok(t, c.Close())
	await.That(t, time.Minute, "no file is left", func() bool {
		left, err := os.ReadDir(temp)
		return err == nil && len(left) == 0
	})
}

func TestAClusterThatCannotStartSaysWhy(t *testing.T) {
	start(t, realflink.Options{}) // skips
	_, err := realflink.Start(t.Context(), realflink.Options{Settings: map[string]string{"heartbeat.timeout": "never"}})
	if err == nil || !strings.Contains(err.Error(), "heartbeat.timeout") {
		t.Errorf("Start = %v, want Flink's own words", err)
	}
}
