package transforms_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/teststream"

	"github.com/tollgate-dp/tollgate/transforms"
)

func init() {
	register.Function1x2(shardAndBlob)
	register.Function4x2(describePack)
}

// shardAndBlob makes an element of a test stream's line: "2 blob".
func shardAndBlob(line string) (int, []byte) { return int(line[0] - '0'), []byte(line[2:]) }

// describePack returns the contents of a pack, with its tick and window.
func describePack(w typex.Window, eventTime beam.EventTime, shard int, pack []byte) (string, error) {
	blobs, err := transforms.Unpack(pack)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, b := range blobs {
		texts = append(texts, string(b))
	}
	slices.Sort(texts) // blobs come in any order
	return fmt.Sprintf("%v tick %d shard %d: %s", w, eventTime.Milliseconds()/1000, shard, strings.Join(texts, ",")),
		nil
}

// TestPackHasOnePackForAShardAndTick, however the stream mixes shards and ticks: a tick's elements
// arrive in pieces, before and after elements of later ticks, and two ticks end at once. Elements
// after the watermark are in no pack.
func TestPackHasOnePackForAShardAndTick(t *testing.T) {
	stream := teststream.NewConfig()
	add := func(tick int64, lines ...any) {
		t.Helper()
		if err := stream.AddElements(tick*1000, lines...); err != nil {
			t.Fatal(err)
		}
	}
	stream.AdvanceWatermark(1000)
	add(2, "0 b", "1 c")
	add(1, "1 a", "0 d")
	add(3, "2 e")
	stream.AdvanceWatermark(1500) // within tick 1: it goes on
	add(1, "0 f", "0 g")
	stream.AdvanceWatermark(2000)
	add(1, "0 late", "2 late") // for a shard that had a pack, and for one without
	add(3, "0 h")
	add(2, "1 i")
	add(4, "1 j")
	stream.AdvanceWatermark(4000) // ticks 2 and 3 at once
	add(3, "2 late")
	add(2, "0 late", "1 late")
	add(4, "1 k", "0 l")
	stream.AdvanceWatermarkToInfinity()
	ptest.BuildAndRun(t, func(s beam.Scope) {
		packs := transforms.Pack(s, beam.ParDo(s, shardAndBlob, teststream.Create(s, stream)))
		passert.Equals(s, beam.ParDo(s, describePack, packs),
			"[*] tick 1 shard 0: d,f,g",
			"[*] tick 1 shard 1: a",
			"[*] tick 2 shard 0: b",
			"[*] tick 2 shard 1: c,i",
			"[*] tick 3 shard 0: h",
			"[*] tick 3 shard 2: e",
			"[*] tick 4 shard 0: l",
			"[*] tick 4 shard 1: j,k",
		)
	})
}
