package plain

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/tollgate-dp/tollgate/state/accounts"
)

func init() {
	beam.RegisterDoFn(&admitAllFn{})
	register.Emitter2[[]byte, int64]()
}

// FilterBounded is Filter for bounded input. It also runs on engines without state and timers: it
// groups all events of a user and decides the user's windows one after another. Input, output and
// decisions are the same as for Filter, but the output is in the global window and appears at the
// end. No event is late. All events of a user must fit in memory.
func (t *Transforms) FilterBounded(s beam.Scope, events beam.PCollection) (admitted, rejected beam.PCollection) {
	s = s.Scope("plain.FilterBounded")
	identified, rejected := t.identify(s, events)
	admitted = beam.ParDo(s, &admitAllFn{admitting{part: t.part()}}, beam.GroupByKey(s, identified))
	if zeros, hasPublic := t.zerosAtOnce(s); hasPublic {
		admitted = beam.Flatten(s, admitted, zeros)
	}
	return admitted, rejected
}

// admitAllFn decides all windows of a user.
type admitAllFn struct{ admitting }

// ProcessElement decides one user's windows.
func (f *admitAllFn) ProcessElement(_ context.Context, key []byte, parts func(*[]byte) bool,
	emit func([]byte, int64)) error {
	id, err := idOf(key)
	if err != nil {
		return fmt.Errorf("deciding a user's windows: %w", err)
	}
	windows, err := collect(parts)
	if err != nil {
		return err
	}
	account := accounts.Entry{ID: id}
	for _, w := range windows {
		if err := f.admitter.admit(&account, w, emit); err != nil {
			return fmt.Errorf("deciding a user's windows: %w", err)
		}
	}
	return nil
}
