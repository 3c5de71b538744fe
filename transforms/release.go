package transforms

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/transforms/hook"
)

func init() { beam.RegisterDoFn(&releaseFn{}) }

// Release passes the partial counts of every turn and release shard to the Releaser that h opens.
//
// In: Spend's output after Pack, KV<int, []byte> by release shard. Out: KV<int, []byte>, all with
// key 0: one acknowledgement (schemas.Ack) for each release shard, with the time of its turn.
// Release emits it when the values of the release shard have been published.
//
// release.New returns a Releaser that uses ladders and a Publisher. After a bundle has failed, a
// Releaser may receive the same group again.
func Release(s beam.Scope, h hook.Hook[Releaser], partials beam.PCollection) beam.PCollection {
	return releaseIn(s, h, Layout{}, partials)
}

func releaseIn(s beam.Scope, h hook.Hook[Releaser], l Layout, partials beam.PCollection) beam.PCollection {
	fn := &releaseFn{shardsFn[Releaser]{stage: stage[Releaser]{Hook: hook.NewField(h)}, Layout: l}}
	return beam.ParDo(s.Scope("release"), fn, partials)
}

// releaseFn passes the partial counts of one release shard to the Releaser.
type releaseFn struct{ shardsFn[Releaser] }

// ProcessElement starts the work of a release shard, or of all release shards of a strand.
func (f *releaseFn) ProcessElement(
	ctx context.Context, eventTime beam.EventTime, strand int, packed []byte, _ func(beam.EventTime, int, []byte),
) error {
	return f.start(ctx, eventTime, strand, packed, "releasing", f.opened.Release)
}
