package commands

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/keyfile"
	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// firstInit is the first init of a configuration.
const firstInit = "init --config $C --generate-keys --create-topics --event-partitions 1 --start 2025-03-01"

var recordRemedies = []remedy{
	{texts: []string{"an init was interrupted (%s), but this is topic", "the record of which deployments have begun is there, and empty"}, walk: func(w *walk) {
		w.configured()
		killed := errors.New("killed")
		ctx := crashpoint.With(w.Context(), crashpoint.Hooks{At: func(string, int) error { return killed }})
		if code, _, stderr := runWith(ctx, nil, beginning(w.value("C"))...); code != exitError || !strings.Contains(stderr, "killed") {
			w.Fatalf("exit %d, %s", code, stderr)
		}
		w.edit(w.value("B"), broker(w))
		w.refused(firstInit)
		record := recordOf(w.value("C"))
		if err := os.Truncate(record, 0); err != nil {
			w.Fatal(err)
		}
		w.refused(firstInit + " --begin-first-promise")
		w.refused("status --config $C")
		if err := os.Remove(record); err != nil {
			w.Fatal(err)
		}
		if code, output := w.line(firstInit); code != exitConfig || !strings.Contains(output, "has begun with this noise key") {
			w.Fatalf("the record beside the noise key has a deployment: exit %d: %s", code, output)
		}
		if err := os.Remove(filepath.Join(filepath.Dir(record), "noise.key.planned")); err != nil {
			w.Fatal(err)
		}
		w.works(firstInit)
	}},
	{texts: one("--begin-first-promise and --begin-second-promise contradict each other"), walk: func(w *walk) {
		w.configured()
		w.refused(firstInit + " --begin-first-promise --begin-second-promise")
		w.works(firstInit + " --begin-first-promise")
	}},
	{texts: []string{"put the copy of the key there; for a new deployment, name another file", "but not on which cluster: correct kafka.brokers, or make new keys"}, walk: func(w *walk) {
		w.begun()
		w.move("secrets/user-hash.key", "copy")
		w.refused("init --config $C --generate-keys")
		w.move("copy", "secrets/user-hash.key")
		w.works("init --config $C --generate-keys")

		w.move("secrets/user-hash.key", "copy")
		w.edit("deployment: shop", "deployment: other")
		w.refused("init --config $C --generate-keys --create-topics")
		w.edit("secrets/user-hash.key", "secrets/own-hash.key")
		w.refused("init --config $C --generate-keys --create-topics") // the noise key has a deployment as well
		w.edit("secrets/noise.key", "secrets/own-noise.key")
		w.works("init --config $C --generate-keys --create-topics")

		w.begunElsewhere()
		w.unrecorded()
		right, wrong := w.value("B"), broker(w)
		w.edit(right, wrong)
		w.refused("init --config $C --create-topics --event-partitions 1")
		w.edit(wrong, right)
		w.works("init --config $C")
	}},
	{texts: []string{"to begin a second deployment, which gives the same people their whole budget", "use tollgate init --create-topics", "has no deployment, but %s has %s: correct kafka.brokers and outputs.control"}, walk: func(w *walk) {
		w.begun()
		right, wrong := w.value("B"), broker(w)
		w.edit(right, wrong)
		w.refused("init --config $C --create-topics --event-partitions 1")
		output := w.refused("validate --config $C")
		create(w, wrong, visitsTopic)
		w.paste(output, "tollgate init --create-topics")
		w.works("validate --config $C")
		w.edit(wrong, right)
		w.works("init --config $C")
		w.edit("shards: 4", "shards: 4\noutputs: {control: control-2}")
		w.refused("init --config $C --create-topics")
		w.edit("outputs: {control: control-2}", "outputs: {control: shop-control}")
		w.works("init --config $C")
		w.edit("deployment: shop", "deployment: other", "outputs: {control: shop-control}", "")
		w.refused("init --config $C --create-topics")
		w.works("init --config $C --create-topics --begin-second-promise")
		w.works("status --config $C")
	}},
	{texts: one("restore the deployment's topics from a copy"), walk: func(w *walk) {
		w.configured()
		madeKeys(w.T, w.value("C"), 0o600)
		w.must(firstInit)
		backup := broker(w)
		copyTopics(w.T, w.value("B"), backup)
		w.lose("visits", "shop-control", "shop-ledger", "shop-counts", "shop-turns", "shop-dead-letter")
		w.refused("init --config $C --create-topics")
		w.refused("status --config $C")
		copyTopics(w.T, backup, w.value("B"))
		w.works("init --config $C")
		w.works("status --config $C")
		w.works("run --config $C --until 2025-03-01 --wait 1m")
	}},
	{texts: one("it is damaged: restore the topic"), walk: func(w *walk) {
		w.configured()
		madeKeys(w.T, w.value("C"), 0o600)
		w.must(firstInit)
		backup := broker(w)
		copyTopics(w.T, w.value("B"), backup)
		damage := func() {
			value, err := schemas.EncodeControl(schemas.Control{BackEpoch: -1, Body: &schemas.Stop{Turn: 3, Reason: "a reason"}})
			if err != nil {
				w.Fatal(err)
			}
			w.write("shop-control", kafkalog.Message{Value: value[:len(value)-1]})
			w.refused("status --config $C")
		}
		damage()
		w.lose("visits", "shop-control", "shop-ledger", "shop-counts", "shop-turns", "shop-dead-letter")
		copyTopics(w.T, backup, w.value("B"))
		w.works("status --config $C")
		damage()
		w.anew()
	}},
	{texts: one("an init of the deployment was interrupted (%s): complete it"), walk: func(w *walk) {
		w.configured()
		killed := errors.New("killed")
		ctx := crashpoint.With(w.Context(), crashpoint.Hooks{At: func(at string, _ int) error {
			if at == crashpoint.HeaderWritten {
				return killed
			}
			return nil
		}})
		if code, _, stderr := runWith(ctx, nil, beginning(w.value("C"))...); code != exitError || !strings.Contains(stderr, "killed") {
			w.Fatalf("exit %d, %s", code, stderr)
		}
		w.refused("status --config $C")
		w.works(firstInit)
		w.works("status --config $C")
	}},
	{texts: one("has incarnation %x, but %s has %s: correct kafka.brokers"), walk: func(w *walk) {
		w.begun()
		theirs, on := w.beside("secrets"), w.value("B")
		w.begunElsewhere()
		w.edit(w.value("B"), on)
		w.refused("status --config $C")
		w.edit(on, w.value("B"))
		w.works("status --config $C")
		w.edit(w.value("B"), on)
		w.move("secrets", "own-secrets")
		if err := os.CopyFS(w.beside("secrets"), os.DirFS(theirs)); err != nil { // keys, and their record
			w.Fatal(err)
		}
		w.works("status --config $C")
	}},
	{texts: one("two deployments with the same keys give the same people a whole budget each"), walk: func(w *walk) {
		w.configured()
		madeKeys(w.T, w.value("C"), 0o600)
		w.must(firstInit)
		on := w.value("B")
		w.vars["B"] = broker(w)
		w.configured()
		madeKeys(w.T, w.value("C"), 0o600)
		w.must(firstInit)
		w.edit(w.value("B"), on)
		w.refused("init --config $C")
		w.works("init --config $C --begin-second-promise")
		w.works("status --config $C")
	}},
	{texts: []string{"no record says whether a deployment has begun with these keys", "if no deployment has begun with these keys, %s", "keep this line with the keys, and name it under keys.record"}, walk: func(w *walk) {
		w.environment = map[string]string{"NOISE": strings.Repeat("5a", 32), "HASH": strings.Repeat("a5", 32)}
		w.configured("{file: secrets/noise.key}", "{env: NOISE}", "{file: secrets/user-hash.key}", "{env: HASH}")
		const first = "init --config $C --create-topics --event-partitions 1"
		w.refused(first)
		_, line, found := strings.Cut(w.says(first+" --begin-first-promise"), "by mistake:\n")
		if !found {
			w.Fatal("no line to keep")
		}
		right, wrong := w.value("B"), broker(w)
		w.edit(right, wrong)
		w.refused(first)
		w.refused("validate --config $C")
		w.edit(wrong, right)
		w.must("init --config $C")
		w.put(w.beside("record"), line)
		w.edit("{env: HASH}", "{env: HASH}\n  record: {file: record}")
		w.works("init --config $C")
		w.works("status --config $C")
		w.edit(right, wrong)
		if code, output := w.line(first); code != exitConfig || !strings.Contains(output, "correct kafka.brokers") {
			w.Errorf("the line refuses no second promise: exit %d: %s", code, output)
		}
	}},
	{texts: one("set it to the line that tollgate init prints"), walk: func(w *walk) {
		w.environment = map[string]string{"NOISE": strings.Repeat("5a", 32), "HASH": strings.Repeat("a5", 32)}
		w.configured("{file: secrets/noise.key}", "{env: NOISE}", "{file: secrets/user-hash.key}", "{env: HASH}\n  record: {env: RECORD}")
		w.must("init --config $C --create-topics --event-partitions 1 --begin-first-promise")
		w.refused("validate --config $C")
		_, line, found := strings.Cut(w.works("init --config $C"), "by mistake:\n")
		if !found {
			w.Fatal("init does not print the line again")
		}
		w.environment["RECORD"] = line
		w.works("validate --config $C")
	}},
	{texts: one("drain the deployment with it and begin a new deployment with new keys"), walk: func(w *walk) {
		w.configured()
		madeKeys(w.T, w.value("C"), 0o600)
		text, err := os.ReadFile(filepath.Join("../../../pipeline/internal/controllog/testdata", "header_v3.golden"))
		if err != nil {
			w.Fatal(err)
		}
		old, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil {
			w.Fatal(err)
		}
		create(w, w.value("B"), kafkalog.TopicSpec{Name: "shop-control", Partitions: 1, Config: map[string]string{"retention.ms": "-1"}})
		w.write("shop-control", kafkalog.Message{Value: old})
		w.refused("init --config $C --create-topics --event-partitions 1")
		w.refused("status --config $C")
		// Draining needs the earlier version; what follows it does not.
		w.edit("deployment: shop", "deployment: other", "secrets/", "other-secrets/")
		w.works(firstInit)
		w.works("status --config $C")
	}},
}

// unrecorded takes the record away that earlier versions did not write.
func (w *walk) unrecorded() {
	w.Helper()
	if err := os.Remove(recordOf(w.value("C"))); err != nil {
		w.Fatal(err)
	}
}

// ownKeys gives the configuration other keys, as a deployment beside an earlier one has them.
func (w *walk) ownKeys() {
	w.Helper()
	w.edit("secrets/", "other-secrets/")
	for _, key := range keyFiles.FindAllStringSubmatch(contentsOf(w.T, w.value("C")), -1) {
		if _, err := keyfile.Make(w.beside(key[1])); err != nil {
			w.Fatal(err)
		}
	}
}

var keyFiles = regexp.MustCompile(`file: ([a-z-]*secrets/[a-z-]+\.key)`)

// begunElsewhere begins a deployment of the same name on another broker, with keys of its own.
func (w *walk) begunElsewhere() {
	w.Helper()
	w.vars["B"] = broker(w)
	w.begun()
}
