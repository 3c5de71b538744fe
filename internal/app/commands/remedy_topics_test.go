package commands

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
)

// visitsTopic is one for events.
var visitsTopic = kafkalog.TopicSpec{Name: "visits", Partitions: 1, Config: map[string]string{"retention.ms": "-1"}}

var topicRemedies = []remedy{
	{texts: one("kafka-configs.sh --bootstrap-server"), walk: func(w *walk) {
		for _, bad := range [][3]string{
			{"visits", "cleanup.policy", "compact"}, {"visits", "retention.ms", "60000"}, {"visits", "retention.bytes", "1000000"},
			{"shop-control", "cleanup.policy", "compact"}, {"shop-control", "retention.ms", "60000"}, {"shop-control", "retention.bytes", "1000000"},
			{"shop-control", "unclean.leader.election.enable", "true"}, {"shop-control", "max.message.bytes", "1000"},
			{"shop-ledger", "cleanup.policy", "delete"}, {"shop-counts", "retention.ms", "60000"}, {"shop-counts", "retention.bytes", "1000000"},
			{"shop-turns", "cleanup.policy", "compact"}, {"shop-dead-letter", "cleanup.policy", "compact"},
		} {
			if w.vars["C"] == "" {
				w.begun()
			}
			w.alter(bad[0], bad[1], bad[2])
			w.pasteConfigs(w.refused("validate --config $C"))
			w.works("validate --config $C")
		}
	}},
	{texts: []string{"you can set time.trust: producer instead, which is a weaker", "%s with time.trust: broker"}, walk: func(w *walk) {
		w.configured("trust: producer, no_future: true", "trust: broker, no_future: true")
		create(w, w.value("B"), kafkalog.TopicSpec{Name: "visits", Partitions: 1, Config: map[string]string{"retention.ms": "-1"}})
		output := w.refused("init --config $C --generate-keys --create-topics")
		w.edit("trust: broker", "trust: producer")
		w.works("init --config $C --create-topics")

		w.configured("deployment: shop", "deployment: other", "trust: producer, no_future: true", "trust: broker, no_future: true")
		w.pasteConfigs(output)
		w.works("init --config $C --generate-keys --create-topics")
	}},
	{texts: one("events.accept_size_retention: true"), walk: func(w *walk) {
		w.begun()
		w.alter("visits", "retention.bytes", "1000000")
		w.refused("validate --config $C")
		w.edit("topic: visits", "topic: visits\n  accept_size_retention: true")
		w.works("validate --config $C")
	}},
	{texts: one("set shards to that number"), walk: func(w *walk) { w.otherNumber("ledger", "shards: 3", 6) }},
	{texts: one("set release_shards to that number"), walk: func(w *walk) { w.otherNumber("counts", "shards: 4\nrelease_shards: 3", 3) }},
	{texts: one("name another topic under outputs.control"), walk: func(w *walk) {
		w.wrongPartitions("shop-control", 2)
		w.refused("init --config $C --create-topics")
		w.edit("shards: 4", "shards: 4\noutputs: {control: another-control}")
		w.works("init --config $C --create-topics")
	}},
	{texts: one("name another topic under outputs.turns"), walk: func(w *walk) {
		w.wrongPartitions("shop-turns", 2)
		w.refused("init --config $C --create-topics")
		w.edit("shards: 4", "shards: 4\noutputs: {turns: another-turns}")
		w.works("init --config $C --create-topics")
		w.movesLater("turns", 2)
	}},
	{texts: []string{"create it with tollgate init --create-topics", "let tollgate init --create-topics --event-partitions N make it"}, walk: func(w *walk) {
		w.configured()
		w.vars["N"] = "2"
		output := w.refused("init --config $C --generate-keys")
		w.paste(output, "tollgate init --create-topics --event-partitions")
		w.works("init --config $C")

		w.edit("deployment: shop", "deployment: other")
		w.ownKeys()
		output = w.refused("init --config $C")
		w.paste(output, "tollgate init --create-topics")
		w.works("validate --config $C")

		w.configured("deployment: shop", "deployment: third", "topic: visits", "topic: visit")
		w.refused("init --config $C --generate-keys --create-topics")
		w.edit("topic: visit\n", "topic: visits\n")
		w.works("init --config $C --create-topics")
	}},
	{texts: one("recreate it with tollgate change --create-topics"), walk: func(w *walk) {
		w.settled()
		for _, lost := range [][]string{{"shop-turns"}, {"shop-dead-letter"}, {"shop-turns", "shop-dead-letter"}} {
			w.lose(lost...)
			for _, command := range []string{"run --config $C --until 2025-03-03 --wait 1m", "validate --config $C", "init --config $C --create-topics"} {
				if output := w.refused(command); strings.Contains(output, "tollgate init --create-topics") {
					w.Errorf("%v is lost, and %s says what would be refused: %s", lost, command, output)
				}
			}
			w.paste(w.refused("run --config $C --until 2025-03-03 --wait 1m"), "tollgate change --create-topics")
			w.works("validate --config $C")
		}
		w.works("run --config $C --until-end --wait 1m")
	}},
	{texts: one("if it was lost, restore it, because runs refuse a new one once a turn is settled; otherwise"), walk: func(w *walk) {
		w.settled()
		w.edit("topic: visits", "topic: visit")
		w.refused("validate --config $C")
		w.edit("topic: visit\n", "topic: visits\n")
		w.works("run --config $C --until 2025-03-03 --wait 1m")
		w.lose("visits")
		w.refused("run --config $C --until-end --wait 1m")
		create(w, w.value("B"), kafkalog.TopicSpec{Name: "visits", Partitions: 1})
		if code, output := w.line("run --config $C --until-end --wait 1m"); code == exitOK || !strings.Contains(output, "visits") {
			w.Errorf("events that were made anew: exit %d: %s", code, output)
		}
	}},
	{texts: one("if the name is new, create the topic with tollgate change --create-topics"), walk: func(w *walk) {
		w.settled()
		w.edit("shards: 4", "shards: 4\noutputs: {ledger: ledger-2, counts: counts-2}")
		w.paste(w.refused("change --config $C --dry-run"), "tollgate change --create-topics")
		w.works("run --config $C --until 2025-03-03 --wait 1m")
		w.lose("ledger-2")
		w.refused("run --config $C --until-end --wait 1m")
		w.anew()
	}},
	{texts: one("control was lost, or they belong to different deployments"), walk: func(w *walk) {
		w.settled()
		w.unrecorded()
		w.lose("shop-control")
		w.refused("run --config $C --until-end --wait 1m")
		w.anew()
	}},
	{texts: one("comparing topic %s with control: partition %d ends at offset"), walk: func(w *walk) {
		w.settled()
		w.lose("shop-ledger")
		create(w, w.value("B"), kafkalog.TopicSpec{Name: "shop-ledger", Partitions: 4, Config: map[string]string{"cleanup.policy": "compact"}})
		w.refused("run --config $C --until-end --wait 1m")
		w.anew()
	}},
	{texts: one("recreate it: kafka-topics.sh"), walk: func(w *walk) {
		w.settled()
		run := w.begin("run --config $C --format json")
		says(w, &run.stdout, "2025-03-04T00:00:00Z") // it reads
		w.lose("shop-dead-letter")
		says(w, &run.stderr, "kafka-topics.sh --bootstrap-server")
		w.missing(run.stderr.String())
		w.paste(run.stderr.String(), "kafka-topics.sh --bootstrap-server")
		says(w, &run.stderr, "exists again")
		w.works("validate --config $C")
		run.stop()
	}},
}

