package spend

import "fmt"

// StopError means that the deployment must stop until an operator has examined it: the log and the
// ledger differ, a budget would be exceeded, or records were lost. Its text contains no private
// data.
type StopError struct {
	Shard  int
	Turn   uint64
	Reason string
	Err    error
}

// Error implements error.
func (e *StopError) Error() string {
	text := fmt.Sprintf("stopping at turn %d, shard %d: %s", e.Turn, e.Shard, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *StopError) Unwrap() error { return e.Err }
