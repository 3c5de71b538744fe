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
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
)

var (
	// ErrUnsupported says that a pipeline has a shape that this runner does not know.
	ErrUnsupported = errors.New("the direct engine does not run this pipeline; another runner of Beam may")
	// ErrStateWouldBeLost says that a DoFn keeps keyed state, which a restart would need.
	ErrStateWouldBeLost = errors.New("the direct engine has no checkpoints: a restart would lose keyed state")
	// ErrLate says that an element was emitted behind the watermark.
	ErrLate = errors.New("an element was emitted behind the watermark")
)

// plan is a pipeline as a chain: the operations of the source, and the stages after it.
type plan struct {
	impulse []byte
	spread  []operation // make the elements of which each has a source of its own; none: the impulse
	source  []operation // the first may be splittable
	stages  []stagePlan
}

// stagePlan is what happens to groups.
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

func (o *operation) splittable() bool {
	return o.windows == nil && o.edge.Op == graph.ParDo && o.edge.DoFn.IsSplittable()
}

func unsupported(e *graph.MultiEdge, format string, args ...any) error {
	return fmt.Errorf("compiling %s of %v: %s: %w", e.Name(), e.Scope(), fmt.Sprintf(format, args...), ErrUnsupported)
}

// compile follows the chain from its Impulse to its end.
func compile(p *beam.Pipeline) (*plan, error) {
	edges, _, err := p.Build()
	if err != nil {
		return nil, fmt.Errorf("compiling the pipeline: %w", err)
	}
	out := &plan{}
	consumer := map[int]*graph.MultiEdge{} // by node
	var at *graph.MultiEdge
	for _, e := range edges {
		if e.Op == graph.Impulse && at == nil {
			at = e
		}
		for _, in := range e.Input {
			id := in.From.ID()
			if consumer[id] != nil {
				return nil, unsupported(e, "%s consumes the same collection", consumer[id].Name())
			}
			consumer[id] = e
		}
	}
	if at == nil {
		return nil, fmt.Errorf("compiling the pipeline: it does not begin with an Impulse: %w", ErrUnsupported)
	}
	out.impulse = at.Value
	chained := map[*graph.MultiEdge]bool{at: true}
	for len(at.Output) == 1 && consumer[at.Output[0].To.ID()] != nil {
		at = consumer[at.Output[0].To.ID()]
		chained[at] = true
		if err := out.add(at); err != nil {
			return nil, err
		}
	}
	for _, e := range edges {
		if !chained[e] {
			return nil, unsupported(e, "it is no part of the one chain that begins with the Impulse")
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
	if len(e.DoFn.PipelineState()) > 0 {
		return fmt.Errorf("compiling %s of %v: run it on an engine with checkpoints: %w", e.Name(), e.Scope(), ErrStateWouldBeLost)
	}
	if op.splittable() {
		if err := p.checkSource(e); err != nil {
			return err
		}
	}
	if len(e.DoFn.ProcessElementFn().Returns(funcx.RetValue)) > 0 {
		return unsupported(e, "it returns elements, and emitters are known")
	}
	if err := checkParams(e); err != nil {
		return err
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
	case fn.RestrictionT() == bytesType:
		return unsupported(e, "its restriction cannot be told from its element")
	case fn.IsWatermarkEstimating() && fn.WatermarkEstimatorT().Implements(reflect.TypeFor[sdf.TimestampObservingEstimator]()):
		return unsupported(e, "its watermark estimator observes timestamps")
	}
	return nil
}

// checkParams refuses parameters that nothing here could give.
func checkParams(e *graph.MultiEdge) error {
	const known = funcx.FnContext | funcx.FnEventTime | funcx.FnValue | funcx.FnIter | funcx.FnEmit | funcx.FnRTracker | funcx.FnWatermarkEstimator
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

// isKey reports whether values of a type are told apart as Go tells them apart: a type with a coder
// of its own is not taken for that.
func isKey(t reflect.Type) bool {
	return coder.LookupCustomCoder(t) == nil && (t.Kind() == reflect.Int || t.Kind() == reflect.String)
}
