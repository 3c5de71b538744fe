package commands

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

const (
	untilFourth = "run --config $C --until 2025-03-04 --wait 1m"
	untilFifth  = "run --config $C --until 2025-03-05 --wait 1m"
)

var restoredRemedies = []remedy{
	{texts: one("values of turn %d are in partition %d before offset"), walk: func(w *walk) {
		w.settled()
		w.dies(crashpoint.CountsWritten, untilFourth)
		good := w.copied("shop-counts")
		w.remake(good, false)
		w.refused(untilFourth)
		w.aside()
		w.remake(good, true)
		w.works(untilFourth)
	}},
	{texts: one("or copied with other offsets. Restore control"), walk: func(w *walk) {
		w.settled()
		older := w.copied("shop-control", "shop-ledger", "shop-counts")
		w.must(untilFourth)
		newer := w.copied("shop-control", "shop-ledger", "shop-counts")
		w.remake(older, true)
		w.refused(untilFourth)
		w.aside()
		w.remake(newer, true)
		w.works(untilFifth)
	}},
	{texts: []string{"or a later one, another program wrote to", "if another program wrote that, turns up to it will not be shown"}, walk: func(w *walk) {
		w.settled()
		const day = 24 * time.Hour
		end := schemas.TurnEnd{Turn: 1000, End: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC).Add(1000 * day).UnixMilli(), Generation: 1, Counts: "shop-counts", CountsEnd: make([]int64, 4)}
		value, err := schemas.EncodeTurnEnd(end)
		if err != nil {
			w.Fatal(err)
		}
		w.write("shop-turns", kafkalog.Message{Key: schemas.TurnEndKey(), Value: value, Timestamp: kafkalog.At(end.End)})
		stuck := w.begin(serves)
		w.await(stuck)
		w.refused(untilFourth)
		w.refused("validate --config $C")
		w.deleteRecords("shop-turns")
		w.works(untilFourth)
		stuck.stop()
		w.served(serves, "2025-03-01T00:00:00Z")
		w.served(serves, "2025-03-04T00:00:00Z")
		w.works("validate --config $C")
	}},
	{texts: one("Restore it with its offsets and times"), walk: func(w *walk) {
		w.settled()
		good, mirror := w.copied("visits"), w.copied("visits")
		all := mirror["visits"][0]
		mirror["visits"][0] = append(all[100:], all[len(all)-100:]...) // retention has taken the oldest, and producers go on
		w.remake(mirror, false)
		w.refused(untilFourth)
		w.aside()
		w.remake(good, true)
		w.works(untilFourth)
	}},
	{texts: one("Restore them, or begin a new deployment"), walk: func(w *walk) {
		w.settled()
		w.dies(crashpoint.CountsWritten, untilFourth)
		good := w.copied("shop-counts")
		w.deleteRecords("shop-counts")
		w.refused(untilFourth)
		w.aside()
		w.remake(good, true)
		w.works(untilFourth)
	}},
}

// copies are the records of topics, by partition.
type copies map[string][][]kafkalog.Record

// copied returns what topics hold.
func (w *walk) copied(topics ...string) copies {
	w.Helper()
	client, err := kafkalog.Dial(w.Context(), kafkalog.Config{Brokers: []string{w.value("B")}})
	if err != nil {
		w.Fatal(err)
	}
	defer client.Close()
	all := copies{}
	for _, topic := range topics {
		ids, err := client.Partitions(w.Context(), topic)
		if err != nil {
			w.Fatal(err)
		}
		for _, id := range ids {
			var records []kafkalog.Record
			bounds, err := client.Offsets(w.Context(), topic, id)
			if err == nil {
				err = client.ReadRange(w.Context(), topic, id, bounds.Start, bounds.LastStable, func(r kafkalog.Record) error {
					r.Key, r.Value, r.Headers = bytes.Clone(r.Key), bytes.Clone(r.Value), slices.Clone(r.Headers)
					records = append(records, r)
					return nil
				})
			}
			if err != nil {
				w.Fatal(err)
			}
			all[topic] = append(all[topic], records)
		}
	}
	return all
}

// remake makes topics anew with what they held. A restore keeps the offsets: where a marker stood,
// another record stands. A mirror does not.
func (w *walk) remake(from copies, offsets bool) {
	w.Helper()
	w.lose(slices.Collect(maps.Keys(from))...)
	d, err := (&app{stderr: io.Discard, getenv: func(name string) string { return w.environment[name] }}).prepare(w.value("C"), false)
	if err != nil {
		w.Fatal(err)
	}
	if err := pipeline.CreateTopics(w.Context(), d.Deployment, pipeline.TopicOptions{EventPartitions: 1}); err != nil && !errors.Is(err, pipeline.ErrTopicExists) {
		w.Fatal(err)
	}
	client, err := kafkalog.Dial(w.Context(), kafkalog.Config{Brokers: []string{w.value("B")}})
	if err != nil {
		w.Fatal(err)
	}
	defer client.Close()
	for topic, partitions := range from {
		for id, records := range partitions {
			var kept []kafkalog.Message
			for _, r := range records {
				for offsets && int64(len(kept)) < r.Offset {
					kept = append(kept, kafkalog.Message{Key: []byte("a marker"), Timestamp: kafkalog.At(1)})
				}
				kept = append(kept, kafkalog.Message{Key: r.Key, Value: r.Value, Headers: r.Headers, Timestamp: kafkalog.At(r.Timestamp)})
			}
			if len(kept) == 0 {
				continue
			}
			p, err := client.NewProducer(w.Context(), topic, int32(id), "")
			if err != nil {
				w.Fatal(err)
			}
			_, err = p.Append(w.Context(), kept)
			p.Close()
			if err != nil {
				w.Fatal(err)
			}
		}
	}
}

// dies runs a command that is killed at a point.
func (w *walk) dies(point, line string) {
	w.Helper()
	killed := errors.New("killed")
	ctx := crashpoint.With(w.Context(), crashpoint.Hooks{At: func(at string, _ int) error {
		if at == point {
			return killed
		}
		return nil
	}})
	if code, output := w.lineUnder(ctx, line); code == exitOK {
		w.Fatalf("tollgate %s is not killed: %s", line, output)
	}
}

// aside begins a new deployment beside one that is in trouble, as the texts offer, and goes back to
// the first one.
func (w *walk) aside() {
	w.Helper()
	before := contentsOf(w.T, w.value("C"))
	w.anew()
	w.put(w.value("C"), before)
}

// deleteRecords deletes all records of a topic with one partition, as kafka-delete-records.sh and
// retention do.
func (w *walk) deleteRecords(topic string) {
	w.Helper()
	request := kmsg.NewPtrDeleteRecordsRequest()
	of := kmsg.NewDeleteRecordsRequestTopic()
	of.Topic = topic
	partition := kmsg.NewDeleteRecordsRequestTopicPartition()
	partition.Offset = -1
	of.Partitions = append(of.Partitions, partition)
	request.Topics = append(request.Topics, of)
	response, err := request.RequestWith(context.Background(), w.admin())
	if err != nil || response.Topics[0].Partitions[0].ErrorCode != 0 {
		w.Fatalf("deleting records of %s: %+v (%v)", topic, response, err)
	}
}
