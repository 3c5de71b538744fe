package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
)

// Without --config the variable says which file it is, and then its usual name; --config wins.
func TestTheUsualConfiguration(t *testing.T) {
	dir := t.TempDir()
	body, err := os.ReadFile(commandtest.DeploymentFile(t, "localhost:1"))
	if err != nil {
		t.Fatal(err)
	}
	for name, epsilon := range map[string]string{"tollgate.yaml": "4", "other.yaml": "5", "third.yaml": "6"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Replace(string(body), "epsilon: 4", "epsilon: "+
			epsilon, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, c := range []struct {
		variable string
		args     []string
		want     string
	}{{"", nil, "(4, 1e-06)"}, {"other.yaml", nil, "(5, 1e-06)"}, {"other.yaml", []string{"--config", "third.yaml"},
		"(6, 1e-06)"}} {
		var out, errs strings.Builder
		a := &command.App{Stdout: &out, Stderr: &errs, Getenv: func(name string) string {
			return map[string]string{"TOLLGATE_CONFIG": c.variable}[name]
		}}
		if code := command.Execute(t.Context(), a, rootCommand, append([]string{"validate", "--offline"},
			c.args...)); code != command.ExitOK || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q %v: exit %d, %s%s", c.variable, c.args, code, &out, &errs)
		}
	}
	// A variable that is set for one field is used, and one that sets none is refused.
	for variable, want := range map[string]string{"TOLLGATE__PRIVACY__EPSILON": "(3, 1e-06)",
		"TOLLGATE__PRIVACY__EPS": "there is no field"} {
		var out strings.Builder
		a := &command.App{Stdout: &out, Stderr: &out, Variables: func() []string { return []string{variable, "HOME"} },
			Getenv: func(name string) string { return map[string]string{variable: "3"}[name] }}
		if command.Execute(t.Context(), a, rootCommand, []string{"validate",
			"--offline"}); !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", variable, &out)
		}
	}
}
