package schemas

import (
	"errors"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/state/accounts"
)

// A record of another version is never called damaged: its error says whether that version is
// earlier or later, and what to do.
func TestRecordsOfOtherVersionsNameTheVersion(t *testing.T) {
	ledger := func(part, body byte) error {
		records, err := EncodeDelta(Delta{Turn: 1}, 64, 1000)
		if err != nil {
			t.Fatal(err)
		}
		p, err := DecodeLedgerPart(records[0].Key, records[0].Value)
		if err != nil {
			t.Fatal(err)
		}
		value := records[0].Value
		value[3] = part
		p.Chunk[3] = body
		key, err := CheckLedgerVersion(records[0].Key, value)
		if part == KindDeltaPart.version() && key.Kind != KindDeltaPart {
			t.Error("the first part is not found")
		}
		return err
	}
	snapshot := func(at int) error {
		accounts := []accounts.Entry{{ID: accounts.ID{1}, Account: accounts.Account{Spent: 1}}}
		records, err := EncodeSnapshot(Snapshot{Turn: 1, Accounts: accounts}, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		p, err := DecodeLedgerPart(records[0].Key, records[0].Value)
		if err != nil {
			t.Fatal(err)
		}
		p.Chunk[at] = 9
		if _, err := decodeSnapshotBody(p.Chunk); !errors.Is(err, ErrVersion) {
			t.Errorf("the whole snapshot: %v", err)
		}
		_, err = CheckLedgerVersion(records[0].Key, records[0].Value)
		return err
	}
	const accountsAt = preambleBytes + 1 // after the turn
	_, control := DecodeControl([]byte{magic0, magic1, 14, 4, 0})
	_, later := DecodeControl([]byte{magic0, magic1, byte(KindEpoch), 5, 0})
	_, foreign := DecodeLedgerPart([]byte("later/1"), []byte{magic0, magic1, 25, 2})
	for want, err := range map[string]error{
		"a later version of tollgate wrote it, one that knows records of kind 14":                  control,
		"a later version of tollgate wrote it, one with version 5 of the control log":              later,
		"a later version of tollgate wrote it, one that knows records of kind 25":                  foreign,
		"an earlier version of tollgate wrote it, one with version 2 of the ledger delta":          ledger(2, 2),
		"a later version of tollgate wrote it, one with version 9 of the ledger delta (":           ledger(2, 9),
		"a later version of tollgate wrote it, one with version 7 of the ledger delta part (its d": ledger(7, 3),
		"a later version of tollgate wrote it, one with version 9 of the ledger snapshot (":        snapshot(preambleBytes - 1),
		"a later version of tollgate wrote it, one with version 9 of the accounts (its d":          snapshot(accountsAt + 1),
	} {
		var other *MalformedError
		if !errors.Is(err, ErrVersion) || errors.Is(err, ErrMalformed) || !errors.As(err, &other) || !strings.Contains(other.Remedy(), want) {
			t.Errorf("%v: it does not say %q", err, want)
		}
	}
	if err := ledger(2, 3); err != nil {
		t.Error(err)
	}
}

// Checks of a ledger's versions read the beginning of a snapshot, not the open slices at its end.
func TestTheVersionOfASnapshotMovesWithThatOfItsOpenSlices(t *testing.T) {
	if a, b := KindSnapshotBody.version(), KindOpenSlice.version(); a != 2 || b != 2 {
		t.Errorf("snapshots are of version %d and open slices of version %d: raise both, and then this test", a, b)
	}
}
