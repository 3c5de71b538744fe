package reference

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Config is everything besides the log that decides what is released. Times are milliseconds.
type Config struct {
	Incarnation [16]byte
	Generation  uint32
	Format      schemas.EventFormat
	UserHash    [32]byte
	Noise       noisereduction.NoiseKey
	Budget      Budget
	Start       int64 // Unix time; a window start of every metric
	Lateness    int64
	Skew        int64
	Slack       int64
	NoFuture    bool  // the tests for the future are off
	Clock       int64 // with producers' times: stamps beyond it + Skew are the future's and do not count; 0 trusts all
	Metrics     []schemas.MetricSpec

	ladders []*ladder // by metric; set by Compile
}

// Budget is what one account may lose: Mu2 in units of 2^-40, Keys in units of 2^-80.
type Budget struct {
	Mu2  *big.Int
	Keys *big.Int
}

// Record is one record of the events topic.
type Record struct {
	Offset    int64
	Timestamp int64 // Unix milliseconds, as the broker kept it
	Value     []byte
}

// Log is the events topic: partition → records in the order of their offsets.
type Log map[int32][]Record

// Cuts are the CLOSE records: turn → partition → the first offset that came too late for the turn. A partition or turn that is
// missing closed behind everything.
type Cuts map[uint64]map[int32]int64

// Compile checks a configuration and works its ladders out, which takes most of the time of a small run. Run does it where it has
// not been done; the metrics must not change afterwards.
func Compile(c Config) (Config, error) {
	if c.ladders != nil {
		return c, nil
	}
	if err := c.check(); err != nil {
		return c, err
	}
	for _, m := range c.Metrics {
		l, err := newLadder(m)
		if err != nil {
			return c, err
		}
		c.ladders = append(c.ladders, l)
	}
	return c, nil
}

// check refuses what the reference does not model, so that no test compares with nonsense.
func (c Config) check() error {
	for _, m := range c.Metrics {
		if m.Kind != "events" || m.Filter != "" || m.Period != "" {
			return fmt.Errorf("metric %q: the reference knows event counts without filter and period only", m.Name)
		}
		if m.WindowSize <= 0 || (m.WindowSlide != 0 && m.WindowSlide != m.WindowSize) {
			return fmt.Errorf("metric %q: the reference knows fixed windows only", m.Name)
		}
		if m.MaxKeysPerUser == 0 || m.MaxEventsPerKey == 0 {
			return fmt.Errorf("metric %q: bounds must be at least 1", m.Name)
		}
		if m.KeyMode != "public" && m.KeyMode != "private" {
			return fmt.Errorf("metric %q: key mode is %q, not public or private", m.Name, m.KeyMode)
		}
		if m.KeyMode == "public" && !slices.IsSortedFunc(m.PublicKeys, slices.Compare[[]byte]) {
			return fmt.Errorf("metric %q: public keys are not sorted", m.Name)
		}
	}
	return nil
}
