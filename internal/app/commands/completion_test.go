package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// Without --config the variable says which file it is, and then its usual name; --config wins.
func TestTheUsualConfiguration(t *testing.T) {
	dir := t.TempDir()
	body := must.Have(os.ReadFile(commandtest.DeploymentFile(t, "localhost:1")))
	for name, epsilon := range map[string]string{"tollgate.yaml": "4", "other.yaml": "5", "third.yaml": "6"} {
		text := strings.Replace(string(body), "epsilon: 4", "epsilon: "+epsilon, 1)
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
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
