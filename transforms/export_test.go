package transforms

import "github.com/tollgate-dp/tollgate/state"

// LedgerOf reads what InState keeps in keyed state.
func LedgerOf(meta, base []byte, deltas [][]byte) ([]state.LedgerRecord, error) {
	l, err := loadLedger(brokenState{meta, base, deltas})
	if err != nil {
		return nil, err
	}
	return l.records, nil
}
