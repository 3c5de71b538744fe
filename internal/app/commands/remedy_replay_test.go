package commands

import (
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/fakeregistry"
)

var replayRemedies = []remedy{
	{texts: []string{"--brokers is needed: host:port, or --config", "--topic is needed, or --config", "--user-field is needed: it decides", "--time-field is needed: it becomes", "are named: --header, or --columns a,b,c", "--header and --columns are for %s"}, walk: func(w *walk) {
		w.vars["T"], w.vars["J"] = "visits", write(w, "events.jsonl", `{"user":"a","when":"2025-03-03T00:00:00Z"}`+"\n")
		w.vars["G"] = write(w, "e.csv", "user,page,when\nu,a,2025-03-03T00:00:00Z\n")
		w.begun()
		for _, without := range []string{"--brokers $B ", "--topic $T ", "--header ", "--user-field user ", "--time-field when"} {
			w.refused(strings.Replace(toTopic, without, "", 1))
			w.works(toTopic)
		}
		json := strings.Replace(toTopic, "$E --header", "$J", 1)
		w.refused(strings.Replace(toTopic, "$E", "$J", 1))
		w.works(json)
		w.refused("demo --input $J --header --user-field user --time-field when")
		w.works("replay --config $C --input $CSV --header")
	}},
	{texts: []string{"--sasl-mechanism is needed beside", "give --config FILE, with kafka.sasl in it", "give either --sasl-password-env or"}, walk: func(w *walk) {
		w.vars["P"], w.vars["T"] = write(w, "password", "secret"), "visits"
		const nowhere = "replay --brokers 127.0.0.1:1 --topic $T --input $E --header --user-field user --time-field when"
		for wrong, right := range map[string]string{
			" --sasl-user u --sasl-password-file $P": " --sasl-mechanism plain --sasl-user u --sasl-password-file $P",
			" --sasl-mechanism plain --sasl-user u":  " --sasl-mechanism plain --sasl-user u --sasl-password-file $P",
		} {
			w.refused(nowhere + wrong)
			if code, output := w.line(nowhere + right); code != exitError { // the flags are accepted, and nothing listens there
				w.Errorf("%s: exit %d: %s", right, code, output)
			}
		}
		w.refused(nowhere + " --sasl-mechanism oauthbearer")
		w.put(w.beside("token"), "a")
		madeKeys(w.T, w.value("C"), 0o600)
		w.edit("kafka: {brokers: [", "kafka: {sasl: {mechanism: oauthbearer, token_file: token}, tls: {}, brokers: [")
		w.works("validate --offline --config $C")
	}},
	{texts: []string{"leave out --%s: the file of --config sets it", "--input-format is %s, but events.format", "--header is for %s, but events.format in", "a topic has records of one format: convert the file", "so nothing was written: repeat with --header"}, walk: func(w *walk) {
		w.begun()
		w.vars["J"] = write(w, "events.jsonl", `{"who":"a"}`+"\n")
		const replay = "replay --config $C --input $CSV --header"
		w.refused(replay + " --topic visits")
		w.refused("replay --config $C --input $CSV")
		w.refused(replay + " --input-format jsonl")
		w.refused("replay --config $C --input $J")
		w.works(replay)
		w.edit("format: csv\n  columns: [when, who, where]", "format: jsonl")
		w.refused(replay)
	}},
	{texts: []string{"reading topic %s: %w: correct its name, or create it"}, walk: func(w *walk) {
		w.vars["T"], w.vars["N"] = "visits", "1"
		w.configured()
		w.refused(strings.Replace(toTopic, "$T", "visit", 1))
		output := w.refused(toTopic)
		w.line("init --config $C --generate-keys")
		w.paste(output, "tollgate init --create-topics --event-partitions")
		w.works(toTopic)
	}},
	{texts: one("Use a topic with message.timestamp.type=CreateTime"), walk: func(w *walk) {
		w.vars["T"] = "visits"
		create(w, w.value("B"), kafkalog.TopicSpec{Name: "visits", Partitions: 1, Config: map[string]string{"message.timestamp.type": "LogAppendTime", "retention.ms": "-1"}}, kafkalog.TopicSpec{Name: "other", Partitions: 1, Config: map[string]string{"message.timestamp.type": "CreateTime", "retention.ms": "-1"}})
		w.refused(toTopic)
		w.works(toTopic + " --accept-late")
		w.vars["T"] = "other"
		w.works(toTopic)
	}},
	{texts: one("look at the names of the fields (--user-field, --time-field"), walk: func(w *walk) {
		w.vars["T"] = "visits"
		create(w, w.value("B"), visitsTopic)
		w.refused(toTopic + " --time-unit ms")
		w.works(toTopic)
	}},
	{texts: one("where the deployment's time begins, and will not be counted"), walk: func(w *walk) {
		w.begun()
		w.must("replay --config $C --input $CSV --header")
		w.configured("deployment: shop", "deployment: late")
		w.must("init --config $C --generate-keys --create-topics --start 2025-04-01")
		output := w.says("replay --config $C --input $CSV --header")
		w.vars["TIME"] = "2025-03-01"
		w.edit("deployment: late", "deployment: earlier", "secrets/", "other-secrets/")
		w.paste(output, "tollgate init --generate-keys --create-topics --start")
		w.works("replay --config $C --input $CSV --header")
	}},
	{texts: one("are older, by more than time.lateness, than a record before them"), walk: func(w *walk) {
		w.begun()
		const newer, older = "2025-03-05T00:00:00Z,u,north\n", "2025-03-02T00:00:00Z,u,north\n"
		w.vars["F"] = write(w, "visits.csv", "when,who,where\n"+newer+older)
		w.says("replay --config $C --input $F --header")
		w.vars["F"] = write(w, "sorted.csv", "when,who,where\n"+older+newer)
		w.works("replay --config $C --input $F --header")
	}},
	{texts: one("have times ahead of the clock by more than time.skew"), walk: func(w *walk) {
		w.configured("[when, who, where]", "[when, who, where, until]", "time: when}", "time: until}", "trust: producer, no_future: true", "trust: broker")
		create(w, w.value("B"), kafkalog.TopicSpec{Name: "visits", Partitions: 1, Config: map[string]string{"message.timestamp.type": "LogAppendTime", "retention.ms": "-1"}})
		now := time.Now().UTC()
		w.vars["F"] = write(w, "visits.csv", "when,who,where,until\n"+now.Format(time.RFC3339)+",u,north,"+now.AddDate(1, 0, 0).Format(time.RFC3339)+"\n")
		w.must("init --config $C --generate-keys --create-topics")
		w.says("replay --config $C --input $F --header --accept-late")
		w.edit("time: until}", "time: when}")
		w.works("replay --config $C --input $F --header --accept-late")
	}},
	{texts: []string{"so nothing was written to it. Write to the topic that events.topic", "the counts (outputs.counts)", "the dead letters (outputs.dead_letter)", "the ledger (outputs.ledger)", "the control log (outputs.control)", "the ends of turns (outputs.turns)"}, walk: func(w *walk) {
		w.settled()
		for _, topic := range []string{"counts", "dead-letter", "ledger", "control", "turns"} {
			w.vars["T"] = "shop-" + topic
			w.refused(toTopic)
		}
		w.vars["T"] = "visits"
		w.works(toTopic)
		w.works("replay --config $C --input $CSV --header")
	}},
	{texts: []string{"say how the topic's Avro records are read", "give --schema or --registry: records", "the --registry- flags are only used with", "give --registry-password-env or", "--registry-user needs --registry-password", "bare records must be written with the topic's schema"}, walk: func(w *walk) {
		create(w, w.value("B"), visitsTopic)
		w.environment = map[string]string{"P": "secret"}
		w.vars["F"], w.vars["P"], w.vars["R"] = container(w, visitSchema, 3), write(w, "password", "secret"), fakeregistry.Start(w.T).URL
		w.vars["S"], w.vars["M"] = write(w, "visit.avsc", visitSchema), write(w, "micros.avsc", strings.Replace(visitSchema, "millis", "micros", 1))
		const avro = "replay --brokers $B --topic visits --input $F --user-field who.id --time-field when"
		for _, tried := range [][]string{
			{"", " --schema $S", " --registry $R"},
			{" --schema $S --registry $R", " --schema $S", " --registry $R"},
			{" --schema $S --registry-user ann", " --registry $R --registry-user ann --registry-password-file $P"},
			{" --registry $R --registry-user ann --registry-password-env P --registry-password-file $P", " --registry $R --registry-user ann --registry-password-env P"},
			{" --registry $R --registry-user ann", " --registry $R --registry-user ann --registry-password-file $P"},
		} {
			w.refused(avro + tried[0])
			for _, right := range tried[1:] {
				w.works(avro + right)
			}
		}
		w.vars["C"] = avroDeployment(w.T, w.value("B"), "schema: "+w.vars["M"])
		w.refused("replay --config $C --input $F")
		w.vars["C"] = avroDeployment(w.T, w.value("B"), "schema: "+w.vars["S"])
		w.works("replay --config $C --input $F")
	}},
}
