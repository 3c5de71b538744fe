package commands

import (
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/plan/protected"
)

var planRemedies = []remedy{
	{texts: []string{"--input is missing: name a file with events, or give --config", "--metric is only used with --config", "--public-keys is empty", "lies outside of --from and --to", "outside of --from and --to\n", " between --from and --to"}, walk: func(w *walk) {
		w.vars["P"] = w.manyVisits()
		const plan = "plan --input $P --header --user-field who --key-field where --time-field when --window 24h"
		for _, wrong := range []string{"plan", plan + " --metric views", plan + " --public-keys=", plan + " --from 2030-01-01 --to 2030-01-02"} {
			w.refused(wrong)
		}
		w.says(plan + " --from 2025-03-02 --to 2025-03-04")
		w.must(strings.Replace(plan, "--key-field where ", "", 1) + " --public-keys a")
		w.must(plan + " --from 2025-03-01 --to 2025-03-05 --public-keys north,south")
		w.begun()
		w.must("replay --config $C --input $CSV --header")
		w.must("plan --config $C --metric views")
		w.refused("plan --config $C --from 2030-01-01 --to 2030-01-02")
	}},
	{texts: one("For local days, also set time.window_zone: "), walk: func(w *walk) {
		w.vars["P"] = w.manyVisits()
		zone := w.proposed(w.says("plan --input $P --header --user-field who --key-field where --time-field when --window 24h --time-zone Europe/Zurich"), "also set time.window_zone: ")
		w.vars["C"] = deploymentFile(w, "127.0.0.1:1", "idle_grace: 1s}", "idle_grace: 1s, window_zone: "+zone+"}")
		w.works("validate --offline --config $C")
	}},
	{texts: []string{"--config already sets what --%s sets", "--metric is needed: ", "--metric is %s: %s has", "plan that metric"}, walk: func(w *walk) {
		const day = "\n    window: {size: 1d}\n    last_at_least: 4\n"
		w.begun(lastsField, lastsField+"  - name: taken"+day+"  - name: more"+day+"    keys: {keys_from: taken}\n")
		w.must("replay --config $C --input $CSV --header")
		for _, wrong := range []string{"", " --metric view", " --metric views --epsilon 1", " --metric more"} {
			w.refused("plan --config $C" + wrong)
		}
		w.works("plan --config $C --metric views")
		w.works("plan --config $C --metric taken")
	}},
	{texts: one("plan cannot forecast those yet"), not: "no remedy: what plan cannot do"},
	{texts: []string{"leave this user out, or give --from", "--key is %s: what was spent does not show", "--key is %s: %w", "%w: give --from and --to"}, not: "needs 10⁶ windows, or a key that noise hides; internal/app/plan/sample and internal/app/plan/protected test these limits"},
	{texts: []string{"--noise-key-file is only used with --spend-share", "--choose-again is only used with --spend-share", "--spend-share needs exactly one --window", "--spend-share needs --noise-key-file: the noise key", "%s are too few to choose by: spend more", "tollgate plan shows this choice again", "--choose-again makes another choice", "--spend-share needs a noise key in an ordinary file", "--spend-share needs a file: plan recognises"}, walk: func(w *walk) {
		w.vars["P"] = w.manyVisits()
		const plan = "plan --input $P --header --user-field who --key-field where --time-field when --from 2025-03-01 --to 2025-03-05"
		w.refused(plan + " --noise-key-file $P")
		w.refused(plan + " --choose-again")
		w.refused(plan + " --spend-share 0.1")
		output := w.refused(plan + " --spend-share 0.1 --window 24h")
		w.vars["D2"] = w.TempDir()
		w.shell("cd " + w.vars["D2"] + " && " + makesKey.FindString(output))
		w.vars["K"] = fifo(w.T, strings.Repeat("7a", 32)+"\n")
		w.says(plan + " --spend-share 0.2 --window 24h --noise-key-file $K") // which can be read once
		w.vars["K"] = w.vars["D2"] + "/noise.key"
		w.refused("plan --input - --input-format csv --header --user-field who --time-field when --spend-share 0.1 --window 24h --noise-key-file $K")
		first := w.says(plan + " --spend-share 0.2 --window 24h --noise-key-file $K")
		if again := w.says(plan + " --spend-share 0.2 --window 24h --noise-key-file $K"); untried(again) != untried(first) {
			w.Error("the same arguments show another choice")
		}
		if again := w.says(plan + " --spend-share 0.2 --window 24h --noise-key-file $K --choose-again"); again == first {
			w.Error("--choose-again shows the same choice")
		}
		w.vars["K"] = write(w, "other.key", strings.Repeat("6c", 32))
		w.vars["P"] = write(w, "few.csv", "when,who,where\n2025-03-01T00:00:00Z,u,north\n")
		w.refused(plan + " --spend-share 0.01 --window 24h --noise-key-file $K")
	}},
	{texts: []string{"--spend-share needs a noise key in a file", "plans for the metric's own window: leave --window out", "write privacy.planned: %.9g or more"}, walk: func(w *walk) {
		w.begun("deployment: shop", "deployment: other")
		w.must("replay --config $C --input $CSV --header")
		w.configured("{file: secrets/noise.key}", "{env: NOISE}")
		const plan = "plan --config $C --spend-share 0.1 --from 2025-03-01 --to 2025-03-05"
		w.refused(plan)
		w.configured()
		_, output := w.line(plan)
		w.shell(makesKey.FindString(output))
		w.refused(plan + " --window 24h")
		w.must(plan)
		planned := w.proposed(w.refused("init --config $C --generate-keys --create-topics"), "write privacy.planned: ")
		w.edit("delta: 1e-6}", "delta: 1e-6, planned: "+planned+"}")
		w.works("init --config $C --generate-keys --create-topics")
	}},
	{texts: []string{"and the configuration has none: write privacy.delta_keys", "the choices cost %.4g times its whole promise", "write privacy.planned: %.9g or more"}, walk: func(w *walk) {
		w.begun("deployment: shop", "deployment: other")
		w.must("replay --config $C --input $CSV --header")
		w.configured(keysField, privateKeys, asked, "target: {absolute: 300}")
		madeKeys(w.T, w.value("C"), 0o600)
		w.must("plan --config $C --spend-share 0.5 --from 2025-03-01 --to 2025-03-05")
		const init = "init --config $C --generate-keys --create-topics"
		w.edit(privateKeys, keysField)
		w.refused(init)
		w.edit("delta: 1e-6", "delta: 1e-6, delta_keys: 5e-7", "epsilon: 4", "epsilon: 0.5")
		w.refused(init)
		w.edit("epsilon: 0.5", "epsilon: 4")
		planned := w.proposed(w.refused(init), "write privacy.planned: ")
		w.edit("delta_keys: 5e-7", "delta_keys: 5e-7, planned: "+planned)
		w.works(init)

		w.edit("deployment: shop", "deployment: third", "epsilon: 4", "epsilon: 0.5", ", planned: "+planned, "")
		w.ownKeys()
		w.works(init)
	}},
	{texts: one("restore it, or use that version. If only its last line"), walk: func(w *walk) {
		damaged := func(record, line string) {
			whole := contentsOf(w.T, record)
			for _, bad := range []string{whole + `{"a`, "{}\n" + whole} {
				w.put(record, bad)
				w.refused(line)
				w.put(record, whole) // restored, or its incomplete last line deleted
				w.must(line)
			}
		}
		w.begun()
		damaged(recordOf(w.value("C")), "validate --config $C")
		w.vars["P"], w.vars["K"] = w.manyVisits(), write(w, "noise.key", strings.Repeat("6c", 32))
		const plan = "plan --input $P --header --user-field who --key-field where --time-field when --from 2025-03-01 --to 2025-03-05 --spend-share 0.2 --window 24h --noise-key-file $K"
		w.must(plan)
		damaged(protected.RecordOf(w.vars["K"]), plan)
	}},
	{texts: []string{"tollgate demo", "--keys public"}, done: "internal/app/commands.TestTheSettingOfPlanIsTaken"},
}

// manyVisits writes a file of four days with enough users to plan by.
func (w *walk) manyVisits() string { return visits(w, true) }
