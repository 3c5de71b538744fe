package plain

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/timers"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/localrunner"
)

func init() {
	beam.RegisterDoFn(&mergeFn{})
	beam.RegisterDoFn(&admitFn{})
	register.Iter1[[]byte]()
	register.Emitter3[beam.EventTime, []byte, int64]()
}

// Filter admits the contributions for which users can pay, on a stream or on bounded input.
//
// In: KV<string, string>, user and key, with the time of the event as event time, in any windows.
// Out: KV<[]byte, int64> in the windows of the metrics: the contributions of admitted users to
// counts (keys by schemas.EncodeReleaseKey), and a zero for every public key of every window. The
// second output contains the rejected events, unchanged: events outside From and To, and events
// with users or keys that schemas.ValidateUser or ValidateKey rejects.
//
// Events wait in the engine until their window closes. Every user has one Value state and one
// event-time timer, so windows are decided in the order of their ends, in whatever order the engine
// closes them.
func (t *Transforms) Filter(s beam.Scope, events beam.PCollection) (admitted, rejected beam.PCollection) {
	localrunner.Keep()
	s = s.Scope("plain.Filter")
	identified, rejected := t.identify(s, events)
	// One element for each user and window, because an access to state costs far more than
	// grouping.
	merged := beam.ParDo(s, &mergeFn{}, beam.GroupByKey(s, inWindows(s, &t.settings, identified)))
	admitted = beam.ParDo(s, newAdmitFn(t.part()), inGlobal(s, merged))
	if zeros, hasPublic := t.zerosInTime(s, identified); hasPublic {
		admitted = beam.Flatten(s, admitted, zeros)
	}
	return inWindows(s, &t.settings, admitted), rejected
}

// mergeFn merges the slices of a user that belong to the same window.
type mergeFn struct{}

// ProcessElement merges a group.
func (*mergeFn) ProcessElement(id []byte, parts func(*[]byte) bool, emit func([]byte, []byte)) error {
	merged, err := collect(parts)
	if err != nil {
		return err
	}
	for i := range merged {
		emit(id, merged[i].append(nil))
	}
	return nil
}

// collect decodes slices and merges the slices of each window. The result is sorted by end.
func collect(parts func(*[]byte) bool) ([]slice, error) {
	var all []slice
	var b []byte
	for parts(&b) {
		s, err := decodeSlice(b)
		if err != nil {
			return nil, fmt.Errorf("collecting a user's events: %w", err)
		}
		all = append(all, s)
		b = nil
	}
	return merge(all), nil
}

// ErrStateLost fails a bundle if a user's state is not the state that was written last.
var ErrStateLost = errors.New("the engine has lost a user's state")

// admitFn keeps a user's account and decides the user's windows in order.
type admitFn struct {
	admitting
	User state.Value[[]byte]
	Due  timers.EventTime
}

func newAdmitFn(p part) *admitFn {
	return &admitFn{admitting: admitting{part: p}, User: state.MakeValueState[[]byte]("user"),
		Due: timers.InEventTime("due")}
}

// ProcessElement stores a slice until its window ends.
func (f *admitFn) ProcessElement(_ context.Context, p state.Provider, tp timers.Provider, key, value []byte,
	_ func(beam.EventTime, []byte, int64)) error {
	s, err := decodeSlice(value)
	if err != nil {
		return err
	}
	u, err := f.read(p, key)
	if err != nil {
		return err
	}
	u.wait(s)
	return f.store(p, tp, &u)
}

// OnTimer decides the user's next window. The watermark has passed the end of this window, so all
// its events have arrived, and all earlier windows are decided.
func (f *admitFn) OnTimer(_ context.Context, eventTime beam.EventTime, p state.Provider, tp timers.Provider, key []byte,
	_ timers.Context, emit func(beam.EventTime, []byte, int64)) error {
	u, err := f.read(p, key)
	if err != nil || eventTime.Milliseconds() < u.decidedTo {
		return err
	}
	if len(u.waiting) == 0 || lastOf(u.waiting[0].end) != eventTime {
		// The account may be lost, too. The user could then spend the budget a second time.
		return fmt.Errorf("deciding a user's window: %w", ErrStateLost)
	}
	next := u.waiting[0]
	err = f.admitter.admit(&u.account, next, func(cell []byte, n int64) { emit(lastOf(next.end), cell, n) })
	if err != nil {
		return fmt.Errorf("deciding a user's window: %w", err)
	}
	u.decidedTo, u.waiting = next.end, u.waiting[1:]
	return f.store(p, tp, &u)
}

func (f *admitFn) read(p state.Provider, key []byte) (user, error) {
	id, err := idOf(key)
	if err != nil {
		return user{}, fmt.Errorf("reading a user's state: %w", err)
	}
	b, _, err := f.User.Read(p)
	if err != nil {
		return user{}, fmt.Errorf("reading a user's state: %w", err)
	}
	u, err := decodeUser(id, b)
	if err != nil {
		return user{}, fmt.Errorf("reading a user's state: %w", err)
	}
	return u, nil
}

// store writes the state and sets the timer for the next window.
func (f *admitFn) store(p state.Provider, tp timers.Provider, u *user) error {
	b, err := u.encode()
	if err != nil {
		return fmt.Errorf("encoding a user's state: %w", err)
	}
	if err := f.User.Write(p, b); err != nil {
		return fmt.Errorf("writing a user's state: %w", err)
	}
	if len(u.waiting) > 0 {
		setDue(f.Due, tp, u.waiting[0].end)
	}
	return nil
}

// setDue sets the timer to the end of a window. It holds the output watermark at the window's last
// instant, so the output is not late.
func setDue(due timers.EventTime, tp timers.Provider, end int64) {
	due.Set(tp, mtime.FromMilliseconds(end).ToTime(), timers.WithOutputTimestamp(lastOf(end).ToTime()))
}
