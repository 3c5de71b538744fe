package settings

import "time"

// Parts of values that absent fields have if they depend on other fields.
const (
	DefaultSlack = 5 * time.Second // of time.slack, with append times

	FewSlots, ManySlots = 64, 1024 // range of ledger_slots
)

// DefaultRanks returns the ranks of quantiles.
func DefaultRanks() []float64 { return []float64{0.5, 0.95, 0.99} }
