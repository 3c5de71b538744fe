package accounts

import (
	"errors"
	"fmt"
)

var (
	// ErrOverBudget is returned by Account.Reserve when the worst case no longer fits the budget.
	// It is an ordinary outcome: the user is left out of the turn, and pays nothing.
	ErrOverBudget = errors.New("worst case does not fit the budget")

	// ErrSettle is returned by Account.Settle if less than the worst case is reserved, or if the
	// charge exceeds the worst case. It means that the caller's records and the account disagree:
	// stop, do not clip.
	ErrSettle = errors.New("settlement does not match the reservation")

	// ErrLowered is returned by Shard.PutAt when an account would lose something it has spent.
	ErrLowered = errors.New("the amount spent in an account cannot be lowered")

	// ErrMoved is returned by Shard.At and PutAt if the index does not belong to the account. No
	// other account is read or written.
	ErrMoved = errors.New("the account is not at this index")

	// ErrShardFull is returned when a Shard would hold more than 2^26 − 1 accounts:
	// run with more shards.
	ErrShardFull = errors.New("a shard holds at most 67108863 accounts; use more shards")

	// ErrReserved is returned by the encoders for an account with an open reservation: only settled
	// accounts are stored.
	ErrReserved = errors.New("an account with an open reservation cannot be stored")
)

// DecodeError reports why bytes are not a valid encoding. Its text mentions positions and lengths,
// never contents.
type DecodeError struct {
	What   string // "accounts", "gdp"
	Reason string
	// Version and Known are the encoding's version and the one that this program supports, if they
	// differ; else 0.
	Version, Known byte
}

// unknownVersion reports an encoding whose version this program does not support.
func unknownVersion(version byte) error {
	return &DecodeError{What: "accounts", Reason: fmt.Sprintf("version %d is not supported, only %d", version,
		accountsV2), Version: version, Known: accountsV2}
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("decoding %s: %s", e.What, e.Reason)
}
