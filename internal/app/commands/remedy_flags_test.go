package commands

import (
	"net"
	"os"
	"path/filepath"
	"strings"
)

// onFile is a demo of a file; withoutKeys the same before its keys are named.
const (
	withoutKeys = "demo --input $E --header --user-field user --key-field page --time-field when --window 24h"
	onFile      = withoutKeys + " --public-keys a,b"
	madeUp      = "demo --events 200 --users 100 --windows 2"
	toTopic     = "replay --brokers $B --topic $T --input $E --header --user-field user --time-field when"
	planFile    = "plan --input $E --header --user-field user --key-field page --time-field when"
	compose1    = "budget compose --delta 1e-6 --mechanism gaussian:sigma=100:count=5"
)

var flagRemedies = []remedy{
	{texts: one("see %s --help"), walk: func(w *walk) {
		output := w.refused("demo --colour")
		if !strings.Contains(output, "see tollgate demo --help\n") {
			w.Error(output)
		}
		w.works("demo --help")
	}},
	{texts: one("%s is a socket: name a file or a pipe"), walk: func(w *walk) {
		dir, err := os.MkdirTemp("", "") // a socket's path is short
		if err != nil {
			w.Fatal(err)
		}
		defer os.RemoveAll(dir) //nolint:errcheck // it is for the system to clear away
		socket, err := net.Listen("unix", filepath.Join(dir, "s"))
		if err != nil {
			w.Fatal(err)
		}
		defer socket.Close()
		w.vars["S"], w.vars["F"] = socket.Addr().String(), filepath.Join(w.TempDir(), "tallies.json")
		w.refused(onFile + " --trusted-report $S")
		w.works(onFile + " --trusted-report $F")
	}},
	{texts: one("exists and is not %s: name another file, or remove"), walk: func(w *walk) {
		w.vars["F"] = write(w, "page.html", "<p>mine</p>")
		w.refused(madeUp + " --report $F")
		w.works(madeUp + " --report $F.html")
		if err := os.Remove(w.vars["F"]); err != nil {
			w.Fatal(err)
		}
		w.works(madeUp + " --report $F")
	}},
	{texts: one("--top is for the table"), walk: lines(onFile+" --top 3 --format json", onFile+" --format json")},
	{texts: []string{"--delta-keys is only used with private keys", "above 0 and below --delta, of which it is a part"}, walk: func(w *walk) {
		const private, public = withoutKeys, madeUp + " --keys public"
		w.refused(public + " --delta-keys 1e-8")
		w.works(public)
		w.refused(private + " --delta-keys 1e-6")
		w.works(private + " --delta-keys 1e-7")
	}},
	{texts: one("--%s is only used with --kind %s"), walk: lines(onFile+" --max 9", onFile)},
	{texts: []string{"--relative is not used with --kind %s", "--kind %s needs --edges", "--edges already says", "percentage points is very fine"}, walk: func(w *walk) {
		w.vars["E"] = write(w, "values.csv", "user,page,when,took\nu1,a,2025-03-01T10:00:00Z,5\nu2,b,2025-03-01T11:00:00Z,7\n")
		const ranked = onFile + " --max-keys-per-user 1 --max-events-per-key 1 --last-at-least 1 --kind quantiles --value-field took --min 0 --max 10"
		w.refused(ranked + " --relative 0.1")
		w.works(ranked + " --absolute 0.02")
		const shares = onFile + " --max-keys-per-user 1 --max-events-per-key 1 --last-at-least 1 --kind histogram --value-field took"
		w.refused(shares)
		w.refused(shares + " --edges 0,10,20,50 --buckets 3")
		w.says(shares + " --edges 0,10,20,50 --absolute 0.02")
		w.works(shares + " --edges 0,10,20,50 --absolute 2")
		w.works(shares + " --edges 0,10,20,50")
		w.works(shares + " --min 0 --max 10")
	}},
	{texts: []string{"--kind %s needs --value-field", "--max must be greater", "give --max, too", "give --min, too"}, walk: func(w *walk) {
		w.vars["E"] = write(w, "values.csv", "user,page,when,took\nu1,a,2025-03-01T10:00:00Z,5\nu2,b,2025-03-01T11:00:00Z,7\n")
		const averaged = onFile + " --kind mean --max-keys-per-user 1 --max-events-per-key 1 --last-at-least 1"
		w.refused(averaged + " --min 1 --max 9")
		w.refused(averaged + " --value-field took --min 9 --max 1")
		w.refused(averaged + " --value-field took --min 1")
		w.refused(averaged + " --value-field took --max -9")
		w.works("plan --input $E --header --user-field user --key-field page --time-field when --window 1d --kind mean --value-field took")
		w.works(averaged + " --value-field took --min 1 --max 9")
	}},
	{texts: one("--dry-run makes nothing"), walk: func(w *walk) {
		w.begun()
		w.edit("absolute: 30", "absolute: 40")
		w.refused("change --config $C --dry-run --create-topics --generate-keys")
		w.works("change --config $C --dry-run")
		w.works("change --config $C --create-topics --generate-keys")
	}},
	{texts: []string{"--replication is only used with --create-topics", "--event-partitions and --replication are only used with"}, walk: func(w *walk) {
		w.configured()
		w.refused("init --config $C --generate-keys --event-partitions 1 --replication 1")
		w.works("init --config $C --generate-keys --event-partitions 1 --replication 1 --create-topics")
		w.refused("change --config $C --replication 1")
		w.works("change --config $C --replication 1 --create-topics")
	}},
	{texts: one("--config is needed: TOLLGATE_CONFIG"), walk: lines("validate --offline", "validate --offline --config $C")},
	{texts: one("refused because of --strict"), walk: func(w *walk) {
		madeKeys(w.T, w.value("C"), 0o644)
		w.refused("validate --offline --strict --config $C")
		w.works("validate --offline --config $C")
	}},
	{texts: one("this engine was removed"), walk: lines(madeUp+" --engine prism", madeUp+" --engine direct")},
	{texts: []string{"--%s is only used with --engine flink", "--engine flink needs --flink"}, not: "needs Flink: a binary built with -tags flink, which runs on a cluster of it, has tests of its own (pipeline/flink, internal/testing/realflink)"},
	{texts: one("the topic is empty: give --start now"), walk: func(w *walk) {
		w.configured()
		w.refused("init --config $C --generate-keys --create-topics --event-partitions 1 --start earliest")
		w.works("init --config $C --start now")
		w.configured("deployment: shop", "deployment: other")
		w.works("init --config $C --generate-keys --create-topics --start 2025-03-01T00:00:00Z")
	}},
	{texts: one("lower --replication, or start more brokers"), walk: func(w *walk) {
		w.configured()
		w.refused("init --config $C --generate-keys --create-topics --event-partitions 1 --replication 3")
		w.works("init --config $C --generate-keys --create-topics --event-partitions 1 --replication 1")
	}},
	{texts: one("--generate-keys creates files, but"), walk: func(w *walk) {
		w.configured("{file: secrets/noise.key}", "{env: NOISE}")
		w.refused("init --config $C --generate-keys")
		w.edit("{env: NOISE}", "{file: noise.key}")
		w.works("init --config $C --generate-keys --create-topics --event-partitions 1")
	}},
	{texts: []string{"more than half of the records were lost before counting, which", "WARNING: more than half of the records of this run"}, walk: func(w *walk) {
		const records = "2025-03-01T01:00:00Z,a,a\nsoon,a,a\nsoon,a,a\nsoon,a,a\n"
		w.vars["F"], w.vars["G"] = write(w, "broken.csv", "when,user,page\n"+records), write(w, "visits.csv", "when,who,where\n"+records)
		broken := strings.Replace(onFile, "$E", "$F", 1) + " --skip-bad-times"
		w.refused(broken + " --strict")
		w.works(broken)
		w.works(onFile + " --strict")
		w.begun()
		w.must("replay --config $C --input $G --header")
		w.says("run --config $C --until-end --wait 1m --trusted-report $D/report.json")
		if report := contentsOf(w.T, w.value("D")+"/report.json"); !strings.Contains(report, "bad_timestamp") {
			w.Errorf("the report does not say where records were lost: %s", report)
		}
		w.must("replay --config $C --input $CSV --header")
		w.works("run --config $C --until-end --wait 1m")
	}},
	{texts: one("; with --until or --until-end also if more than half"), not: "no remedy: a part of the help"},
	{texts: one("--dir is empty"), walk: lines("man --dir=", "man --dir $D")},
	{texts: []string{"--listen is empty", "--metrics-trusted is only used with", "--pprof is only used with"}, walk: func(w *walk) {
		w.settled()
		const run = "run --config $C --until 2025-03-03 --wait 1m"
		w.refused(run + " --listen=")
		w.refused(run + " --metrics-trusted")
		w.refused(run + " --pprof")
		w.works(run + " --metrics-trusted --pprof --listen localhost:0")
	}},
	{texts: []string{"--url has a user or a password in it", "check that the process runs and was started with --listen"}, walk: func(w *walk) {
		w.begun()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			w.Fatal(err)
		}
		w.vars["A"] = l.Addr().String()
		l.Close()
		w.refused("probe --url http://ada:secret@$A/-/healthy")
		w.refused("probe --url http://$A/-/healthy")
		run := w.begin("run --config $C --listen $A")
		says(w, &run.stderr, "metrics and readiness at")
		w.works("probe --url http://$A/-/healthy")
		run.stop()
	}},
	{texts: one("write it into a file with one key per line"), walk: func(w *walk) {
		w.vars["F"] = write(w, "keys.txt", "a\nb\n")
		w.refused(withoutKeys + " --public-keys /a")
		w.works(withoutKeys + " --public-keys $F")
	}},
	{texts: one("--by is empty"), walk: func(w *walk) {
		w.refused("recover --config $C --by=")
		if _, output := w.line("recover --config $C --by Ada"); strings.Contains(output, "--by is empty") {
			w.Error(output)
		}
	}},
	{texts: []string{"--until and --until-end both say", "--wait is only used with --until-end", "some of the windows that the run was to settle", "--wait %v is over", "before it had read every event"}, walk: func(w *walk) {
		w.begun()
		w.must("replay --config $C --input $CSV --header")
		w.refused("run --config $C --until 2025-03-03 --until-end")
		w.refused("run --config $C --wait 1m")
		w.refused("run --config $C --until-end --wait 1ms")
		w.refused("run --config $C --until 2031-01-01 --wait 3s")
		w.works("run --config $C --until-end --wait 1m")
	}},
	{texts: []string{"drained: no turn was settled", "drained: everything up to turn"}, done: "internal/app/commands.TestRunIsDrainedByASignal"},
	{texts: []string{"--report is empty", "--trusted-report is empty", "--report and --trusted-report name the same file"}, walk: func(w *walk) {
		w.settled()
		const run = "run --config $C --until 2025-03-03 --wait 1m"
		w.refused(run + " --report=")
		w.refused(run + " --trusted-report=")
		w.refused(run + " --report $D/a --trusted-report $D/a")
		w.works(run + " --report $D/a --trusted-report $D/b")
	}},
	{texts: []string{"creating %s: there is no directory", "%s is a directory: name a file in it"}, walk: func(w *walk) {
		w.refused(onFile + " --report $D/deep/page.html")
		w.refused(onFile + " --report $D")
		w.works(onFile + " --report $D/page.html")
	}},
	{texts: one("nothing has read it for %v; is it a pipe without a reader"), not: "a pipe without a reader; the text asks a question and names no command"},
	{texts: []string{"another process has this port", "this machine does not have this address"}, walk: func(w *walk) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			w.Fatal(err)
		}
		defer l.Close()
		w.settled()
		w.vars["A"] = l.Addr().String()
		const run = "run --config $C --until 2025-03-03 --wait 1m"
		w.refused(run + " --listen $A")
		w.refused(run + " --listen 192.0.2.1:8080")
		w.works(run + " --listen 0.0.0.0:0")
	}},
	{texts: one("this user may not have this port"), not: "tests run as root in containers, who may have every port"},
	{texts: one("--role and --principal are only used with --acls"), walk: lines("validate --config $C --role run", "validate --config $C --offline")},
	{texts: one("--acls asks the brokers: leave out --offline"), walk: func(w *walk) {
		w.begun()
		w.refused("validate --config $C --acls --offline")
		w.says("validate --config $C --acls --offline")
		if _, output := w.line("validate --config $C --acls"); strings.Contains(output, "leave out") {
			w.Error(output)
		}
	}},
	{texts: one("(--offline checks the file alone)"), walk: lines("validate --config $C", "validate --config $C --offline")},
	{texts: one("put the copy of its own key there, and validate again"), walk: func(w *walk) {
		w.begun()
		w.move("secrets/noise.key", "copy")
		w.refused("validate --config $C")
		w.move("copy", "secrets/noise.key")
		w.works("validate --config $C")
	}},

	{texts: one("give either --epsilon or --delta"), walk: lines(compose1+" --epsilon 1", compose1)},
	{texts: one("give either --mechanism or --dp-events"), walk: func(w *walk) {
		w.vars["F"] = write(w, "events.json", w.must(compose1+" --print-dp-events"))
		w.refused(compose1 + " --dp-events $F")
		w.works("budget compose --delta 1e-6 --dp-events $F")
		w.works(compose1)
	}},
	{texts: one("--mechanism is needed, once for each kind"), walk: lines("budget compose --delta 1e-6", "budget compose --delta 1e-6 --mechanism gaussian:sigma=100:count=500")},
	{texts: one("at most %d are composed"), walk: lines(compose1+" --mechanism gaussian:sigma=100:count=1000000000", compose1)},
	{texts: one("leave --accountant out for the tightest that does"), walk: lines("budget compose --delta 1e-6 --mechanism gaussian:sigma=2:sampling=0.01 --accountant zcdp", "budget compose --delta 1e-6 --mechanism gaussian:sigma=2:sampling=0.01")},
	{texts: []string{"A mechanism is a name, its parameters", "replay writes the records of an Avro container"}, not: "no remedy: a part of the help"},
	{texts: one("give exactly two of --epsilon, --delta and --mu"), walk: func(w *walk) {
		w.refused("budget convert --epsilon 1")
		w.works("budget convert --epsilon 1 --delta 1e-6")
		w.works("budget convert --epsilon 1 --rho 0.01")
	}},
	{texts: one("--print-dp-events: the budget has"), walk: lines("budget releases --epsilon 1 --delta 1e-6 --sigma 1e8 --contribution 1 --print-dp-events", "budget releases --epsilon 1 --delta 1e-6 --sigma 100 --contribution 1 --print-dp-events")},
	{texts: []string{"--report and --data are for one experiment", "--data is not for experiment", "--data %s is not a directory"}, done: "cmd/experiments.TestRefusedFlagsAreRepairedAsTheTextsSay"},

	{texts: []string{
		"--%s is only used with --input FILE", "--%s is for made-up events", "--repeat needs --noise-key-file", "--public-keys is only used with --keys public",
		"--keys public needs the keys", "must be before --to", "--time-layout is for texts: leave out --time-unit",
	}, walk: func(w *walk) {
		w.vars["K"] = write(w, "noise.key", strings.Repeat("5a", 32))
		for _, pair := range [][2]string{
			{madeUp + " --time-unit rfc3339", onFile + " --time-unit rfc3339"},
			{onFile + " --events 3", onFile},
			{onFile + " --time-layout %Y-%m-%dT%H:%M:%SZ --time-unit rfc3339", onFile + " --time-layout %Y-%m-%dT%H:%M:%SZ"},
			{onFile + " --repeat 0123456789abcdef0123456789abcdef", onFile + " --noise-key-file $K"},
			{onFile + " --keys private", onFile + " --keys public"},
			{withoutKeys + " --keys public", onFile + " --keys public"},
			{onFile + " --from 2025-03-04 --to 2025-03-03", onFile + " --from 2025-03-03 --to 2025-03-04"},
		} {
			w.refused(pair[0])
			w.works(pair[1])
		}
	}},
	{texts: one("--time-layout and --time-zone are for texts"), walk: func(w *walk) {
		w.vars["T"] = "visits"
		create(w, w.value("B"), visitsTopic)
		w.refused(toTopic + " --time-zone Europe/Zurich --time-unit rfc3339")
		w.works(toTopic + " --time-zone Europe/Zurich")
	}},
	{texts: one("--input is empty: name a file"), walk: func(w *walk) {
		w.vars["T"] = "visits"
		create(w, w.value("B"), visitsTopic)
		w.refused("demo --input=")
		w.works(onFile)
		w.refused("replay --brokers $B --topic $T --input= --header --user-field user --time-field when")
		w.works(toTopic)
	}},
	{texts: []string{"this run is %s: to repeat its output, give --repeat", "that run had other records, other settings or another noise key"}, walk: func(w *walk) {
		w.vars["K"] = write(w, "noise.key", strings.Repeat("5a", 32))
		run := onFile + " --noise-key-file $K"
		output := w.says(run)
		_, name, _ := strings.Cut(output, "give --repeat ")
		w.vars["R"], _, _ = strings.Cut(name, " ")
		w.must(run + " --repeat $R")
		w.refused(run + " --repeat $R --relative 0.2")
		w.must(run + " --relative 0.2")
	}},
	{texts: []string{
		"--user-field is needed: the column", "--time-field is needed: the column", "--header and --columns are for %s: other formats",
		"give either --header, when the first", "--input-format is needed (%s", "--input-format %q: use %s",
	}, walk: func(w *walk) {
		w.vars["F"] = write(w, "events.dat", fewEvents)
		w.vars["J"] = write(w, "events.jsonl", `{"u":"a","k":"b","t":"2025-03-03T00:00:00Z"}`+"\n")
		const dat = "demo --input $F --header --user-field user --key-field page --time-field when --window 24h --public-keys a"
		const json = "demo --input $J --user-field u --key-field k --time-field t --window 24h --public-keys a"
		for _, pair := range [][2]string{
			{"demo --input $E --header --key-field page --time-field when", onFile},
			{"demo --input $E --header --user-field user --key-field page", onFile},
			{json + " --header", json},
			{onFile + " --columns user,page,when", onFile},
			{"demo --input $E --user-field user --key-field page --time-field when --window 24h --public-keys a", onFile},
			{dat, dat + " --input-format csv"},
			{dat + " --input-format xml", dat + " --input-format csv"},
		} {
			w.refused(pair[0])
			w.works(pair[1])
		}
	}},
	{texts: one(" with --header, or --columns a,b,c"), walk: func(w *walk) {
		w.vars["F"] = write(w, "events.jsonl", fewEvents)
		const demo = "demo --input $F --user-field user --key-field page --time-field when --window 24h --public-keys a"
		w.refused(demo)
		w.works(demo + " --input-format csv --header")
	}},
	{texts: []string{"the header is all there is", "the file is empty; name a file", "The first line may be data, so it is not shown"}, walk: func(w *walk) {
		w.vars["F"], w.vars["H"] = write(w, "empty.csv", ""), write(w, "header.csv", "user,page,when\n")
		w.says(strings.Replace(onFile, "$E", "$F", 1))
		w.says(strings.Replace(onFile, "$E", "$H", 1))
		w.works(onFile)
		w.vars["F"] = write(w, "headless.csv", strings.SplitAfterN(fewEvents, "\n", 2)[1])
		w.refused(strings.Replace(onFile, "$E", "$F", 1))
		w.works(strings.Replace(strings.Replace(onFile, "$E", "$F", 1), "--header", "--columns "+strings.SplitN(fewEvents, "\n", 2)[0], 1))
	}},
	{texts: one("UTF-16 text; convert it first"), walk: func(w *walk) {
		text := "\xff\xfe"
		for _, c := range fewEvents {
			text += string([]byte{byte(c), 0})
		}
		w.vars["F"] = write(w, "events.csv", text)
		w.refused(strings.Replace(onFile, "$E", "$F", 1))
		w.works(onFile) // what iconv makes of it
	}},
}

const fewEvents = "user,page,when\nu1,a,2025-03-03T00:00:00Z\nu2,b,2025-03-03T01:00:00Z\nu3,a,2025-03-04T01:00:00Z\n"