// wrongPartitions writes the configuration of a deployment of which one topic has another number of
// otherNumber has a topic with three partitions at init: the configuration is set to that number,
// or names another topic. A deployment that has begun moves to another topic.
func (w *walk) otherNumber(output, set string, grown int32) {
	w.Helper()
	w.wrongPartitions("shop-"+output, 3)
	w.refused("init --config $C --create-topics")
	w.edit("shards: 4", set)
	w.works("init --config $C --create-topics")
	w.wrongPartitions("other-"+output, 3, "deployment: shop", "deployment: other")
	w.refused("init --config $C --create-topics")
	w.edit("shards: 4", "shards: 4\noutputs: {"+output+": another-"+output+"}")
	w.works("init --config $C --create-topics")
	w.movesLater(output, grown)
}

// movesLater has a topic of a deployment that has begun grow, and moves what it holds to another.
func (w *walk) movesLater(output string, partitions int32) {
	w.Helper()
	w.settled("deployment: shop", "deployment: later")
	request := kmsg.NewPtrCreatePartitionsRequest()
	topic := kmsg.NewCreatePartitionsRequestTopic()
	topic.Topic, topic.Count = "later-"+output, partitions
	request.Topics, request.TimeoutMillis = append(request.Topics, topic), 10_000
	response, err := request.RequestWith(w.Context(), w.admin())
	if err != nil || response.Topics[0].ErrorCode != 0 {
		w.Fatalf("adding partitions to %s: %+v (%v)", topic.Topic, response, err)
	}
	w.refused("validate --config $C")
	w.edit("shards: 4", "shards: 4\noutputs: {"+output+": moved-"+output+"}")
	w.works("change --config $C --create-topics")
	w.works("validate --config $C")
}

// partitions than it must have.
func (w *walk) wrongPartitions(topic string, partitions int, change ...string) {
	w.Helper()
	w.configured(change...)
	madeKeys(w.T, w.value("C"), 0o600)
	client, err := kafkalog.Dial(w.Context(), kafkalog.Config{Brokers: []string{w.value("B")}})
	if err != nil {
		w.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Partitions(w.Context(), "visits"); err != nil {
		create(w, w.value("B"), kafkalog.TopicSpec{Name: "visits", Partitions: 1})
	}
	policy := "delete"
	if strings.HasSuffix(topic, "ledger") {
		policy = "compact"
	}
	create(w, w.value("B"), kafkalog.TopicSpec{Name: topic, Partitions: partitions, Config: map[string]string{"cleanup.policy": policy, "retention.ms": "-1"}})
}

// anew begins a new deployment beside one that is over, as the texts say: another name, and so
// other topics and accounts. It has keys of its own, else init asks for --begin-second-promise.
func (w *walk) anew() {
	w.Helper()
	w.edit("deployment: shop", "deployment: shop-2", "outputs: {ledger: ledger-2, counts: counts-2}", "")
	w.ownKeys()
	w.must("init --config $C --create-topics --start 2025-03-01")
	w.works("run --config $C --until 2025-03-03 --wait 1m")
}
