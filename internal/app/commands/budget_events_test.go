package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What --print-dp-events writes costs, read by --dp-events, what the mechanisms themselves cost.
func TestBudgetEventsRoundTrip(t *testing.T) {
	t.Parallel()
	mechanisms := strings.Fields("--mechanism gaussian:sigma=2:sampling=0.01:count=100 --mechanism laplace:scale=10 --mechanism zcdp:rho=0.001")
	code, printed, stderr := run(t, append([]string{"budget", "compose", "--print-dp-events"}, mechanisms...)...)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	file := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(file, []byte(printed), 0o600); err != nil {
		t.Fatal(err)
	}
	want := composed(t, append(mechanisms, "--delta", "1e-6")...)
	if got := composed(t, "--dp-events", file, "--delta", "1e-6"); got.Epsilon != want.Epsilon || got.Mechanisms != want.Mechanisms || got.Accountant != want.Accountant {
		t.Errorf("%+v, want %+v", got, want)
	}
}
