package direct

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/funcx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
)

// combiner is an instance of a CombineFn: it makes one value of each group.
type combiner struct {
	operation
	fn   *graph.CombineFn
	next node
}

// newCombiner decodes the CombineFn from what an engine would be sent.
func newCombiner(op operation, next node) (*combiner, error) {
	encoded, err := graphx.EncodeMultiEdge(op.edge)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", op.edge.Name(), err)
	}
	_, fn, _, _, _, err := graphx.DecodeMultiEdge(encoded)
	if err != nil {
		return nil, fmt.Errorf("decoding %s: %w", op.edge.Name(), err)
	}
	c := &combiner{operation: op, next: next}
	if c.fn, err = graph.AsCombineFn(fn); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", op.edge.Name(), err)
	}
	return c, nil
}

func (c *combiner) startBundle(context.Context) error { return nil }

func (c *combiner) process(ctx context.Context, e *element) error {
	value, err := c.combine(ctx, e.group)
	if err != nil {
		return err
	}
	return c.next.process(ctx, &element{key: e.key, value: value, at: e.at, window: e.window})
}

func (c *combiner) finishBundle(context.Context) error { return nil }

// combine adds up the values of a group, which has one at least.
func (c *combiner) combine(ctx context.Context, values []any) (total any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(c.edge, p)
		}
	}()
	rest := values
	if create := c.fn.CreateAccumulatorFn(); create != nil {
		total, err = c.call(ctx, create)
	} else {
		total, rest = values[0], values[1:] // a value is an accumulator
	}
	add := c.fn.AddInputFn()
	if add == nil {
		add = c.fn.MergeAccumulatorsFn()
	}
	for _, v := range rest {
		if err == nil {
			total, err = c.call(ctx, add, total, v)
		}
	}
	if extract := c.fn.ExtractOutputFn(); extract != nil && err == nil {
		total, err = c.call(ctx, extract, total)
	}
	return total, err
}

func (c *combiner) call(ctx context.Context, fn *funcx.Fn, values ...any) (any, error) {
	args := make([]any, len(fn.Param))
	for i, param := range fn.Param {
		if param.Kind == funcx.FnContext {
			args[i] = ctx
			continue
		}
		args[i], values = values[0], values[1:]
	}
	returned := fn.Fn.Call(args)
	if i, ok := fn.Error(); ok {
		if err, ok := returned[i].(error); ok && err != nil {
			return nil, fmt.Errorf("%s: %w", c.edge.Name(), err)
		}
	}
	return returned[fn.Returns(funcx.RetValue)[0]], nil
}
