package commands

import "strings"

const (
	privateKeys = "keys: {mode: private}"
	promised    = "epsilon: 4, delta: 1e-6"
	asked       = "target: {absolute: 30}"
	bounds      = "    bounds: {max_keys_per_user: 1000, max_events_per_key: 1000}\n"
	tiny        = "    coverage: {share: 1e-6}\n"
	windows     = "    last_at_least: "
)

// changes is a list of changes of deploymentFile.
type changes []string

// settings is a walk of a configuration of which validate says the texts, and of the same as each
// of them says. In a right one, PROPOSED stands for the number after field in what was said.
func settings(field string, wrong changes, rights ...changes) func(*walk) {
	return func(w *walk) {
		w.vars["C"] = deploymentFile(w, "127.0.0.1:1", wrong...)
		said := w.says("validate --offline --config $C")
		for _, right := range rights {
			c := append(changes{}, right...)
			for i := range c {
				if strings.Contains(c[i], "PROPOSED") {
					c[i] = strings.ReplaceAll(c[i], "PROPOSED", w.proposed(said, field))
				}
			}
			w.vars["C"] = deploymentFile(w, "127.0.0.1:1", c...)
			w.works("validate --offline --config $C")
		}
	}
}

var budgetRemedies = []remedy{
	{texts: one("lower max_keys_per_user and max_events_per_key, or raise privacy.epsilon"), walk: func(w *walk) {
		most := func(keys, events, epsilon string) changes {
			return changes{promised, "epsilon: " + epsilon + ", delta: 0.1", lastsField, windows + "1\n    bounds: {max_keys_per_user: " + keys + ", max_events_per_key: " + events + "}\n"}
		}
		settings("", most("3", "50000000", "1e-4"), most("1", "1000", "1e-4"), most("3", "50000000", "1"))(w)
	}},
	{texts: one("windows leave no precision for any of them"), walk: settings("With last_at_least: ",
		changes{lastsField, windows + "1000000000000\n" + bounds}, changes{lastsField, windows + "PROPOSED\n" + bounds},
		changes{lastsField, windows + "700000000000\n"}, changes{promised, "epsilon: 100000, delta: 1e-6", lastsField, windows + "1000000000000\n" + bounds})},
	{texts: one("lower last_at_least, or raise privacy.epsilon"), walk: func(w *walk) {
		settings("With last_at_least: ",
			changes{lastsField, windows + "100000000\n" + bounds}, changes{lastsField, windows + "PROPOSED\n" + bounds},
			changes{promised, "epsilon: 40, delta: 1e-6", lastsField, windows + "100000000\n" + bounds})(w)
		settings("With last_at_least: ",
			changes{keysField, privateKeys, lastsField, windows + "1000000\n" + tiny}, changes{keysField, privateKeys, lastsField, windows + "PROPOSED\n" + tiny},
			changes{keysField, privateKeys, lastsField, windows + "1000000\n    coverage: {share: 0.05}\n"},
			changes{keysField, privateKeys, promised, "epsilon: 40, delta: 1e-6", lastsField, windows + "1000000\n" + tiny})(w)
	}},
	{texts: one("lower ladder.first_sigma"), walk: settings("",
		changes{lastsField, lastsField + "    ladder: {first_sigma: 1e20}\n"}, changes{lastsField, lastsField + "    ladder: {first_sigma: 100}\n"})},
	{texts: one("lower ladder.expected_max"), walk: settings("",
		changes{asked, "target: {relative: 0.1}", lastsField, lastsField + "    ladder: {expected_max: 1e30}\n"},
		changes{asked, "target: {relative: 0.1}", lastsField, lastsField + "    ladder: {expected_max: 1000}\n"})},
	{texts: one("lower ladder.sigma"), walk: func(w *walk) {
		settings("", changes{lastsField, "    ladder: {sigma: 1e9}\n"}, changes{lastsField, "    ladder: {sigma: 60}\n"})(w)
		settings("", changes{lastsField, "    ladder: {sigma: 10000}\n" + tiny}, changes{lastsField, "    ladder: {sigma: 10000}\n    coverage: {share: 0.05}\n"},
			changes{lastsField, "    ladder: {sigma: 100}\n" + tiny})(w)
	}},
	{texts: one("raise privacy.delta or privacy.delta_keys"), walk: func(w *walk) {
		small := func(delta string) changes {
			return changes{keysField, privateKeys, "delta: 1e-6", delta, lastsField, windows + "100000\n    bounds: {max_keys_per_user: 100, max_events_per_key: 1}\n"}
		}
		settings("", small("delta: 1e-6, delta_keys: 1e-20"), small("delta: 1e-6, delta_keys: 1e-7"), small("delta: 1e-6"))(w)
		settings("", small("delta: 1e-18"), small("delta: 1e-6"))(w)
	}},
	{texts: one("no user can pay for it: lower coverage.share"), walk: settings("",
		changes{lastsField, "    ladder: {sigma: 10}\n    coverage: {share: 0.999999}\n"}, changes{lastsField, "    ladder: {sigma: 10}\n    coverage: {share: 0.05}\n"})},
	{texts: one("lower counted.share, %v, or last_at_least, %d, or raise ladder.sigma"), walk: settings("",
		changes{lastsField, windows + "1000000\n    ladder: {sigma: 100}\n    counted: true\n"}, changes{lastsField, windows + "1000000\n    ladder: {sigma: 100}\n    counted: {share: 1e-7}\n"},
		changes{lastsField, windows + "100\n    ladder: {sigma: 100}\n    counted: true\n"}, changes{lastsField, windows + "1000000\n    ladder: {sigma: 10000}\n    counted: true\n"})},
	{texts: one("lower counted.max_events, raise counted.share"), walk: settings("",
		changes{lastsField, lastsField + "    counted: {max_events: 1000000000}\n"}, changes{lastsField, lastsField + "    counted: {max_events: 20}\n"},
		changes{lastsField, lastsField + "    counted: {max_events: 1000000000, share: 0.9}\n", promised, "epsilon: 1000, delta: 1e-6"})},
	{texts: one("leave nothing of the metric's budget"), walk: settings("",
		changes{lastsField, lastsField + "    coverage: {share: 0.5}\n    counted: {share: 0.5}\n"}, changes{lastsField, lastsField + "    coverage: {share: 0.05}\n    counted: {share: 0.05}\n"})},
	{texts: one("give ladder.first_sigma: %s or more"), walk: settings("give ladder.first_sigma: ",
		changes{lastsField, lastsField + "    ladder: {first_sigma: 0.5}\n"}, changes{lastsField, lastsField + "    ladder: {first_sigma: PROPOSED}\n"})},
	{texts: one("in place of ladder.expected_max"), walk: settings("give ladder.first_sigma: ",
		changes{asked, "target: {relative: 0.1}", lastsField, lastsField + "    ladder: {expected_max: 1}\n"},
		changes{asked, "target: {relative: 0.1}", lastsField, lastsField + "    ladder: {first_sigma: PROPOSED}\n"})},
	{texts: one("give ladder.sigma: %s or more, or raise"), walk: settings("give ladder.sigma: ",
		changes{lastsField, "    ladder: {sigma: 1}\n"}, changes{lastsField, "    ladder: {sigma: PROPOSED}\n"},
		changes{promised, "epsilon: 8, delta: 1e-6", lastsField, "    ladder: {sigma: 1}\n"})},
	{texts: one("ladder.sigma: %s, which pays for one window"), walk: func(w *walk) {
		dear := func(sigma, events string) changes {
			return changes{lastsField, "    ladder: {sigma: " + sigma + "}\n    bounds: {max_keys_per_user: 2, max_events_per_key: " + events + "}\n"}
		}
		settings("never counts: set ladder.sigma: ", dear("5", "10"), dear("PROPOSED", "10"), dear("5", "2"))(w)
	}},
	{texts: one("leaving ladder.first_sigma out avoids"), walk: settings("",
		changes{keysField, privateKeys, lastsField, windows + "168\n    ladder: {first_sigma: 1e6}\n"}, changes{keysField, privateKeys, lastsField, windows + "168\n"})},
	{texts: one("ladder.sigma: %.3g avoids this"), walk: settings("; ladder.sigma: ",
		changes{asked, "target: {relative: 0.1}", lastsField, "    ladder: {sigma: 1e6}\n"}, changes{asked, "target: {relative: 0.1}", lastsField, "    ladder: {sigma: PROPOSED}\n"})},
	{texts: one("privacy.epsilon: %.3g avoids this"), walk: settings("; privacy.epsilon: ",
		changes{keysField, privateKeys, asked, "target: {relative: 0.1}", promised, "epsilon: 1e-5, delta: 1e-6", lastsField, windows + "1\n"},
		changes{keysField, privateKeys, asked, "target: {relative: 0.1}", promised, "epsilon: PROPOSED, delta: 1e-6", lastsField, windows + "1\n"})},
	{texts: one("%s events need the schema that they were written with: name an"), walk: func(w *walk) {
		avro := func(more string) changes {
			return changes{"format: csv\n  columns: [when, who, where]\n", "format: avro\n" + more, "who, key: where", "who.id, key: where", "  time_unit: rfc3339\n", ""}
		}
		schema := "  schema: " + write(w, "visit.avsc", `{"type":"record","name":"visit","fields":[{"name":"who","type":{"type":"record","name":"user","fields":[{"name":"id","type":"string"}]}},{"name":"where","type":"string"},{"name":"when","type":{"type":"long","logicalType":"timestamp-millis"}}]}`) + "\n"
		settings("", avro(""), avro(schema), avro("  registry: {url: 'http://127.0.0.1:1'}\n"))(w)
	}},
	{texts: []string{"set the time unit to s, ms or us (--time-unit", "it is a string: set the time unit to rfc3339 or text"}, walk: func(w *walk) {
		for kind, units := range map[string][]string{"long": {"s", "ms", "us"}, "string": {"rfc3339", "text"}} {
			avro := func(unit string) changes {
				schema := write(w, "visit.avsc", `{"type":"record","name":"visit","fields":[{"name":"who","type":"string"},{"name":"where","type":"string"},{"name":"when","type":"`+kind+`"}]}`)
				return changes{"format: csv\n  columns: [when, who, where]\n", "format: avro\n  schema: " + schema + "\n", "  time_unit: rfc3339\n", unit}
			}
			for _, unit := range units {
				settings("", avro(""), avro("  time_unit: "+unit+"\n"))(w)
			}
		}
	}},
}
