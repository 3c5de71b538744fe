package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
)

// buildVariable holds flags for building the runner, such as -race.
const buildVariable = "TOLLGATE_CAMPAIGN_BUILD"

// buildRunner makes the binary that people run, with flags of go build.
func buildRunner(t testing.TB, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		unavailable(t, fmt.Errorf("the runner cannot be built: %w", err))
	}
	binary := filepath.Join(t.TempDir(), "runner")
	args := slices.Concat([]string{"build", "-o", binary}, flags, strings.Fields(os.Getenv(buildVariable)),
		[]string{"./cmd/runner"})
	cmd := exec.Command("go", args...)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		unavailable(t, fmt.Errorf("building the runner: %w\n%s", err, out))
	}
	return binary
}

// proc is a process of the runner.
type proc struct {
	name   string // as in "run 17"
	args   []string
	cmd    *exec.Cmd
	stdout string // file
	stderr *await.Buffer
	began  time.Time
	from   seen // state of control when it was started
	gone   chan struct{}
	err    error  // how it ended; set before gone is closed
	before string // stderr before it was made to print its stacks
	named  bool   // in a failure already
}

// launch starts the binary with its output in a file.
func launch(t testing.TB, name, binary, dir string, args ...string) *proc {
	t.Helper()
	p := &proc{name: name, args: args, stdout: filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".out")}
	out, err := os.Create(p.stdout)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	p.start(t, binary, out)
	return p
}

func (p *proc) start(t testing.TB, binary string, out *os.File) {
	t.Helper()
	p.stderr, p.gone, p.began = &await.Buffer{}, make(chan struct{}), time.Now()
	p.cmd = exec.Command(binary, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = out, p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", p.name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.gone)
	}()
	t.Cleanup(p.kill)
}

func (p *proc) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill ends the process as kill −9 does and waits until it is gone.
func (p *proc) kill() {
	p.signal(syscall.SIGKILL)
	<-p.gone
}

func (p *proc) alive() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// ends waits for the end of the process.
func (p *proc) ends(within time.Duration) bool {
	select {
	case <-p.gone:
		return true
	case <-time.After(within):
		return false
	}
}

// stacks makes a hung process print its stacks, and ends it.
func (p *proc) stacks() {
	if !p.alive() {
		return
	}
	p.before = tail(p.stderr) + "\nand, made to print its stacks:\n"
	p.signal(syscall.SIGCONT)
	p.signal(syscall.SIGQUIT)
	if !p.ends(10 * time.Second) {
		p.kill()
	}
}

// code returns the exit status, −1 after a signal.
func (p *proc) code() int {
	var exit *exec.ExitError
	switch {
	case p.err == nil:
		return 0
	case errors.As(p.err, &exit):
		return exit.ExitCode()
	}
	return -2
}

func (p *proc) said(words ...string) bool {
	text := p.stderr.String()
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// superseded reports whether the process ended because another one superseded it, and logged
// nothing worse.
func (p *proc) superseded() bool { return p.code() == 1 && p.said("taken over", "superseded") }

func (p *proc) String() string {
	how := "is running"
	if !p.alive() {
		how = fmt.Sprintf("ended with code %d", p.code())
	}
	said := tail(p.stderr)
	if p.before != "" {
		said = p.before + ownStacks(p.stderr.String())
	}
	return fmt.Sprintf("%s (%s, %.1f s) %s; its stderr:\n%s", p.name, strings.Join(p.args, " "),
		time.Since(p.began).Seconds(), how, said)
}

// ownStacks keeps the stacks that have a function of ours in them, without arguments.
func ownStacks(dump string) string {
	var out strings.Builder
	for stack := range strings.SplitSeq(dump, "\n\n") {
		if !strings.HasPrefix(stack, "goroutine ") {
			continue
		}
		var ours []string
		for line := range strings.SplitSeq(stack, "\n") {
			if strings.HasPrefix(line, "github.com/tollgate-dp/") || strings.HasPrefix(line, "main.") {
				ours = append(ours, line[:max(0, strings.LastIndex(line, "("))])
			}
		}
		if head, _, _ := strings.Cut(stack, "\n"); len(ours) > 0 && out.Len() < 6000 {
			fmt.Fprintf(&out, "%s\n  %s\n", head, strings.Join(ours, "\n  "))
		}
	}
	return out.String()
}

// alarming are words that no run of a sound deployment logs under any fault, not even a run that
// lost a race for an epoch.
var alarming = []string{
	"panic:", "fatal error:", "DATA RACE", "lost records", "cannot be trusted", "does not hold", "no ledger record",
	"has stopped itself",
	"published values and the log differ",
}
