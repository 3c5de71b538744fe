package controllog

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// The HEADER of a deployment that an earlier version has begun names that version's format, and
// what to do; it is never taken for damage.
func TestDeploymentsOfAnOlderFormatAreRefusedByName(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "header_v3.golden"))
	if err != nil {
		t.Fatal(err)
	}
	old, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	_, ours, err := Decode(&kafkalog.Record{Value: old})
	if !ours || !errors.Is(err, schemas.ErrVersion) || !errors.Is(err, deployment.ErrLogFault) {
		t.Fatal(ours, err)
	}
	for _, want := range []string{"version 3 of the control log", "version 4", "an earlier version of tollgate", "drain", "tollgate init", "offset 0"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
}

// inJSON is an encoding of counts for headers of which a test looks at other things.
var inJSON = schemas.CountsEncoding{Format: schemas.CountsJSON}
