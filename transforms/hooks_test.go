package transforms

import (
	"errors"
	"testing"

	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// TestAccountsAreNotKeptTwice: with a ledger, keyed state is a working copy.
func TestAccountsAreNotKeptTwice(t *testing.T) {
	if _, err := InState(spend.Options{Ledger: &stateLedger{}}); err == nil {
		t.Error("a ledger was accepted")
	}
	if _, err := InState(spend.Options{}); err == nil {
		t.Error("an engine without rules was accepted")
	}
}

// brokenState gives a state that was not written as it is.
type brokenState struct {
	meta, base []byte
	deltas     [][]byte
}

func (c brokenState) Load() (meta, base []byte, deltas [][]byte, err error) {
	return c.meta, c.base, c.deltas, nil
}

func (brokenState) Save(_, _, _ []byte) error { return nil }

func FuzzLoadLedger(f *testing.F) {
	f.Add([]byte{stateVersion, 2, 1}, []byte{1, 'k', 1, 'v'}, []byte{2, 1, 'k', 1, 'w'})
	f.Add([]byte{stateVersion, 2, 1}, []byte{1, 'k'}, []byte{1})
	f.Add([]byte{9}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, meta, base, delta []byte) {
		if _, err := loadLedger(brokenState{meta, base, [][]byte{delta}}); err != nil && !errors.Is(err, ErrMalformedState) {
			t.Fatal("untyped error:", err)
		}
	})
}
