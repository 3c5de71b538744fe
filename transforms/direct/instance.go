package direct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/funcx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
)

// node takes elements: an instance of a DoFn, a window assignment, or what collects a
// stage's output. Not for concurrent use.
type node interface {
	startBundle(ctx context.Context) error
	process(ctx context.Context, e *element) error
	finishBundle(ctx context.Context) error
}

// collector is the end of a chain.
type collector struct{ out []element }

func (c *collector) startBundle(context.Context) error { return nil }

func (c *collector) process(_ context.Context, e *element) error {
	c.out = append(c.out, *e)
	return nil
}

func (c *collector) finishBundle(context.Context) error { return nil }

// windower assigns windows.
type windower struct {
	operation
	next node
}

func (w *windower) startBundle(context.Context) error { return nil }

func (w *windower) process(ctx context.Context, e *element) error {
	moved := *e
	moved.window = windowOf(w.windows, e.at)
	return w.next.process(ctx, &moved)
}

func (w *windower) finishBundle(context.Context) error { return nil }

// instance is an instance of a DoFn.
type instance struct {
	operation
	fn   *graph.DoFn
	next node

	emits map[*funcx.Fn]any // by method
	// What the emitter of the method that is called now refers to; nil between calls.
	ctx     context.Context
	current *element
	failed  error // the first one of an element that was emitted: nothing goes on after it
}

// newInstance decodes the DoFn from what an engine would be sent, and sets it up.
func newInstance(ctx context.Context, op operation, next node) (*instance, error) {
	in := &instance{operation: op, next: next, emits: map[*funcx.Fn]any{}}
	encoded, err := graphx.EncodeMultiEdge(op.edge)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", op.edge.Name(), err)
	}
	_, fn, _, _, _, err := graphx.DecodeMultiEdge(encoded)
	if err != nil {
		return nil, fmt.Errorf("decoding %s: %w", op.edge.Name(), err)
	}
	inputs := graph.MainSingle
	if op.keyed {
		inputs = graph.MainKv
	}
	if in.fn, err = graph.AsDoFn(fn, inputs); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", op.edge.Name(), err)
	}
	_, err = in.call(ctx, in.fn.SetupFn(), nil)
	return in, err
}

// startBundle implements node.
func (in *instance) startBundle(ctx context.Context) error {
	_, err := in.call(ctx, in.fn.StartBundleFn(), bundleEnd())
	return err
}

// process implements node.
func (in *instance) process(ctx context.Context, e *element) error {
	_, err := in.call(ctx, in.fn.ProcessElementFn(), e)
	return err
}

// finishBundle implements node.
func (in *instance) finishBundle(ctx context.Context) error {
	_, err := in.call(ctx, in.fn.FinishBundleFn(), bundleEnd())
	return err
}

func (in *instance) teardown(ctx context.Context) error {
	_, err := in.call(ctx, in.fn.TeardownFn(), nil)
	return err
}

// bundleEnd stands for what is emitted outside of ProcessElement: in the global window, at
// time zero unless the emitter says another.
func bundleEnd() *element { return &element{at: mtime.ZeroTimestamp, window: global} }

// call calls a method with the parameters that it asks for, and hands on what it returns.
func (in *instance) call(ctx context.Context, fn *funcx.Fn, e *element, more ...any) (returned []any, err error) {
	if fn == nil {
		return nil, nil
	}
	in.ctx, in.current = ctx, e
	defer func() {
		in.ctx, in.current = nil, nil
		if p := recover(); p != nil {
			err = panicked(in.edge, p)
		}
		if in.failed != nil { // before what the method made of it
			err = in.failed
		}
	}()
	args, err := in.args(fn, e, more)
	if err != nil {
		return nil, err
	}
	returned = fn.Fn.Call(args)
	if i, ok := fn.Error(); ok {
		if err, ok := returned[i].(error); ok && err != nil {
			return nil, fmt.Errorf("%s: %w", in.edge.Name(), err)
		}
	}
	if in.failed != nil {
		return nil, in.failed
	}
	return returned, nil
}

