package controllog

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// A record of another version is refused by that name, and never taken for damage. HEADER is read
// before anything is written: its version must rise with every other one.
func TestARecordOfAnotherVersionIsRefused(t *testing.T) {
	value := must.Have(schemas.EncodeControl(schemas.Control{BackEpoch: -1, Body: &schemas.Run{}}))
	value[3]++
	_, ours, err := Decode(&kafkalog.Record{Value: value})
	if !ours || !errors.Is(err, schemas.ErrVersion) || !errors.Is(err, deployment.ErrLogFault) ||
		strings.Contains(err.Error(), "damaged") {
		t.Error(ours, err)
	}
	var versions []int
	for _, f := range schemas.FormatVersions() {
		versions = append(versions, f.Version)
	}
	if want := []int{9, 3, 3, 2}; !slices.Equal(versions, want) {
		t.Errorf("versions %v, want %v: if another one has risen, raise that of the control log, and then this test",
			versions, want)
	}
}

// inJSON is an encoding of counts for headers of tests about other things.
var inJSON = schemas.CountsEncoding{Format: schemas.CountsJSON}
