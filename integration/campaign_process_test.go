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

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// buildVariable has further flags for building the runner, such as -race.
const buildVariable = "TOLLGATE_CAMPAIGN_BUILD"

// buildRunner builds the binary that people run, with flags of go build.
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
	*process
	name   string // as in "run 17"
	args   []string
	stdout string // file
	began  time.Time
	from   seen   // state of control at its start
	before string // stderr before its stacks were printed
	named  bool   // in a failure
}

// launch starts the binary with its output in a file.
func launch(t testing.TB, name, binary, dir string, args ...string) *proc {
	t.Helper()
	p := &proc{name: name, args: args, stdout: filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".out"),
		began: time.Now()}
	out := must.Have(os.Create(p.stdout))
	defer func() { _ = out.Close() }()
	cmd := exec.Command(binary, args...)
	cmd.Stdout = out
	p.process = startProcess(t, cmd, func() {})
	return p
}

// stacks makes a hung process print its stacks, and ends it.
func (p *proc) stacks() {
	if !p.alive() {
		return
	}
	p.before = tail(&p.stderr) + "\nand, made to print its stacks:\n"
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

// logged reports whether stderr has one of these texts.
func (p *proc) logged(words ...string) bool {
	text := p.stderr.String()
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// superseded reports whether the process ended because another one superseded it.
func (p *proc) superseded() bool { return p.code() == 1 && p.logged("taken over", "superseded") }

func (p *proc) String() string {
	how := "is running"
	if !p.alive() {
		how = fmt.Sprintf("ended with code %d", p.code())
	}
	output := tail(&p.stderr)
	if p.before != "" {
		output = p.before + ownStacks(p.stderr.String())
	}
	return fmt.Sprintf("%s (%s, %.1f s) %s; its stderr:\n%s", p.name, strings.Join(p.args, " "),
		time.Since(p.began).Seconds(), how, output)
}

// ownStacks returns the stacks that have a function of this module, without arguments.
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

// alarming has texts that no run of a sound deployment logs under any fault, not even one that lost
// a race for an epoch.
var alarming = []string{
	"panic:", "fatal error:", "DATA RACE", "lost records", "cannot be trusted", "does not hold", "no ledger record",
	"has stopped itself", "published values and the log differ",
}
