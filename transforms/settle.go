package transforms

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/transforms/hook"
)

func init() { beam.RegisterDoFn(&settleFn{}) }

// Settle passes the acknowledgements of every turn to the Settler that h opens.
//
// In: Release's output after Pack, KV<int, []byte>. No output: the Settler makes the Source go on.
func Settle(s beam.Scope, h hook.Hook[Settler], acks beam.PCollection) {
	beam.ParDo0(s.Scope("settle"), &settleFn{stage[Settler]{Hook: hook.NewField(h)}}, acks)
}

// settleFn passes the acknowledgements of a turn to the Settler.
type settleFn struct {
	stage[Settler]
}

// ProcessElement passes the acknowledgements of one tick to the Settler.
func (f *settleFn) ProcessElement(ctx context.Context, _ int, packed []byte) error {
	blobs, err := Unpack(packed)
	if err != nil {
		return f.fail(err)
	}
	if err := f.opened.Settle(ctx, blobs); err != nil {
		return f.fail(fmt.Errorf("settling: %w", err))
	}
	return nil
}
