package direct

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/funcx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/coder"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window/trigger"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
)

var (
	// ErrUnsupported says that a pipeline has a shape that this runner does not know.
	ErrUnsupported = errors.New("the direct engine does not run this pipeline; another runner of Beam may")
	// ErrStateWouldBeLost says that a pipeline keeps in keyed state what a restart would need.
	ErrStateWouldBeLost = errors.New("the direct engine has no checkpoints: a restart would lose keyed state")
	// ErrLate says that an element was emitted behind the watermark.
	ErrLate = errors.New("an element was emitted behind the watermark")
)

// ephemeral is implemented by DoFns whose keyed state may end with the job.
type ephemeral interface{ EphemeralState() bool }

// plan is a pipeline as a chain: the operations of the source, and the stages after it.
type plan struct {
	impulse []byte
	spread  []operation // make the elements of which each has a source of its own; none: the impulse
	source  []operation // the first may be splittable
	stages  []stagePlan
}

// stagePlan is what happens to groups. Without windows they are the elements of a key, as they
// come: a stage with keyed state.
type stagePlan struct {
	windows    *window.Fn
	operations []operation
}

// operation is a ParDo or, with windows set, a WindowInto.
type operation struct {
	edge    *graph.MultiEdge
	windows *window.Fn
	keyed   bool // its elements are pairs
}

func (o *operation) splittable() bool { return o.windows == nil && o.edge.DoFn.IsSplittable() }

func unsupported(e *graph.MultiEdge, format string, args ...any) error {
	return fmt.Errorf("compiling %s of %v: %s: %w", e.Name(), e.Scope(), fmt.Sprintf(format, args...), ErrUnsupported)
}

// compile follows the chain from its Impulse to its end.
func compile(p *beam.Pipeline) (*plan, error) {
	edges, _, err := p.Build()
	if err != nil {
		return nil, fmt.Errorf("compiling the pipeline: %w", err)
	}
	var first *graph.MultiEdge
	consumer := map[int]*graph.MultiEdge{} // by node
	for _, e := range edges {
		if e.Op == graph.Impulse {
			if first != nil {
				return nil, unsupported(e, "a pipeline begins with one Impulse")
			}
			first = e
		}
		for _, in := range e.Input {
			id := in.From.ID()
			if consumer[id] != nil {
				return nil, unsupported(e, "%s consumes the same collection", consumer[id].Name())
			}
			consumer[id] = e
		}
	}
	if first == nil {
		return nil, fmt.Errorf("compiling the pipeline: it does not begin with an Impulse: %w", ErrUnsupported)
	}
	out := &plan{impulse: first.Value}
	chained := map[*graph.MultiEdge]bool{first: true}
	for e := consumer[first.Output[0].To.ID()]; e != nil; {
		if err := out.add(e); err != nil {
			return nil, err
		}
		chained[e] = true
		if len(e.Output) == 0 {
			e = nil
			continue
		}
		e = consumer[e.Output[0].To.ID()]
	}
	for _, e := range edges {
		if !chained[e] {
			return nil, unsupported(e, "it is no part of the chain that begins with the Impulse")
		}
	}
	return out, nil
}

// add appends the next edge of the chain.
func (p *plan) add(e *graph.MultiEdge) error {
	if len(e.Input) != 1 || len(e.Output) > 1 {
		return unsupported(e, "it has %d inputs and %d outputs", len(e.Input), len(e.Output))
	}
	from := e.Input[0].From
	switch e.Op {
	case graph.WindowInto:
		if k := e.WindowFn.Kind; k != window.FixedWindows && k != window.GlobalWindows {
			return unsupported(e, "windows are fixed or global")
		}
		p.put(operation{edge: e, windows: e.WindowFn})
	case graph.CoGBK:
		if w := from.WindowingStrategy(); w.AllowedLateness != 0 || !byDefault(w.Trigger) {
			return unsupported(e, "windows fire once, when the watermark has passed them")
		}
		if k := from.Type().Components()[0].Type(); !isKey(k) {
			return unsupported(e, "%v is not the type of a key", k)
		}
		p.stages = append(p.stages, stagePlan{windows: from.WindowingStrategy().Fn})
	case graph.ParDo:
		return p.addParDo(e)
	case graph.Reshuffle:
		if len(p.spread)+len(p.stages) > 0 || len(p.source) > 0 && p.source[0].splittable() {
			return unsupported(e, "one Reshuffle, before the source, is known")
		}
		p.spread, p.source = p.source, nil
	default:
		return unsupported(e, "a chain of ParDo, Reshuffle, WindowInto and GroupByKey is known")
	}
	return nil
}

