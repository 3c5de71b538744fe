package accounts

import (
	"errors"
	"fmt"
)

var (
	// ErrOverBudget is returned by Account.Reserve if the worst case does not fit into the budget.
	// It is an ordinary outcome: the user is left out of the turn, and pays nothing.
	ErrOverBudget = errors.New("worst case does not fit the budget")

	// ErrSettle is returned by Account.Settle if less than the worst case is reserved, or if the
	// charge exceeds the worst case. It means that the caller's records contradict the account, so
	// the caller must stop.
	ErrSettle = errors.New("settlement does not match the reservation")

	// ErrLowered is returned by Shard.PutAt if Spent would be less than in the stored account.
	ErrLowered = errors.New("the amount spent in an account cannot be lowered")

	// ErrMoved is returned by Shard.At and PutAt if the account is not at the index. They do not
	// access the account that is there.
	ErrMoved = errors.New("the account is not at this index")

	// ErrShardFull is returned if a Shard would hold more than 2^26 − 1 accounts.
	ErrShardFull = errors.New("a shard holds at most 67108863 accounts; use more shards")

	// ErrReserved is returned by Encode and DropBefore for an account with a reservation.
	ErrReserved = errors.New("an account with an open reservation cannot be stored")
)

// DecodeError describes why bytes are not a valid encoding. Its message contains positions and
// lengths, never contents.
type DecodeError struct {
	What   string // "accounts", "gdp"
	Reason string
	// Version is the version of the encoding, and Known is the version that this program supports.
	// Both are 0 if the versions are the same.
	Version, Known byte
}

// unknownVersion returns the error for an encoding whose version this program does not support.
func unknownVersion(version byte) error {
	return &DecodeError{What: "accounts", Reason: fmt.Sprintf("version %d is not supported, only %d", version,
		accountsV2), Version: version, Known: accountsV2}
}

func (e *DecodeError) Error() string { return fmt.Sprintf("decoding %s: %s", e.What, e.Reason) }
