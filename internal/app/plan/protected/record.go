package protected

import (
	"errors"
	"fmt"
	"math/big"
	"os"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/keyrecord"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// RecordOf returns where it is recorded what was spent under a noise key.
func RecordOf(keyFile string) string { return keyrecord.Of(keyFile, ".planned") }

// entry is a line of the record: a charge, what was released for one, or the beginning of a
// deployment.
type entry struct {
	// Choice names a charge: the nonce of the choice, in hex. Before version 2 it was a digest.
	Choice string `json:"choice,omitempty"`
	// Arguments is a hash of the choice's arguments under the noise key, in hex; empty before
	// version 2.
	Arguments string `json:"arguments,omitempty"`
	// The most that one individual paid: of B² in account units, of δ_keys in units of 2^-80.
	Mu2   uint64   `json:"mu2,omitempty"`
	Keys  *big.Int `json:"keys,omitempty"`
	Share float64  `json:"share,omitempty"`
	// The whole promise that this is a share of, in the same units; missing before version 2.
	WholeMu2  uint64   `json:"whole_mu2,omitempty"`
	WholeKeys *big.Int `json:"whole_keys,omitempty"`
	// The same promise as it was asked for; missing before version 2.
	Epsilon    float64            `json:"epsilon,omitempty"`
	Delta      float64            `json:"delta,omitempty"`
	Accountant budgets.Accountant `json:"accountant,omitempty"`
	// Period is the unit of privacy: a user in so many milliseconds; 0 is a user for life.
	Period int64 `json:"period_ms,omitempty"`
	// Released names the charge that paid for the protected numbers in Tables.
	Released string    `json:"released,omitempty"`
	At       time.Time `json:"at,omitzero"`
	Tables   *stored   `json:"tables,omitempty"`
	// Begun names a deployment that began: charges on later lines are void.
	Begun string `json:"begun,omitempty"`
}

// stored are the numbers of a Release.
type stored struct {
	Shape   [][]float64 `json:"shape"`
	Windows []float64   `json:"windows"`
	Values  []float64   `json:"values,omitempty"`
	Keys    []storedKey `json:"keys,omitempty"`
}

type storedKey struct {
	Name        []byte  `json:"name"` // any bytes
	Individuals float64 `json:"individuals"`
}

var (
	// ErrBegun says that a deployment has begun with the noise key.
	ErrBegun = errors.New("a deployment has begun with this noise key, and its promise pays for no further choice of bounds: choose bounds for another deployment, with another noise key")
	// ErrCeiling says that a choice would spend what is left of the promise, or more.
	ErrCeiling = errors.New("together, the choices of bounds under this noise key would spend the whole promise, and leave nothing for a deployment")
	// ErrOtherUnit says that a choice has another unit of privacy than an earlier one.
	ErrOtherUnit = errors.New("earlier choices of bounds under this noise key had another unit of privacy, and the two do not add up: choose with another noise key")
	// ErrNotPlanned says that a configuration has planned less than was spent.
	ErrNotPlanned = errors.New("more was spent on choosing bounds than the configuration says")
	// ErrOtherPromise says that something was spent under a noise key before a running deployment
	// changed to it.
	ErrOtherPromise = errors.New("choosing bounds has spent something under this noise key, and the promise of the deployment does not cover it: rotate to another noise key, and count what was spent as a separate promise")
	// ErrRecord says that a record cannot be read.
	ErrRecord = errors.New("the record of what was spent on choosing bounds is damaged, or a later version wrote it: restore it, or use that version. If only its last line is incomplete, nothing was released for it: delete that line")
)

// read returns the lines of a record; none if there is no file.
func read(path string) (all []entry, err error) {
	data, err := keyrecord.Read(path)
	if err != nil {
		return nil, fmt.Errorf("reading what was spent on choosing bounds: %w", err)
	}
	err = keyrecord.Decode(path, data, ErrRecord, func(e entry) bool {
		all = append(all, e)
		return e.valid()
	})
	return all, err
}

// valid says whether an entry is exactly one of the three kinds, with numbers that can be.
func (e *entry) valid() bool {
	kinds := 0
	for _, is := range []bool{e.Choice != "", e.Released != "", e.Begun != ""} {
		if is {
			kinds++
		}
	}
	if kinds != 1 || (e.Released == "") != (e.Tables == nil) {
		return false
	}
	if e.Choice != "" {
		whole, keys := e.whole()
		return e.Share > 0 && whole.Sign() > 0 && keys.Sign() >= 0 && (e.Keys == nil || e.Keys.Sign() >= 0)
	}
	return e.Tables == nil || len(e.Tables.Windows) == len(windowRows) && len(e.Tables.Shape) == len(keyRows) &&
		!slices.ContainsFunc(e.Tables.Shape, func(row []float64) bool { return len(row) != len(eventRows) }) &&
		(e.Tables.Values == nil || len(e.Tables.Values) == valueRows)
}

// add appends a line, and returns when it is on the disk.
func add(path string, e entry) error { return recording(keyrecord.Append(path, e, fsync)) }

// durable returns when all lines of a record are on the disk, also those of other processes.
func durable(path string) error { return recording(keyrecord.Durable(path, fsync)) }

func recording(err error) error {
	if err != nil {
		err = fmt.Errorf("%w (it records what choosing bounds spends under this noise key)", err)
	}
	return err
}

// fsync is replaced by tests.
var fsync = (*os.File).Sync