func byDefault(t trigger.Trigger) bool {
	switch t.(type) {
	case trigger.DefaultTrigger, *trigger.DefaultTrigger:
		return true
	}
	return false
}

func (p *plan) addParDo(e *graph.MultiEdge) error {
	op := operation{edge: e, keyed: typex.IsKV(e.Input[0].From.Type()) || typex.IsCoGBK(e.Input[0].From.Type())}
	if _, timers := e.DoFn.OnTimerFn(); timers {
		return unsupported(e, "it has timers")
	}
	if op.splittable() {
		if err := p.checkSource(e); err != nil {
			return err
		}
	}
	if err := checkParams(e); err != nil {
		return err
	}
	if len(e.DoFn.PipelineState()) > 0 {
		if err := checkState(e); err != nil {
			return err
		}
		p.stages = append(p.stages, stagePlan{})
	}
	p.put(op)
	return nil
}

// checkSource refuses splittable DoFns that cannot be a source here.
func (p *plan) checkSource(e *graph.MultiEdge) error {
	fn := (*graph.SplittableDoFn)(e.DoFn)
	switch {
	case len(p.source)+len(p.stages) > 0:
		return unsupported(e, "only the source is splittable")
	case len(e.DoFn.PipelineState()) > 0:
		return unsupported(e, "it is splittable and has state")
	case fn.RestrictionT() == bytesType:
		return unsupported(e, "its restriction cannot be told from its element")
	case fn.IsWatermarkEstimating() && fn.WatermarkEstimatorT().Implements(reflect.TypeFor[sdf.TimestampObservingEstimator]()):
		return unsupported(e, "its watermark estimator observes timestamps")
	}
	return nil
}

// checkState refuses keyed state that is not kept here, or would be lost.
func checkState(e *graph.MultiEdge) error {
	from := e.Input[0].From
	for _, s := range e.DoFn.PipelineState() {
		if t := s.StateType(); t != state.TypeValue && t != state.TypeBag {
			return unsupported(e, "its state %q is neither a value nor a bag", s.StateKey())
		}
	}
	if k := from.Type().Components()[0].Type(); !isKey(k) {
		return unsupported(e, "%v is not the type of a key", k)
	}
	if from.WindowingStrategy().Fn.Kind != window.GlobalWindows {
		return unsupported(e, "its state is cut by windows")
	}
	if d, ok := e.DoFn.Recv.(ephemeral); !ok || !d.EphemeralState() {
		return fmt.Errorf("compiling %s of %v: run it on an engine with checkpoints, or declare by a method EphemeralState() bool that its state may end with the job: %w", e.Name(), e.Scope(), ErrStateWouldBeLost)
	}
	return nil
}

// checkParams refuses parameters that nothing here could give.
func checkParams(e *graph.MultiEdge) error {
	const known = funcx.FnContext | funcx.FnEventTime | funcx.FnValue | funcx.FnIter | funcx.FnEmit | funcx.FnStateProvider | funcx.FnRTracker | funcx.FnWatermarkEstimator
	for _, fn := range []*funcx.Fn{e.DoFn.SetupFn(), e.DoFn.StartBundleFn(), e.DoFn.ProcessElementFn(), e.DoFn.FinishBundleFn(), e.DoFn.TeardownFn()} {
		if fn == nil {
			continue
		}
		for _, param := range fn.Param {
			if param.Kind&known == 0 {
				return unsupported(e, "it has a parameter %v", param.T)
			}
		}
	}
	return nil
}

// put appends an operation to the last stage, or to the source.
func (p *plan) put(op operation) {
	if n := len(p.stages); n > 0 {
		p.stages[n-1].operations = append(p.stages[n-1].operations, op)
		return
	}
	p.source = append(p.source, op)
}

var bytesType = reflect.TypeFor[[]byte]()

// isKey reports whether values of a type can be told apart by their bytes or as they are. Those
// of a type with a coder of its own are the same where it says so.
func isKey(t reflect.Type) bool {
	if coder.LookupCustomCoder(t) != nil {
		return false
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	default:
		return t == bytesType
	}
}
