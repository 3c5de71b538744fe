package demo

import (
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/app/commands/validate"
)

var program = commandtest.Of(Command, Plan, validate.Command)

func run(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return commandtest.Run(t, program, args...)
}

func mustRun(t testing.TB, args ...string) (stdout, stderr string) {
	t.Helper()
	return commandtest.MustRun(t, program, args...)
}
