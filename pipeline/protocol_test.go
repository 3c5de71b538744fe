package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// said is what control says, as far as any record can change it.
type said struct {
	Header, Epoch, Run, Stop int64 // offsets; Stop −1 for none
	Closed, Settled          uint64
	Strays                   int
}

// The table of docs/design-notes.md, "Who may write what": every kind of record of
// control in its place, of an older epoch or run, out of place, and twice.
func TestRuleEveryKindOfControlRecordCountsInItsPlaceOnly(t *testing.T) {
	// Two runs are announced at offsets 1 and 2; the newer one has the epoch at 3.
	begun := []schemas.ControlBody{&schemas.Header{Generation: 1, LedgerSlots: 8}, &schemas.Run{}, &schemas.Run{}, &schemas.Epoch{Run: 2}}
	closes := func(epoch int64, turn uint64) *schemas.Close {
		return &schemas.Close{Epoch: epoch, First: turn, Turn: turn}
	}
	settles := func(epoch int64, turn uint64) schemas.ControlBody { return settledParts(t, epoch, turn, 1)[0] }
	another := generationFrom(3, 1)
	another.Header.Incarnation = [16]byte{9}
	third := generationFrom(3, 1)
	third.Header.Generation = 3
	same := said{Epoch: 3, Run: 2, Stop: -1}
	with := func(change func(*said)) said {
		s := same
		change(&s)
		return s
	}
	for name, test := range map[string]struct {
		records []schemas.ControlBody
		want    said
	}{
		"nothing more":          {nil, same},
		"HEADER, not at 0":      {[]schemas.ControlBody{&schemas.Header{Generation: 1, Incarnation: [16]byte{5}}}, with(func(s *said) { s.Strays = 1 })},
		"HEADER, twice":         {[]schemas.ControlBody{begun[0]}, with(func(s *said) { s.Strays = 1 })},
		"RUN":                   {[]schemas.ControlBody{&schemas.Run{}, &schemas.Run{}}, same},
		"EPOCH":                 {[]schemas.ControlBody{&schemas.Epoch{Run: 2}}, with(func(s *said) { s.Epoch = 4 })},
		"EPOCH of a later run":  {[]schemas.ControlBody{&schemas.Run{}, &schemas.Epoch{Run: 4}}, with(func(s *said) { s.Epoch, s.Run = 5, 4 })},
		"EPOCH of an older run": {[]schemas.ControlBody{&schemas.Epoch{Run: 1}}, same},
		"EPOCH of no run":       {[]schemas.ControlBody{&schemas.Epoch{Run: 4}, &schemas.Epoch{Run: 99}}, same},
		"CLOSE":                 {[]schemas.ControlBody{closes(3, 1), closes(3, 2)}, with(func(s *said) { s.Closed = 2 })},
		"CLOSE of an older epoch": {[]schemas.ControlBody{&schemas.Epoch{Run: 2}, closes(3, 1)},
			with(func(s *said) { s.Epoch = 4 })},
		"CLOSE of an older run":      {[]schemas.ControlBody{&schemas.Epoch{Run: 1}, closes(4, 1)}, same},
		"CLOSE of a turn not next":   {[]schemas.ControlBody{closes(3, 2)}, same},
		"CLOSE, twice":               {[]schemas.ControlBody{closes(3, 1), closes(3, 1)}, with(func(s *said) { s.Closed = 1 })},
		"SETTLED":                    {[]schemas.ControlBody{closes(3, 1), settles(3, 1)}, with(func(s *said) { s.Closed, s.Settled = 1, 1 })},
		"SETTLED of an older epoch":  {[]schemas.ControlBody{closes(3, 1), &schemas.Epoch{Run: 2}, settles(3, 1)}, with(func(s *said) { s.Epoch, s.Closed = 5, 1 })},
		"SETTLED of a turn not next": {[]schemas.ControlBody{closes(3, 1), closes(3, 2), settles(3, 2)}, with(func(s *said) { s.Closed = 2 })},
		"SETTLED without a CLOSE":    {[]schemas.ControlBody{settles(3, 1)}, same},
		"SETTLED, twice":             {[]schemas.ControlBody{closes(3, 1), settles(3, 1), settles(3, 1)}, with(func(s *said) { s.Closed, s.Settled = 1, 1 })},
		"STOP":                       {[]schemas.ControlBody{&schemas.Stop{Epoch: 3}}, with(func(s *said) { s.Stop = 4 })},
		"STOP of an older epoch":     {[]schemas.ControlBody{&schemas.Epoch{Run: 2}, &schemas.Stop{Epoch: 3}}, with(func(s *said) { s.Epoch = 4 })},
		"STOP of an older run":       {[]schemas.ControlBody{&schemas.Epoch{Run: 1}, &schemas.Stop{Epoch: 4}}, same},
		"STOP, twice":                {[]schemas.ControlBody{&schemas.Stop{Epoch: 3}, &schemas.Stop{Epoch: 3}}, with(func(s *said) { s.Stop = 4 })},
		"STOP, and a later epoch":    {[]schemas.ControlBody{&schemas.Stop{Epoch: 3}, &schemas.Epoch{Run: 2}}, with(func(s *said) { s.Stop, s.Epoch = 4, 5 })},
		"RECOVER":                    {[]schemas.ControlBody{&schemas.Stop{Epoch: 3}, &schemas.Recover{Stop: 4}}, same},
		"RECOVER without a STOP":     {[]schemas.ControlBody{&schemas.Recover{Stop: 4}, &schemas.Stop{Epoch: 3}}, with(func(s *said) { s.Stop = 5 })},
		"RECOVER of an earlier STOP": {[]schemas.ControlBody{&schemas.Stop{Epoch: 3}, &schemas.Recover{Stop: 4}, &schemas.Stop{Epoch: 3}, &schemas.Recover{Stop: 4}},
			with(func(s *said) { s.Stop = 6 })},
		"GENERATION":                     {[]schemas.ControlBody{generationFrom(3, 1)}, with(func(s *said) { s.Header = 4 })},
		"GENERATION of an older epoch":   {[]schemas.ControlBody{&schemas.Epoch{Run: 2}, generationFrom(3, 1)}, with(func(s *said) { s.Epoch = 4 })},
		"GENERATION of another turn":     {[]schemas.ControlBody{generationFrom(3, 2)}, same},
		"GENERATION of another":          {[]schemas.ControlBody{another}, same},
		"GENERATION that is not next":    {[]schemas.ControlBody{third}, same},
		"GENERATION, twice":              {[]schemas.ControlBody{generationFrom(3, 1), generationFrom(3, 1)}, with(func(s *said) { s.Header = 4 })},
		"an older run in a newer's wake": {[]schemas.ControlBody{closes(3, 1), &schemas.Epoch{Run: 1}, settles(5, 1), settles(3, 1)}, with(func(s *said) { s.Closed, s.Settled = 1, 1 })},
	} {
		t.Run(name, func(t *testing.T) {
			v := newView(8)
			v.beginAt(0, -1, -1)
			got := said{}
			v.stray = func(int64, string) { got.Strays++ }
			feedView(t, v, begun...)
			feedView(t, v, test.records...)
			got.Header, got.Epoch, got.Run, got.Stop, got.Closed, got.Settled = v.headerAt, v.epoch, v.run, -1, v.closed, v.settled
			if v.stop != nil {
				got.Stop = v.stopAt
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// appendControl writes bodies to control as somebody else would, who knows nothing
// of what stands there; it returns their offsets.
func appendControl(t *testing.T, d *Deployment, bodies ...schemas.ControlBody) (offsets []int64) {
	t.Helper()
	for _, b := range bodies {
		value, err := schemas.EncodeControl(schemas.Control{BackEpoch: -1, Body: b})
		if err != nil {
			t.Fatal(err)
		}
		offsets = append(offsets, appendRecord(t, d, d.Config.Outputs.Control, klog.Message{Value: value}))
	}
	return offsets
}

func appendRecord(t *testing.T, d *Deployment, topic string, m klog.Message) int64 {
	t.Helper()
	client, err := Dial(context.Background(), d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	p, err := client.NewProducer(context.Background(), topic, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	at, err := p.Append(context.Background(), []klog.Message{m})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func released(t *testing.T, d *Deployment) []schemas.Release {
	t.Helper()
	all, err := ReadReleases(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// logged collects what a run warns of.
func logged(to *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// Of many inits at once one begins the deployment, with its own configuration, and
// whatever HEADERs the others leave are obeyed by nobody.
func TestRuleOnlyTheRecordAtOffset0IsAHeader(t *testing.T) {
	cfg := testConfig(startEmbedded(t).Addr())
	late := 0
	for try := 0; try < 40 && (late == 0 || try < 3); try++ {
		cfg.Deployment = fmt.Sprintf("try%d", try)
		cfg.Events.Topic = cfg.Deployment + "-events"
		const inits = 6
		var of [inits]*Deployment
		for i := range of {
			c := cfg
			c.Privacy.Epsilon = float64(1 + i)
			if of[i] = mustCompile(t, c); i == 0 {
				if err := CreateTopics(t.Context(), of[i], TopicOptions{EventPartitions: 1, Replication: 1}); err != nil {
					t.Fatal(err)
				}
			}
		}
		var errs [inits]error
		var all sync.WaitGroup
		for i := range of {
			all.Go(func() { errs[i] = Init(context.Background(), of[i], InitOptions{Start: time.Unix(60, 0)}) })
		}
		all.Wait()
		won := 0
		for i, err := range errs {
			switch {
			case err == nil:
				won++
			case !errors.Is(err, ErrInitialised):
				t.Fatalf("init %d: %v", i, err)
			case strings.Contains(err.Error(), "obeyed by nobody"):
				late++
			}
		}
		if won != 1 {
			t.Fatalf("%d inits say that they began the deployment", won)
		}
		for i, d := range of {
			var warnings bytes.Buffer
			_, err := Run(t.Context(), d, RunOptions{Bounded: true, Logger: logged(&warnings)})
			if errs[i] == nil && err != nil || errs[i] != nil && !errors.Is(err, ErrHeaderMismatch) {
				t.Fatalf("init said %v and the run %v", errs[i], err)
			}
			if errs[i] == nil && late > 0 != strings.Contains(warnings.String(), "is a HEADER; only the one at offset 0 counts") && try == 0 {
				t.Errorf("%d HEADERs came late, and the run says:\n%s", late, warnings.String())
			}
		}
	}
	if late == 0 {
		t.Error("no HEADER ever came late: nothing was tried")
	}
}

// Records of others on control, ledger and counts change nothing, and are named
// with their place.
func TestRuleRecordsThatWereNeverOursChangeNothing(t *testing.T) {
	want := released(t, ran(t, tenTurns(t, func(c *Config) { c.ReleaseShards = 1 })))
	for name, at := range map[string]string{"before the first run": "init", "while a run goes on": "run"} {
		t.Run(name, func(t *testing.T) {
			d := tenTurns(t, func(c *Config) { c.ReleaseShards = 1 })
			out := &d.Config.Outputs
			litter := func() {
				for _, topic := range []string{out.Control, out.Ledger, out.Counts} {
					for _, m := range []klog.Message{
						{Value: []byte("hello")}, {Value: []byte{}}, {Key: []byte("k"), Value: nil}, {Key: []byte("delta/nothing"), Value: []byte("x")},
						{Key: []byte("k"), Value: []byte("x"), Headers: []klog.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeRelease)}}},
					} {
						appendRecord(t, d, topic, m)
					}
				}
			}
			if at == "init" {
				litter()
			}
			var once sync.Once
			hooks := Hooks{At: func(point string, _ int) error {
				if at == "run" && point == PointSettledWritten {
					once.Do(litter)
				}
				return nil
			}}
			var warnings bytes.Buffer
			if _, err := Run(t.Context(), d, RunOptions{Bounded: true, Hooks: hooks, Logger: logged(&warnings)}); err != nil {
				t.Fatal(err)
			}
			litter() // the newest record of control is somebody else's, too
			ran(t, d)
			for _, topic := range []string{out.Control, out.Ledger, out.Counts} {
				if text := warnings.String(); at == "init" && !strings.Contains(text, "topic "+topic+", partition 0: the record at offset ") {
					t.Errorf("nothing was said of topic %s:\n%s", topic, text)
				}
			}
			if diff := cmp.Diff(want, released(t, d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func ran(t *testing.T, d *Deployment) *Deployment {
	t.Helper()
	if _, err := Run(t.Context(), d, RunOptions{Bounded: true}); err != nil {
		t.Fatal(err)
	}
	return d
}

// A damaged record of ours on control, or one of a later version, stops every
// start, with its place and what to do.
func TestADamagedRecordOnControlIsNamed(t *testing.T) {
	for says, damage := range map[string]func([]byte) []byte{
		"at offset 1 of partition 0: decoding control run: malformed record: run id; it was damaged on its way":                     func(b []byte) []byte { return b[:len(b)-1] },
		"at offset 1 of partition 0: decoding control run: unsupported format version: version 99; another version of this program": func(b []byte) []byte { b[3] = 99; return b },
	} {
		d := tenTurns(t, func(*Config) {})
		value, err := schemas.EncodeControl(schemas.Control{BackEpoch: -1, Body: &schemas.Run{}})
		if err != nil {
			t.Fatal(err)
		}
		appendRecord(t, d, d.Config.Outputs.Control, klog.Message{Value: damage(value)})
		if _, err := Run(t.Context(), d, RunOptions{Bounded: true}); !errors.Is(err, ErrLogFault) || !strings.Contains(err.Error(), says) {
			t.Errorf("the run ended with %v, want one that says %q", err, says)
		}
	}
}

// A run that was announced first and starts slowly does not take over from one
// that was announced later: it never writes anything but its EPOCH, and nobody
// obeys that.
func TestRuleTheRunThatWasAnnouncedLastIsTheNewer(t *testing.T) {
	d := tenTurns(t, func(*Config) {})
	var epoch int64
	hooks := Hooks{At: func(point string, _ int) error {
		if point == PointEpochWriting && epoch == 0 { // a later run is quicker
			run := appendControl(t, d, &schemas.Run{})[0]
			epoch = appendControl(t, d, &schemas.Epoch{Run: run})[0]
		}
		return nil
	}}
	result, err := Run(t.Context(), d, RunOptions{Bounded: true, Hooks: hooks})
	if err != nil || !result.Superseded || result.Settled != 0 {
		t.Fatalf("%+v, %v: the older run should have been superseded", result, err)
	}
	client, err := Dial(t.Context(), d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	control, err := openTail(t.Context(), client, d, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if control.view.epoch != epoch || len(released(t, d)) != 0 {
		t.Errorf("the epoch is %d, want the later run's %d", control.view.epoch, epoch)
	}
	ran(t, d) // announced last
}

// What a run finds after another one has taken over is that run's work: it is
// superseded, whatever it looks like, and writes no STOP that counts.
func TestRuleASupersededRunReportsNoLoss(t *testing.T) {
	for name, point := range map[string]string{
		"as soon as it has its epoch": PointEpochWritten, "when it has closed turns": PointCloseWritten,
		"when it fences": PointFenceWriting, "when it writes the ledger": PointDeltaWriting,
		"when it publishes": PointCountsWriting, "when it settles": PointSettledWriting,
	} {
		t.Run(name, func(t *testing.T) {
			d := tenTurns(t, func(c *Config) { c.ReleaseShards = 1 })
			var once sync.Once
			hooks := Hooks{At: func(at string, _ int) error {
				if at != point {
					return nil
				}
				once.Do(func() {
					run := appendControl(t, d, &schemas.Run{})[0]
					appendControl(t, d, &schemas.Epoch{Run: run})
				})
				return fmt.Errorf("reading the ledger: it does not hold the turn: %w", ErrLogFault)
			}}
			result, err := Run(t.Context(), d, RunOptions{Bounded: true, Hooks: hooks})
			if err != nil || !result.Superseded {
				t.Fatalf("%+v, %v: it should have been superseded and no more", result, err)
			}
			ran(t, d)
			if n := len(released(t, d)); n != 30 {
				t.Errorf("%d values, want 30", n)
			}
		})
	}
}

func mustCompile(t *testing.T, cfg Config) *Deployment {
	t.Helper()
	d, err := Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A record of somebody else under a key of the ledger's stands where one of ours
// may have been. Who needs that one stops, with a STOP that names what is missing;
// nobody else does.
func TestRuleAReplacedLedgerRecordIsMissedWhereItIsNeeded(t *testing.T) {
	for name, test := range map[string]struct {
		key  string
		says string
	}{
		"a turn that is not in a snapshot yet": {"delta/3/0", "the ledger has a gap: this turn is settled and its decisions are missing"},
		"a slot that no turn has used":         {"delta/60/0", ""},
		"a part that no set has":               {"delta/3/7", ""},
		"a snapshot that is not there":         {"snapshot/1/0", ""},
		"a fence":                              {"fence", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := ran(t, tenTurns(t, func(c *Config) { c.Shards, c.ReleaseShards = 1, 1 }))
			appendRecord(t, d, d.Config.Outputs.Ledger, klog.Message{Key: []byte(test.key), Value: []byte("somebody else's")})
			at := time.Date(2026, 1, 1, 0, 0, 15, 0, time.UTC).UnixMilli()
			appendRecord(t, d, "events", klog.Message{Value: fmt.Appendf(nil, `{"user":"u","key":"a","time":%d}`, at), Timestamp: klog.At(at)})
			var warnings bytes.Buffer
			_, err := Run(t.Context(), d, RunOptions{Bounded: true, Logger: logged(&warnings)})
			if !strings.Contains(warnings.String(), "topic tollgate-ledger, partition 0: the record at offset ") {
				t.Errorf("nothing was said of the record:\n%s", warnings.String())
			}
			if test.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var stop *spend.StopError
			if !errors.As(err, &stop) || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("the run ended with %v, want a stop that says %q", err, test.says)
			}
			if _, err := Run(t.Context(), d, RunOptions{Bounded: true}); !errors.Is(err, ErrStopped) {
				t.Errorf("the next run ended with %v, want ErrStopped", err)
			}
		})
	}
}

// Many records of somebody else are not a line each.
func TestStrangersDoNotFloodTheLog(t *testing.T) {
	d := ran(t, tenTurns(t, func(c *Config) { c.Shards, c.ReleaseShards = 1, 1 }))
	client, err := Dial(t.Context(), d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, topic := range []string{d.Config.Outputs.Control, d.Config.Outputs.Ledger} {
		p, err := client.NewProducer(t.Context(), topic, 0, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Append(t.Context(), slices.Repeat([]klog.Message{{Key: []byte("k"), Value: []byte("x")}}, 2500)); err != nil {
			t.Fatal(err)
		}
		p.Close()
	}
	var warnings bytes.Buffer
	if _, err := Run(t.Context(), d, RunOptions{Bounded: true, Logger: logged(&warnings)}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(warnings.String(), "the record at offset"); n < 20 || n > 40 {
		t.Errorf("%d lines:\n%.2000s", n, warnings.String())
	}
}
