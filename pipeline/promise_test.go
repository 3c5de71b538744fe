package pipeline

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Every generation is on the record with its author and reason, and its digest depends on all
// generations before it: whoever pins a digest has pinned the history.
func TestRuleThePromiseHasEveryGeneration(t *testing.T) {
	t.Parallel()
	d, next := bounded(t, func(*deployment.Config) {})
	first, err := ReadPromise(t.Context(), d)
	if err != nil || len(first) != 1 {
		t.Fatalf("before the change: %+v, %v", first, err)
	}
	ran(t, d)
	next.Privacy.Epsilon /= 2
	must.Have(Change(t.Context(), mustCompile(t, next), ChangeOptions{Now: true, By: "Ada", Why: "ticket 1234"}))
	all, err := ReadPromise(t.Context(), d)
	if err != nil || len(all) != 2 || all[0].Digest != first[0].Digest {
		t.Fatalf("after the change: %+v, %v; before: %+v", all, err, first)
	}
	if g := all[1]; g.By != "Ada" || g.Why != "ticket 1234" || g.Written.Before(all[0].Written) ||
		g.Epsilon != next.Privacy.Epsilon || len(g.Changes) == 0 {
		t.Errorf("the change is recorded as %+v", g)
	}
	previous := ""
	for _, g := range all {
		digest := g.Digest
		g.Digest = ""
		text := must.Have(json.Marshal(g))
		if previous = fmt.Sprintf("%x", sha256.Sum256(append([]byte(previous), text...))); digest != previous {
			t.Errorf("generation %d has the digest %s, want %s", g.Generation, digest, previous)
		}
	}
	other := next
	other.Outputs.Control = "other"
	if _, err := ReadPromise(t.Context(), mustCompile(t, other)); err == nil || errors.Is(err, deployment.ErrLogFault) {
		t.Errorf("a deployment that does not exist: %v", err)
	}
}
