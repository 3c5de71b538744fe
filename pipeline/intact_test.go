package pipeline

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
)

// A ledger or counts topic that was made anew after a turn was settled is refused before anything
// is written to it.
func TestALedgerOrCountsTopicThatWasMadeAnewIsRefused(t *testing.T) {
	t.Parallel()
	for topic, says := range map[string]string{
		"tollgate-ledger": "comparing topic tollgate-ledger with control: partition 0 ends at offset 0, but when turn 2 was settled it ended at 1 or later",
		"tollgate-counts": "comparing topic tollgate-counts with control: partition 0 ends at offset 0, but when turn 2 was settled it ended at 7 or later",
	} {
		t.Run(topic, func(t *testing.T) {
			e := startElections(t)
			d := makeTopics(t, deploytest.Config(e.ListenAddrs()[0]), nil)
			if err := Init(t.Context(), d, InitOptions{Start: time.Unix(60, 0)}); err != nil {
				t.Fatal(err)
			}
			e.history("events", 100)
			if _, err := Run(t.Context(), d, RunOptions{Bounded: true}); err != nil {
				t.Fatal(err)
			}
			if err := e.DeleteTopic(topic); err != nil {
				t.Fatal(err)
			}
			for _, spec := range topicrules.Specs(d, 0, 1) {
				if spec.Name == topic {
					if err := e.client.CreateTopics(t.Context(), spec); err != nil {
						t.Fatal(err)
					}
				}
			}
			for range 2 { // a refusal writes nothing that would let the next one pass
				_, err := Run(t.Context(), d, RunOptions{Bounded: true})
				if !errors.Is(err, deployment.ErrLogFault) || !strings.Contains(err.Error(), says) {
					t.Errorf("%v\ndoes not say\n%s", err, says)
				}
			}
		})
	}
}
