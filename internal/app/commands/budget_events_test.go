package commands

import (
	"encoding/json"
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

// Events that are printed for a group cost one user what the mechanisms cost the group.
func TestBudgetEventsOfAGroupCostWhatTheGroupDoes(t *testing.T) {
	t.Parallel()
	mechanisms := strings.Fields("--group 3 --mechanism gaussian:sigma=20:count=5 --mechanism zcdp:rho=0.001")
	code, printed, stderr := run(t, append([]string{"budget", "compose", "--print-dp-events"}, mechanisms...)...)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	file := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(file, []byte(printed), 0o600); err != nil {
		t.Fatal(err)
	}
	want := composed(t, append(mechanisms, "--delta", "1e-6")...)
	if got := composed(t, "--dp-events", file, "--delta", "1e-6"); got.Epsilon != want.Epsilon || got.Accountant != want.Accountant {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// The releases of a budget cost, as events, no more than the budget, and one more release would.
func TestBudgetReleasesAreEventsOfTheBudget(t *testing.T) {
	t.Parallel()
	args := strings.Fields("budget releases --epsilon 1 --delta 1e-6 --accountant gdp --sigma 100 --contribution 2 --print-dp-events")
	code, printed, stderr := run(t, args...)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	var event struct {
		Class string `json:"class_name"`
		Count int
		Event struct {
			Noise float64 `json:"noise_multiplier"`
		}
	}
	if err := json.Unmarshal([]byte(printed), &event); err != nil || event.Class != "SelfComposedDpEvent" || event.Event.Noise != 50 {
		t.Fatalf("%s: %v", printed, err)
	}
	file := filepath.Join(t.TempDir(), "event.json")
	for more, fits := range []bool{true, false} {
		text, err := json.Marshal(event.Count + more)
		if err != nil {
			t.Fatal(err)
		}
		one := strings.Replace(printed, `"count": `, `"count": `+string(text)+`, "was": `, 1)
		one = one[:strings.Index(one, `, "was"`)] + "}"
		if err := os.WriteFile(file, []byte(one), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := composed(t, "--dp-events", file, "--delta", "1e-6"); got.Epsilon <= 1 != fits {
			t.Errorf("%d releases cost %v", event.Count+more, got.Epsilon)
		}
	}
	code, _, stderr = run(t, strings.Fields("budget releases --epsilon 0.01 --delta 1e-6 --accountant gdp --sigma 1 --print-dp-events")...)
	if code != exitUsage || !strings.Contains(stderr, "--print-dp-events: the budget has 0 releases") {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}

func TestBudgetEventsRefuseBadInput(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(file, []byte(`{"module_name": "dp_accounting.dp_event", "class_name": "NonPrivateDpEvent"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"--dp-events " + file, "event (NonPrivateDpEvent): no privacy is promised"},
		{"--dp-events " + file + ".gone", "--dp-events: open"},
		{"--dp-events " + file + " --mechanism gaussian:sigma=1", "either --mechanism or --dp-events"},
	} {
		code, stdout, stderr := run(t, append([]string{"budget", "compose", "--delta", "1e-6"}, strings.Fields(c.args)...)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", c.args, code, stdout, stderr)
		}
	}
}
