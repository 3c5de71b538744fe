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
	sides   []sidePlan
}

// sidePlan is a chain of its own that joins the plan's by a Flatten: its elements are made at the
// start, and wait for the others before a stage.
type sidePlan struct {
	impulse    []byte
	operations []operation // to the stage, also those after the Flatten
	stage      int
}

// stagePlan is what happens to groups.
type stagePlan struct {
	windows    *window.Fn
	operations []operation
}

// operation is a ParDo, a Combine or, with windows set, a WindowInto.
type operation struct {
	edge    *graph.MultiEdge
	windows *window.Fn
	keyed   bool // its elements are pairs
	output  int  // of its outputs the one that goes on; the others are dropped
}

func (o *operation) splittable() bool {
	return o.windows == nil && o.edge.Op == graph.ParDo && o.edge.DoFn.IsSplittable()
}

func unsupported(e *graph.MultiEdge, format string, args ...any) error {
	return fmt.Errorf("compiling %s of %v: %s: %w", e.Name(), e.Scope(), fmt.Sprintf(format, args...), ErrUnsupported)
}

// compile follows the chain from its Impulse to its end. Of several Impulses, the first is that of
// the chain with a source that is splittable or with groups, if there is one; the others are sides.
func compile(p *beam.Pipeline) (*plan, error) {
	edges, _, err := p.Build()
	if err != nil {
		return nil, fmt.Errorf("compiling the pipeline: %w", err)
	}
	g := links{consumer: map[int]*graph.MultiEdge{}, chained: map[*graph.MultiEdge]bool{}}
	var impulses []*graph.MultiEdge
	for _, e := range edges {
		if e.Op == graph.Impulse {
			impulses = append(impulses, e)
		}
		for _, in := range e.Input {
			id := in.From.ID()
			if g.consumer[id] != nil {
				return nil, unsupported(e, "%s consumes the same collection", g.consumer[id].Name())
			}
			g.consumer[id] = e
		}
	}
	if len(impulses) == 0 {
		return nil, fmt.Errorf("compiling the pipeline: it does not begin with an Impulse: %w", ErrUnsupported)
	}
	main := 0
	for i, e := range impulses {
		if g.heavy(e) {
			main = i
			break
		}
	}
	out := &plan{impulse: impulses[main].Value}
	if err := out.follow(&g, impulses[main], impulses); err != nil {
		return nil, err
	}
	for _, e := range edges {
		if !g.chained[e] {
			return nil, unsupported(e, "it is no part of the chain that begins with the Impulse")
		}
	}
	return out, nil
}

// links are the edges of a pipeline by what they consume.
type links struct {
	consumer map[int]*graph.MultiEdge // by node
	chained  map[*graph.MultiEdge]bool
}

// next returns the edge after another one, and the output that it consumes.
func (g *links) next(e *graph.MultiEdge) (next *graph.MultiEdge, output int, err error) {
	for i, out := range e.Output {
		to := g.consumer[out.To.ID()]
		if to != nil && next != nil {
			return nil, 0, unsupported(e, "%s and %s consume outputs of it", next.Name(), to.Name())
		}
		if to != nil {
			next, output = to, i
		}
	}
	return next, output, nil
}

// heavy reports whether a chain has groups or a splittable source before it meets another one.
func (g *links) heavy(e *graph.MultiEdge) bool {
	for e != nil && e.Op != graph.Flatten {
		if e.Op == graph.CoGBK || e.Op == graph.ParDo && e.DoFn.IsSplittable() {
			return true
		}
		next, _, err := g.next(e)
		if err != nil {
			return false // compile says so
		}
		e = next
	}
	return false
}

// follow appends the edges after an Impulse, with the sides that join them.
func (p *plan) follow(g *links, first *graph.MultiEdge, impulses []*graph.MultiEdge) error {
	g.chained[first] = true
	at, _, err := g.next(first)
	for err == nil && at != nil {
		g.chained[at] = true
		next, output, outputErr := g.next(at)
		switch err = outputErr; {
		case err != nil:
		case at.Op == graph.Flatten:
			err = p.join(g, at, impulses)
		default:
			err = p.add(at, output)
		}
		at = next
	}
	return err
}

// join adds the sides that meet the chain in a Flatten.
func (p *plan) join(g *links, flatten *graph.MultiEdge, impulses []*graph.MultiEdge) error {
	for _, first := range impulses {
		if g.chained[first] {
			continue
		}
		side := plan{}
		e, _, err := g.next(first)
		met := []*graph.MultiEdge{first}
		for err == nil && e != nil && e != flatten {
			met = append(met, e)
			next, output, outputErr := g.next(e)
			if err = outputErr; err == nil {
				err = side.add(e, output)
			}
			e = next
		}
		if err != nil {
			return err
		}
		if e != flatten {
			continue // it may join later
		}
		if len(side.stages)+len(side.spread) > 0 || len(side.source) > 0 && side.source[0].splittable() {
			return unsupported(flatten, "one chain with groups or a splittable source is known")
		}
		for _, e := range met {
			g.chained[e] = true
		}
		p.sides = append(p.sides, sidePlan{impulse: first.Value, operations: side.source, stage: -1})
	}
	return nil
}

// add appends the next edge of the chain, of which one output goes on.
func (p *plan) add(e *graph.MultiEdge, output int) error {
	if len(e.Input) != 1 {
		return unsupported(e, "it has %d inputs", len(e.Input))
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
		for i := range p.sides {
			if s := &p.sides[i]; s.stage < 0 {
				s.stage = len(p.stages)
			}
		}
		p.stages = append(p.stages, stagePlan{windows: from.WindowingStrategy().Fn})
	case graph.ParDo:
		return p.addParDo(e, output)
	case graph.Combine:
		return p.addCombine(e)
	case graph.Reshuffle:
		if len(p.spread)+len(p.stages) > 0 || len(p.source) > 0 && p.source[0].splittable() {
			return unsupported(e, "one Reshuffle, before the source, is known")
		}
		p.spread, p.source = p.source, nil
	default:
		return unsupported(e, "a chain of ParDo, Reshuffle, WindowInto, GroupByKey and Combine is known")
	}
	return nil
}

// addCombine appends a combiner of groups.
func (p *plan) addCombine(e *graph.MultiEdge) error {
	fn := e.CombineFn
	if !typex.IsCoGBK(e.Input[0].From.Type()) || fn.SetupFn() != nil || fn.TeardownFn() != nil {
		return unsupported(e, "a combiner of groups without Setup and Teardown is known")
	}
	for _, f := range []*funcx.Fn{fn.CreateAccumulatorFn(), fn.AddInputFn(), fn.MergeAccumulatorsFn(), fn.ExtractOutputFn()} {
		if f != nil && len(f.Param) != len(f.Params(funcx.FnValue|funcx.FnContext)) {
			return unsupported(e, "a combiner takes a context and values")
		}
	}
	p.put(operation{edge: e, keyed: true})
	return nil
}

func byDefault(t trigger.Trigger) bool {
	switch t.(type) {
	case trigger.DefaultTrigger, *trigger.DefaultTrigger:
		return true
	}
	return false
}

func (p *plan) addParDo(e *graph.MultiEdge, output int) error {
	op := operation{edge: e, output: output, keyed: typex.IsKV(e.Input[0].From.Type()) || typex.IsCoGBK(e.Input[0].From.Type())}
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

// put appends an operation to the last stage, or to the source, and to the sides that have joined
// since.
func (p *plan) put(op operation) {
	for i := range p.sides {
		if s := &p.sides[i]; s.stage < 0 {
			s.operations = append(s.operations, op)
		}
	}
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
