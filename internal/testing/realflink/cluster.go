package realflink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/process"
)

// Options configures a cluster. The zero value is one TaskManager with four slots.
type Options struct {
	TaskManagers int      // 0 means 1
	Slots        int      // slots of each TaskManager; 0 means 4
	Env          []string // variables for all processes and workers, as "NAME=value"
}

// Cluster is a session cluster. Except for URL, its methods are not safe for concurrent use.
type Cluster struct {
	script       string
	dir          string   // holds logs and uploaded jars; Close removes it
	settings     []string // -D key=value …
	env          []string
	slots        int
	restAddr     string // host:port
	jobManager   *node
	taskManagers []*node // including killed ones
}

// A node is a JobManager or a TaskManager, which may be started several times.
type node struct {
	name   string
	starts int
	frozen []int // pids
	*process.Process
}

// startTimeout is long because several JVMs start at the same time on a shared machine.
const startTimeout = 90 * time.Second

// Environment variables of a TaskManager and its workers.
const (
	taskManagerVariable = "TOLLGATE_TASKMANAGER" // name of the TaskManager
	clusterVariable     = "TOLLGATE_FLINK_RUN"   // the cluster's directory; also read by the script
)

// Start starts a cluster and returns once all its slots are available. If this machine cannot run a
// cluster, it returns ErrUnavailable with a remedy. The caller must Close the cluster.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	script, err := prepare(ctx)
	if err != nil {
		return nil, err
	}
	addrs, err := process.FreeAddrs(2)
	if err != nil {
		return nil, err
	}
	c := &Cluster{script: script, restAddr: addrs[0], slots: cmp.Or(max(o.Slots, 0), 4)}
	if c.dir, err = os.MkdirTemp("", "tollgate-flink-"); err != nil {
		return nil, fmt.Errorf("making a directory for a cluster: %w", err)
	}
	c.env = append(append(os.Environ(), o.Env...), clusterVariable+"="+c.dir)
	_, restPort, _ := strings.Cut(addrs[0], ":")
	_, rpcPort, _ := strings.Cut(addrs[1], ":")
	c.settings = []string{"-D", "rest.address=127.0.0.1", "-D", "rest.bind-address=127.0.0.1",
		"-D", "rest.port=" + restPort, "-D", "jobmanager.rpc.port=" + rpcPort}
	if err := c.start(ctx, max(o.TaskManagers, 1)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// start starts all processes before it waits for any, so that the JVMs start concurrently.
func (c *Cluster) start(ctx context.Context, taskManagers int) error {
	c.jobManager = &node{name: "jobmanager"}
	if err := c.launch(c.jobManager); err != nil {
		return err
	}
	for range taskManagers {
		if _, err := c.addTaskManager(); err != nil {
			return err
		}
	}
	if err := c.awaitJobManager(ctx); err != nil {
		return err
	}
	for _, tm := range c.taskManagers {
		if err := c.awaitTaskManager(ctx, tm); err != nil {
			return err
		}
	}
	return nil
}

// URL returns the address of the REST interface: http://127.0.0.1:PORT.
func (c *Cluster) URL() string { return "http://" + c.restAddr }

// launch starts a node's process.
func (c *Cluster) launch(n *node) error {
	n.starts++
	args := []string{"jobmanager"}
	env := c.env
	if n != c.jobManager {
		args = []string{"taskmanager", n.name}
		env = append(slices.Clone(env), taskManagerVariable+"="+n.name)
	}
	args = append(args, c.settings...)
	if n != c.jobManager {
		args = append(args, "-D", fmt.Sprintf("taskmanager.numberOfTaskSlots=%d", c.slots), "-D",
			"taskmanager.resource-id="+n.id())
	}
	cmd := exec.Command(c.script, args...)
	cmd.Dir, cmd.Env = c.dir, env
	p, err := process.Start(cmd, c.log(n))
	if err != nil {
		return err
	}
	n.Process = p
	return nil
}

// id returns the id of the node, which is different on each start, because the JobManager remembers
// a killed TaskManager's id until the heartbeat times out.
func (n *node) id() string { return fmt.Sprintf("%s-%d", n.name, n.starts) }

func (c *Cluster) log(n *node) string { return filepath.Join(c.dir, n.id()+".log") }

// KillJobManager kills the JobManager with SIGKILL. Without high availability it forgets its jobs.
func (c *Cluster) KillJobManager() { c.jobManager.Kill() }

// StartJobManager restarts a killed JobManager on the same ports, and returns once it responds.
// TaskManagers reconnect by themselves.
func (c *Cluster) StartJobManager(ctx context.Context) error {
	if err := c.launch(c.jobManager); err != nil {
		return err
	}
	return c.awaitJobManager(ctx)
}

// TaskManagers returns how many TaskManagers were started, including killed ones.
func (c *Cluster) TaskManagers() int { return len(c.taskManagers) }

func (c *Cluster) addTaskManager() (*node, error) {
	tm := &node{name: fmt.Sprintf("taskmanager-%d", len(c.taskManagers))}
	if err := c.launch(tm); err != nil {
		return nil, err
	}
	c.taskManagers = append(c.taskManagers, tm)
	return tm, nil
}

// KillTaskManager kills TaskManager i, counted from 0, with SIGKILL. It does not kill the workers.
func (c *Cluster) KillTaskManager(i int) { c.taskManagers[i].Kill() }

// RestartTaskManager restarts TaskManager i after it was killed, as a supervisor would. It returns
// once the TaskManager has registered.
func (c *Cluster) RestartTaskManager(ctx context.Context, i int) error {
	if err := c.launch(c.taskManagers[i]); err != nil {
		return err
	}
	return c.awaitTaskManager(ctx, c.taskManagers[i])
}

// Logs returns the end of each process's log, for failure messages.
func (c *Cluster) Logs() string {
	var logs strings.Builder
	for _, n := range append([]*node{c.jobManager}, c.taskManagers...) {
		fmt.Fprintf(&logs, "--- %s\n%s\n", n.id(), process.Tail(c.log(n)))
	}
	return logs.String()
}

// Close kills all processes and workers, and removes the files. Further calls do nothing.
func (c *Cluster) Close() error {
	for _, tm := range c.taskManagers {
		tm.Kill()
	}
	if c.jobManager != nil {
		c.jobManager.Kill()
	}
	err := c.killRemaining()
	if rmErr := os.RemoveAll(c.dir); rmErr != nil {
		err = errors.Join(err, fmt.Errorf("removing a cluster's files: %w", rmErr))
	}
	return err
}
