package commands

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
)

// paste runs the command that begins so in an output, with the flags that follow and without the
// prose after it. tollgate gets the configuration of the walk, as in a folder where that is
// tollgate.yaml. Instead of Kafka's tools the requests that they send are sent.
func (w *walk) paste(output, begins string) {
	w.Helper()
	_, rest, found := strings.Cut(output, begins)
	if !found {
		w.Fatalf("no command %s to paste: %s", begins, output)
	}
	words := strings.Fields(begins + rest)
	if words[0] == "tollgate" {
		w.must(w.ours(words[1:]))
		return
	}
	flags := map[string][]string{}
	if words[0] == "kafka-transactions.sh" { // its command stands between the flags
		words = slices.DeleteFunc(words, func(word string) bool { return word == "describe-producers" })
	}
	for i := 1; i < len(words) && strings.HasPrefix(words[i], "--"); i++ {
		name, value := words[i], ""
		if !slices.Contains([]string{"--alter", "--create"}, name) {
			i++
			value = strings.TrimRight(words[i], ";,.)\"")
		}
		flags[name] = append(flags[name], value)
	}
	if flags["--bootstrap-server"][0] != w.value("B") {
		w.Fatalf("the command is for broker %s: %s", flags["--bootstrap-server"][0], output)
	}
	switch words[0] {
	case "kafka-configs.sh":
		name, value, _ := strings.Cut(flags["--add-config"][0], "=")
		w.alter(flags["--entity-name"][0], name, value)
	case "kafka-transactions.sh":
		w.abort(flags["--topic"][0], flags["--partition"][0])
	case "kafka-topics.sh":
		settings := map[string]string{}
		for _, one := range flags["--config"] {
			name, value, _ := strings.Cut(one, "=")
			settings[name] = value
		}
		partitions, err := strconv.Atoi(flags["--partitions"][0])
		if err != nil {
			w.Fatal(err)
		}
		create(w, w.value("B"), kafkalog.TopicSpec{Name: flags["--topic"][0], Partitions: partitions, Config: settings})
	default:
		w.Fatalf("nothing runs %s here", words[0])
	}
}

// ours returns the command line of tollgate that words begin with.
func (w *walk) ours(words []string) string {
	cmd, _, err := (&app{}).root().Find(words[:1])
	if err != nil {
		w.Fatal(err)
	}
	line := words[0]
	for i := 1; i < len(words); i++ {
		name := strings.TrimRight(words[i], ";,.:)")
		flag := cmd.Flags().Lookup(strings.TrimPrefix(name, "--"))
		if !strings.HasPrefix(name, "--") || flag == nil {
			break
		}
		line += " " + name
		if flag.NoOptDefVal == "" && i+1 < len(words) {
			i++
			value := strings.TrimRight(words[i], ";,.:)")
			if given, is := w.vars[value]; is { // a word in capitals, for which the reader puts something
				value = given
			}
			line += " " + value
		}
		if name != words[i] && strings.ContainsAny(words[i][len(words[i])-1:], ";,.:)") {
			break
		}
	}
	if cmd.Flags().Lookup("config") != nil && !strings.Contains(line, "--config") {
		line += " --config $C"
	}
	return line
}

// alter changes a setting of a topic, as kafka-configs.sh --add-config does.
func (w *walk) alter(topic, setting, value string) {
	w.Helper()
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = setting, &value
	resource.Configs = append(resource.Configs, config)
	request.Resources = append(request.Resources, resource)
	response, err := request.RequestWith(w.Context(), w.admin())
	if err != nil || response.Resources[0].ErrorCode != 0 {
		w.Fatalf("setting %s of topic %s: %+v (%v)", setting, topic, response, err)
	}
}

// abort ends the transactions that are open on a partition, as kafka-transactions.sh abort does
// with what its describe-producers shows.
func (w *walk) abort(topic, partition string) {
	w.Helper()
	id, err := strconv.Atoi(partition)
	if err != nil {
		w.Fatal(err)
	}
	describe := kmsg.NewPtrDescribeProducersRequest()
	of := kmsg.NewDescribeProducersRequestTopic()
	of.Topic, of.Partitions = topic, []int32{int32(id)}
	describe.Topics = append(describe.Topics, of)
	described, err := describe.RequestWith(w.Context(), w.admin())
	if err != nil {
		w.Fatal(err)
	}
	end := kmsg.NewPtrWriteTxnMarkersRequest()
	for _, p := range described.Topics[0].Partitions[0].ActiveProducers {
		if p.CurrentTxnStartOffset < 0 {
			continue
		}
		marker := kmsg.NewWriteTxnMarkersRequestMarker()
		marker.ProducerID, marker.ProducerEpoch, marker.CoordinatorEpoch = p.ProducerID, int16(p.ProducerEpoch), max(p.CoordinatorEpoch, 0)
		on := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
		on.Topic, on.Partitions = topic, []int32{int32(id)}
		marker.Topics = append(marker.Topics, on)
		end.Markers = append(end.Markers, marker)
	}
	if len(end.Markers) == 0 {
		w.Fatalf("partition %s of %s has no open transaction: %+v", partition, topic, described)
	}
	if _, err := end.RequestWith(w.Context(), w.admin()); err != nil {
		w.Fatal(err)
	}
}

// lose deletes topics.
func (w *walk) lose(topics ...string) {
	w.Helper()
	request := kmsg.NewPtrDeleteTopicsRequest()
	for _, name := range topics {
		topic := kmsg.NewDeleteTopicsRequestTopic()
		topic.Topic = kmsg.StringPtr(name)
		request.TopicNames, request.Topics = append(request.TopicNames, name), append(request.Topics, topic)
	}
	response, err := request.RequestWith(w.Context(), w.admin())
	if err != nil || response.Topics[0].ErrorCode != 0 {
		w.Fatalf("deleting topics: %+v (%v)", response, err)
	}
}

func (w *walk) admin() *kgo.Client {
	w.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.value("B")))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(client.Close)
	return client
}

// write appends a record to partition 0 of a topic, as another program would.
func (w *walk) write(topic string, m kafkalog.Message) {
	w.Helper()
	client, err := kafkalog.Dial(w.Context(), kafkalog.Config{Brokers: []string{w.value("B")}})
	if err != nil {
		w.Fatal(err)
	}
	defer client.Close()
	p, err := client.NewProducer(w.Context(), topic, 0, "")
	if err != nil {
		w.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Append(w.Context(), []kafkalog.Message{m}); err != nil {
		w.Fatal(err)
	}
}

var (
	printedConfigs = regexp.MustCompile(`kafka-configs\.sh [^\n;]*`)
)

// pasteConfigs runs every kafka-configs.sh of an output.
func (w *walk) pasteConfigs(output string) {
	w.Helper()
	all := printedConfigs.FindAllString(output, -1)
	if len(all) == 0 {
		w.Fatalf("no kafka-configs.sh to paste: %s", output)
	}
	for _, one := range all {
		w.paste(one, "kafka-configs.sh")
	}
}

// put writes a file of the walk.
func (w *walk) put(path, text string) {
	w.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// beside returns a file beside the configuration.
func (w *walk) beside(name string) string { return filepath.Join(filepath.Dir(w.value("C")), name) }
