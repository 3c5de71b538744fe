package spend

import (
	"testing"
)

// TestARestartNeedsTheTurnsSinceTheSnapshotOnly: settlements before it are not
// asked for, so that control need not be read years back.
func TestARestartNeedsTheTurnsSinceTheSnapshotOnly(t *testing.T) {
	s := oneMetric()
	s.slots = 8
	w := mustWorld(t, s)
	mustPlay(t, w, 1, 40)
	if err := w.restart(); err != nil {
		t.Fatal(err)
	}
	clear(w.settlements.asked)
	mustPlay(t, w, 41, 41)
	for turn := range w.settlements.asked {
		if turn < 41-uint64(s.slots)/2-1 {
			t.Errorf("the settlement of turn %d was asked for", turn)
		}
	}
}
