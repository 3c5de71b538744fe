package embedded

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

func TestASlowCommitIsNoWarning(t *testing.T) {
	var logged bytes.Buffer
	l := logger{slog.New(slog.NewTextHandler(&logged, nil))}
	l.Logf(kfake.LogLevelWarn, slowCommit+" pid=%d elapsed=%dms", 1, 10)
	if logged.Len() > 0 {
		t.Errorf("a machine that is busy is warned of: %s", &logged)
	}
	l.Logf(kfake.LogLevelWarn, "compact: %s", "damaged")
	if !strings.Contains(logged.String(), "damaged") {
		t.Error("other warnings are not told")
	}
}