// panicked makes an error of a panic; an error that was its value keeps its type.
func panicked(edge *graph.MultiEdge, p any) error {
	cause, ok := p.(error)
	if !ok {
		cause = fmt.Errorf("%v", p)
	}
	return fmt.Errorf("%s: panic: %w\n%s", edge.Name(), cause, callers())
}

// deepest bounds the calls that the error of a panic names.
const deepest = 64

// callers names the calls that led to a panic, from recover on, one a line. Unlike debug.Stack it
// has none of their arguments: among them are account ids, and counts without noise.
func callers() string {
	const own = 3 // runtime.Callers, this function and panicked
	pcs := make([]uintptr, deepest)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(own, pcs)])
	var text strings.Builder
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		fmt.Fprintf(&text, "\t%s (%s:%d)\n", f.Function, f.File, f.Line)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// args collects a method's parameters; more are those of a splittable DoFn, found by their type.
func (in *instance) args(fn *funcx.Fn, e *element, more []any) ([]any, error) {
	args := make([]any, len(fn.Param))
	value := 0
	for i, param := range fn.Param {
		switch param.Kind {
		case funcx.FnContext:
			args[i] = in.ctx
		case funcx.FnEventTime:
			args[i] = e.at
		case funcx.FnEmit:
			args[i] = in.emitter(fn, param.T)
		case funcx.FnIter:
			args[i] = iterator(param.T, e.group)
		case funcx.FnValue, funcx.FnRTracker, funcx.FnWatermarkEstimator:
			if arg, ok := argumentOf(param, more); ok {
				args[i] = arg
				continue
			}
			args[i] = e.value
			if in.keyed && value == 0 {
				args[i] = e.key
			}
			value++
		default:
			return nil, fmt.Errorf("%s: parameter %v: %w", in.edge.Name(), param.T, ErrUnsupported)
		}
	}
	return args, nil
}

// argumentOf returns the value that a parameter takes: of its very type, for an element may be
// of any type.
func argumentOf(param funcx.FnParam, values []any) (any, bool) {
	for _, v := range values {
		t := reflect.TypeOf(v)
		if v != nil && (t == param.T || param.Kind != funcx.FnValue && t.AssignableTo(param.T)) {
			return v, true
		}
	}
	return nil, false
}

// emitter returns the emitter of a method: a function of one or two values, after an
// event time where it takes one.
func (in *instance) emitter(fn *funcx.Fn, t reflect.Type) any {
	if known, ok := in.emits[fn]; ok {
		return known
	}
	timed := t.In(0) == typex.EventTimeType
	emit := reflect.MakeFunc(t, func(args []reflect.Value) []reflect.Value {
		if in.current == nil {
			in.failed = cmp.Or(in.failed, fmt.Errorf("%s: %w", in.edge.Name(), errKeptEmitter))
			return nil
		}
		out := element{at: in.current.at, window: in.current.window}
		if timed {
			out.at = args[0].Interface().(mtime.Time)
			args = args[1:]
		}
		out.value = args[len(args)-1].Interface()
		if len(args) == 2 {
			out.key = args[0].Interface()
		}
		in.emit(&out)
		return nil
	}).Interface()
	in.emits[fn] = emit
	return emit
}

var errKeptEmitter = errors.New("it has emitted after its method returned")

// emit hands an element on. A method cannot be told that it failed: it fails when it returns.
func (in *instance) emit(e *element) {
	if in.failed == nil {
		in.failed = in.next.process(in.ctx, e)
	}
}

// iterator returns a function that goes through a group's values.
func iterator(t reflect.Type, values []any) any {
	n := 0
	return reflect.MakeFunc(t, func(args []reflect.Value) []reflect.Value {
		more := n < len(values)
		if more {
			args[0].Elem().Set(reflect.ValueOf(values[n]))
			n++
		}
		return []reflect.Value{reflect.ValueOf(more)}
	}).Interface()
}

// continuation is what a splittable DoFn's ProcessElement has returned.
func continuation(fn *funcx.Fn, returned []any) sdf.ProcessContinuation {
	if i, ok := fn.ProcessContinuation(); ok {
		if c, ok := returned[i].(sdf.ProcessContinuation); ok {
			return c
		}
	}
	return sdf.StopProcessing()
}
