package commands

import "strings"

// offline is a walk of a configuration that validate refuses, and of the same as the text says.
// Each is made of deploymentFile by one change.
func offline(from, wrong string, rights ...string) func(*walk) {
	return func(w *walk) {
		for _, right := range rights {
			w.vars["C"] = deploymentFile(w, "127.0.0.1:1", from, wrong)
			w.refused("validate --offline --config $C")
			w.vars["C"] = deploymentFile(w, "127.0.0.1:1", from, right)
			w.works("validate --offline --config $C")
		}
	}
}

const (
	keysField  = "keys: {list: [north, south, west]}"
	lastsField = "    last_at_least: 4\n"
)

var configRemedies = []remedy{
	{texts: one("a metric with ladder.sigma leaves to the metrics without"), walk: func(w *walk) {
		two := lastsField + "    ladder: {sigma: 60}\n  - {name: more, window: {size: 1d}, keys: {list: [a]}, target: {absolute: 90}, last_at_least: 4}\n"
		offline(lastsField, strings.Replace(two, lastsField, "", 1), two)(w)
	}},
	{texts: one("and leave nothing for the others: set for example"), walk: func(w *walk) {
		more := lastsField + "  - {name: more, window: {size: 1d}, keys: {list: [a]}, target: {absolute: 90}, last_at_least: 4, ladder: {sigma: SIGMA}}\n"
		w.vars["C"] = deploymentFile(w, "127.0.0.1:1", lastsField, strings.Replace(more, "SIGMA", "2", 1))
		sigma := w.proposed(w.refused("validate --offline --config $C"), "for example ladder.sigma: ")
		w.edit("SIGMA", sigma, "sigma: 2}", "sigma: "+sigma+"}")
		w.works("validate --offline --config $C")
	}},
	{texts: one("give each metric one, for example share:"), walk: func(w *walk) {
		for _, n := range []int{2, 3, 6, 7, 13, 19} {
			more := lastsField
			for i := range n - 1 {
				more += "  - {name: more" + string(rune('a'+i)) + ", window: {size: 1d}, keys: {list: [a]}, target: {absolute: 900}, last_at_least: 4 SHARE}\n"
			}
			w.vars["C"] = deploymentFile(w, "127.0.0.1:1", lastsField, strings.ReplaceAll(lastsField+"    share: 1\n"+strings.TrimPrefix(more, lastsField), " SHARE", ""))
			share := w.proposed(w.refused("validate --offline --config $C"), "for example share: ")
			w.vars["C"] = deploymentFile(w, "127.0.0.1:1", lastsField, strings.ReplaceAll(lastsField+"    share: "+share+"\n"+strings.TrimPrefix(more, lastsField), " SHARE", ", share: "+share))
			w.works("validate --offline --config $C")
		}
	}},
	{texts: one("raise delta, or delta_keys, for example delta: 1e-6"), walk: offline("epsilon: 4, delta: 1e-6", "epsilon: 4, delta: 1e-6, delta_keys: 1e-30", "epsilon: 4, delta: 1e-6")},
	{texts: []string{"is no number of days, and with time.window_zone", "are not of whole days, and with time.window_zone"}, walk: func(w *walk) {
		for _, change := range [][4]string{{"1e-6}", "1e-6, period: 36h}", "1e-6}", "1e-6, period: 48h}"}, {"size: 1d", "size: 12h", "size: 1d", "size: 2d"}} {
			zone := []string{"idle_grace: 1s}", "idle_grace: 1s, window_zone: Europe/Zurich}"}
			w.vars["C"] = deploymentFile(w, "127.0.0.1:1", append(zone, change[0], change[1])...)
			w.refused("validate --offline --config $C")
			for _, right := range change[2:] {
				w.vars["C"] = deploymentFile(w, "127.0.0.1:1", append(zone, change[0], right)...)
				w.works("validate --offline --config $C")
			}
			w.vars["C"] = deploymentFile(w, "127.0.0.1:1", change[0], change[1])
			w.works("validate --offline --config $C")
		}
	}},
	{texts: one("name another topic here or there"), walk: offline("topic: visits", "topic: shop-counts", "topic: visits")},
	{texts: []string{"name it (outputs.registry), or choose", "leave one of the two out"}, walk: func(w *walk) {
		offline("shards: 4", "shards: 4\noutputs: {counts_format: avro}", "shards: 4\noutputs: {counts_format: avro, registry: {url: 'http://localhost:8081'}}", "shards: 4\noutputs: {counts_format: json}")(w)
		offline("shards: 4", "shards: 4\noutputs: {counts_format: json, registry: {url: 'http://localhost:8081'}}", "shards: 4\noutputs: {counts_format: json}")(w)
	}},
	{texts: one("a week of hours, or give ladder.sigma"), walk: offline(lastsField, "", "    last_at_least: 168\n", "    ladder: {sigma: 60}\n")},
	{texts: one("private keys need it to divide"), walk: offline(keysField+"\n    target: {absolute: 30}\n"+lastsField, "keys: {mode: private}\n    target: {absolute: 30}\n    ladder: {sigma: 60}\n", "keys: {mode: private}\n    target: {absolute: 30}\n    last_at_least: 168\n")},
	{texts: one("give one keys.mode private, or list keys here"), walk: offline(keysField, "keys: {keys_from: other}", "keys: {mode: private}", keysField)},
	{texts: []string{"that can be 0 has no relative error: give an absolute target", "it is too fine for values from"}, walk: func(w *walk) {
		wrong := "target: {relative: 0.1}"
		w.vars["C"] = deploymentFile(w, "127.0.0.1:1", "columns: [when, who, where]", "columns: [when, who, where, what]", "key: where, time: when}", "key: where, time: when, value: what}", "target: {absolute: 30}", "kind: mean\n    bounds: {min: 0, max: 100}\n    "+wrong)
		for _, next := range []string{"target: {absolute: 0.00001}", "target: {relative: 0.1}"} {
			right := "target: {absolute: " + w.proposed(w.refused("validate --offline --config $C"), "for example absolute: ") + "}"
			w.edit(wrong, right)
			w.works("validate --offline --config $C")
			w.edit(right, next)
			wrong = next
		}
		w.edit("min: 0", "min: 5")
		w.works("validate --offline --config $C")
	}},
	{texts: one("for example min: 0, max: 100"), walk: func(w *walk) {
		w.vars["C"] = deploymentFile(w, "127.0.0.1:1", "columns: [when, who, where]", "columns: [when, who, where, what]", "key: where, time: when}", "key: where, time: when, value: what}", "target: {absolute: 30}", "kind: sum\n    target: {absolute: 3000}")
		w.refused("validate --offline --config $C")
		w.edit("kind: sum", "kind: sum\n    bounds: {min: 0, max: 100}")
		w.works("validate --offline --config $C")
		w.edit("kind: sum", "kind: mean", "{min: 0, max: 100}", "{min: 100, max: 100}")
		w.refused("validate --offline --config $C")
		w.edit("{min: 100, max: 100}", "{min: 0, max: 100}")
		w.works("validate --offline --config $C")
		w.edit("kind: mean", "kind: quantiles", "{min: 0, max: 100}", "{min: 100, max: 100}", "{absolute: 3000}", "{absolute: 0.02}")
		w.refused("validate --offline --config $C")
		w.edit("{min: 100, max: 100}", "{min: 0, max: 100}")
		w.works("validate --offline --config $C")
	}},
	{texts: one("give an absolute target instead"), walk: func(w *walk) {
		w.vars["C"] = deploymentFile(w, "127.0.0.1:1", "columns: [when, who, where]", "columns: [when, who, where, what]", "key: where, time: when}", "key: where, time: when, value: what}", "target: {absolute: 30}", "kind: quantiles\n    bounds: {min: 0, max: 100}\n    target: {relative: 0.1}")
		w.refused("validate --offline --config $C")
		w.edit("{relative: 0.1}", "{absolute: 0.02}")
		w.works("validate --offline --config $C")
	}},
	{texts: one("all of them and in order, for example columns:"), walk: offline("  columns: [when, who, where]\n", "", "  columns: [when, who, where]\n")},
	{texts: one("needed without `ladder.sigma`"), not: "no remedy: a line of the reference; what validate says in its place is walked"},
	{texts: one("last_at_least asks for more windows, over all metrics"), walk: func(w *walk) {
		w.vars["C"] = deploymentFile(w, "127.0.0.1:1", lastsField, "    last_at_least: 400\n    ladder: {sigma: 10}\n")
		w.says("validate --offline --config $C")
		w.edit("last_at_least: 400", "last_at_least: 2")
		w.works("validate --offline --config $C")
	}},
	{texts: one("To be able to, begin it with privacy.delta_keys:"), walk: func(w *walk) {
		w.configured()
		madeKeys(w.T, w.value("C"), 0o600)
		kept := w.proposed(w.says("validate --offline --config $C"), "begin it with privacy.delta_keys: ")
		w.edit("delta: 1e-6", "delta: 1e-6, delta_keys: "+kept)
		w.works("validate --offline --config $C")
		w.works(firstInit)
		w.edit("\nkeys:\n", "\n  - {name: private, window: {size: 1d}, keys: {mode: private}, bounds: {max_keys_per_user: 1, max_events_per_key: 1}, target: {absolute: 400}, last_at_least: 2}\nkeys:\n")
		w.works("change --config $C")
	}},
}
