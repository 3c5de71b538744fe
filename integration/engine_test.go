package integration

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/localrunner"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// On each engine, the same log gives the same counts, settlements and ledger, byte for byte, and
// equals the reference.
func TestEnginesReleaseTheSameBytes(t *testing.T) {
	broker := startBroker(t)
	arrivals := scatter(calm(60).arrivals(), 2, 1)
	written := map[string]map[string][]string{}
	for name, engine := range map[string]pipeline.Engine{"direct": pipeline.Direct, "prism": onPrism} {
		d := newDeployment(t, broker, "engine-"+name, 2, sharded(3, 2), tight)
		d.load(arrivals)
		d.run(func(o *runOptions) { o.Engine = engine })
		d.verify()
		written[name] = d.written()
	}
	if n := len(written["direct"]); n != 2+3+1 {
		t.Errorf("%d partitions have records, want 6: counts, ledger and control", n)
	}
	for topic, records := range written["direct"] {
		if len(records) < 5 {
			t.Errorf("%s has only %d records: the case is too tame", topic, len(records))
		}
	}
	if diff := cmp.Diff(written["direct"], written["prism"]); diff != "" {
		t.Errorf("(-direct +prism):\n%s", diff)
	}
}

// silenceBeam discards Beam's logs of every job, from the process's default logger and from its
// own.
var silenceBeam = sync.OnceFunc(func() {
	beam.Init() // makes Beam's logger the process's
	beamlog.SetLogger(noBeamLog{})
	slog.SetDefault(slog.New(slog.DiscardHandler))
})

type noBeamLog struct{}

func (noBeamLog) Log(context.Context, beamlog.Severity, int, string) {}

// onPrism runs the stages on prism, Beam's local runner. Only one pipeline may run at a time,
// because prism's job options are global. ctx does not cancel a running job; pipeline.Run closes
// its connections instead. Bundles are not split (package localrunner). Errors of stages lose their
// type, because prism passes them on as text.
func onPrism(ctx context.Context, p *beam.Pipeline) error {
	silenceBeam()
	localrunner.Keep()
	_, err := prism.Execute(context.WithoutCancel(ctx), p)
	return err
}

// written returns the bytes on counts and ledger, and the settlements' bytes on control, by
// partition.
func (d *deployment) written() map[string][]string {
	d.t.Helper()
	all := map[string][]string{}
	add := func(topic, name string, partitions int) {
		for p := range int32(partitions) {
			for _, r := range d.records(topic, p) {
				name := fmt.Sprint(name, p)
				all[name] = append(all[name], fmt.Sprintf("%x: %x", r.Key, r.Value))
			}
		}
	}
	add(d.config.Outputs.Counts, "counts ", d.config.ReleaseShards)
	add(d.config.Outputs.Ledger, "ledger ", d.config.Shards)
	for _, r := range d.records(d.config.Outputs.Control, 0) {
		c := must.Have(schemas.DecodeControl(r.Value))
		if _, settled := c.Body.(*schemas.Settled); !settled {
			continue
		}
		c.Back, c.BackEpoch = 0, 0 // offsets, which depend on how far turns are closed ahead
		encoded := must.Have(schemas.EncodeControl(c))
		all["control"] = append(all["control"], fmt.Sprintf("%x", encoded))
	}
	return all
}
