package budget

import (
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
)

func run(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return commandtest.Run(t, commandtest.Of(Command), args...)
}
