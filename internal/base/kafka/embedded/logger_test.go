package embedded

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

func TestASlowCommitIsNoWarning(t *testing.T) {
	var said bytes.Buffer
	l := logger{slog.New(slog.NewTextHandler(&said, nil))}
	l.Logf(kfake.LogLevelWarn, slowCommit+" pid=%d elapsed=%dms", 1, 10)
	if said.Len() > 0 {
		t.Errorf("a machine that is busy is warned of: %s", &said)
	}
	l.Logf(kfake.LogLevelWarn, "compact: %s", "damaged")
	if !strings.Contains(said.String(), "damaged") {
		t.Error("other warnings are not told")
	}
}
