package generate

import (
	"errors"
	"fmt"
	"time"

	"github.com/tollgate-dp/tollgate/state/units"
)

// Config describes a stream.
type Config struct {
	Seed     uint64
	Events   int           // number of records, including broken ones
	Users    int           // number of users
	Keys     int           // number of pages
	Start    time.Time     // start of the first window
	Windows  int           // number of windows
	Window   time.Duration // size of a window
	Lateness time.Duration // largest delay of a record that is not late
	Skew     time.Duration // largest lead of a record that is not in the future
	Late     float64       // share of late records, in [0, 1]
	Future   float64       // share of records in the future, in [0, 1]
	Broken   float64       // share of broken records, in [0, 1]

	MaxRecordBytes int // an oversized record is one byte longer
}

// ErrConfig means that a Config is invalid. The error of New also wraps a *units.RangeError if one
// of the numbers "events", "users", "keys", "windows" and "window" is out of range.
var ErrConfig = errors.New("impossible stream")

// Defaults returns a valid Config: a day of a small shop, 24 windows of an hour.
func Defaults() Config {
	return Config{
		Seed: 1, Events: 400_000, Users: 100_000, Keys: 6,
		Start: time.Date(2025, time.March, 3, 0, 0, 0, 0, time.UTC), Windows: 24, Window: time.Hour,
		Lateness: 2 * time.Minute, Skew: 5 * time.Second,
		Late: 0.004, Future: 0.0005, Broken: 0.002,
		MaxRecordBytes: 64 << 10,
	}
}

// End returns the end of the last window.
func (c Config) End() time.Time { return c.Start.Add(time.Duration(c.Windows) * c.Window) }

// outside returns the error for a number that is out of range.
func outside(name string, value int, want string) error {
	return fmt.Errorf("%w: %w", ErrConfig, &units.RangeError{Parameter: name, Value: float64(value), Range: want})
}

func (c Config) check() error {
	switch {
	case c.Events < 0:
		return outside("events", c.Events, "at least 0")
	case c.Users < 1 || c.Users > 1<<24:
		return outside("users", c.Users, "from 1 to 16777216")
	case c.Keys < 1 || c.Keys > 1<<16:
		return outside("keys", c.Keys, "from 1 to 65536")
	case c.Windows < 1 || c.Windows > 1<<20:
		return outside("windows", c.Windows, "from 1 to 1048576")
	case c.Window < time.Second || c.Window > 366*24*time.Hour || c.Window%time.Millisecond != 0:
		return outside("window", int(c.Window.Milliseconds()),
			"whole milliseconds, from 1s to 366d, for made-up events")
	case c.Start.UnixMilli() < 0 || c.Windows > int(200*366*24*time.Hour/c.Window):
		return outside("windows", c.Windows, "so small that the windows span at most 200 years, and they must begin "+
			"after 1970")
	case c.Lateness < 0 || c.Skew < 0:
		return fmt.Errorf("%w: lateness and skew must not be negative", ErrConfig)
	case c.Late < 0 || c.Future < 0 || c.Broken < 0 || !(c.Late+c.Future+c.Broken <= 1):
		return fmt.Errorf("%w: the shares of late, future and broken records must be from 0 to 1, as must their "+
			"sum", ErrConfig)
	case c.MaxRecordBytes < 4096 || c.MaxRecordBytes > 900_000:
		return fmt.Errorf("%w: the limit of %d bytes per record must be from 4096 to 900000", ErrConfig,
			c.MaxRecordBytes)
	}
	return nil
}
