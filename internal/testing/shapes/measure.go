package shapes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Measured is what a demo released, and how far it is from the truth: what was there before
// admission.
type Measured struct {
	Truth, Counted float64 // events: all, within the allowances
	// Counts are the pairs of window and key with a truth, or all pairs of public keys, Shown those
	// that came out, ShownTruth their truth.
	Counts, Shown, ShownTruth float64
	KeysEver, KeysShown       float64
	Met                       float64
	Error                     float64 // of a count that came out
	RelativeError             float64 // the sum of errors by the sum of truths, of what came out
	Typical                   float64 // choice.TypicalError
}

// Source writes the events into a file and opens it as the source of a demo. Close it.
// value names the field of values, "" for none.
func Source(dir string, s Shape, events []Event, value string) (*demo.File, error) {
	path := filepath.Join(dir, s.Name+".csv")
	if _, err := os.Stat(path); err != nil {
		file, err := os.Create(path)
		if err != nil {
			return nil, err
		}
		if err := WriteCSV(file, events); err != nil {
			return nil, err
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
	return demo.OpenFile(demo.FileOptions{
		Path: path, Format: event.Format{Format: "csv", User: "user", Key: "key", Time: "time", TimeUnit: "rfc3339", Value: value}, Header: true,
		Window: s.Window,
	})
}

// Measure runs a demo with a noise key of a number. dir is for the file of events.
func Measure(ctx context.Context, dir string, s Shape, events []Event, settings demo.Settings, key uint64) (*Measured, error) {
	value := ""
	kind := metrickind.Of(cmp.Or(settings.Kind, metrickind.Offered()[0].Name))
	if kind.Values {
		value = "value"
	}
	source, err := Source(dir, s, events, value)
	if err != nil {
		return nil, fmt.Errorf("measuring %s: %w", s.Name, err)
	}
	defer source.Close() //nolint:errcheck // it was only read
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], key)
	secrets, err := demo.Derive(noisereduction.NoiseKey{ID: "shapes", Secret: secret.New(sha256.Sum256(number[:]))}, settings, source, [32]byte{})
	if err != nil {
		return nil, err
	}
	m := &Measured{}
	truth := truths(events, settings, kind)
	for _, of := range truth {
		m.Truth += of.Size
		m.Counts++
	}
	seen, values, wrong, compared := map[string]bool{}, map[count]float64{}, 0.0, 0.0
	result, err := demo.Run(ctx, settings, source, secrets, demo.Options{OnTurn: func(t demo.Turn) error {
		for i := range t.Releases {
			r := &t.Releases[i]
			if r.Metric != demo.MetricName {
				continue // a quantile beside it
			}
			f, known := truth[count{r.WindowStart, r.Key}]
			if !known {
				return errors.New("comparing releases with the truth: a value for a window and key without events")
			}
			m.Shown++
			m.ShownTruth += f.Size
			if f.Size > 0 || kind.Vector == nil { // else there is no real value
				compared++
				wrong += math.Abs(r.Count() - f.Value)
			}
			seen[r.Key] = true
			values[count{r.WindowStart, r.Key}] = r.Count()
			if r.Met {
				m.Met++
			}
		}
		return nil
	}})
	if err != nil {
		return nil, fmt.Errorf("measuring %s: %w", s.Name, err)
	}
	tallies := result.Tallies.Metrics[0]
	m.Counted = float64(tallies.Counted)
	m.Error, m.RelativeError = wrong/max(1, compared), wrong/max(1, m.ShownTruth)
	m.Typical, _ = choice.TypicalError(truth, values)
	m.KeysShown, m.KeysEver = float64(len(seen)), float64(keysOf(truth))
	return m, nil
}

type count struct {
	start int64
	key   string
}

// truths returns what each window and key has, of counts and of means; public keys may have
// nothing.
func truths(events []Event, s demo.Settings, kind metrickind.Kind) map[count]choice.Real {
	public := map[string]bool{}
	for _, k := range s.PublicKeys {
		public[k] = true
	}
	tally, none := choice.NewTally[count](kind), map[count]choice.Real{}
	size := s.Window.Milliseconds()
	first, last := events[0].At.UnixMilli(), events[len(events)-1].At.UnixMilli()
	for start := first - first%size; start <= last; start += size {
		for k := range public {
			none[count{start, k}] = choice.Real{}
		}
	}
	for _, e := range events {
		if s.Private() || public[e.Key] {
			millis := e.At.UnixMilli()
			tally.Add(count{millis - millis%size, e.Key}, e.User, e.Value)
		}
	}
	maps.Copy(none, tally.Real())
	return none
}

func keysOf(truth map[count]choice.Real) int {
	keys := map[string]bool{}
	for c := range truth {
		keys[c.key] = true
	}
	return len(keys)
}
