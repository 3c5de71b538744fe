package commands

import "strings"

var otherRemedies = []remedy{
	{texts: one("Restore both as they were at one moment"), done: "pipeline.TestRuleLedgerAndControlOfDifferentMomentsAreRefused"},
	{texts: one("If this one has begun, correct kafka.brokers and outputs.control"), done: "internal/app/commands.TestRuleADeploymentBegunWithRDPGoesOnAsWithZCDP"},
	{texts: one("does not begin with the kind"), not: "no remedy: what a stored account is like"},
	{texts: one("to list all rights that this user lacks: tollgate validate"), walk: func(w *walk) {
		w.vars["C"] = as(w.T, guardedBroker(w.T), "serves")
		madeKeys(w.T, w.value("C"), 0o600)
		_, rest, _ := strings.Cut(w.refused("validate --config $C"), "to list all rights that this user lacks: ")
		words := strings.Fields(rest)
		if _, output := w.line(w.ours(words[1:])); !strings.Contains(output, "lacks these rights, which run needs:") {
			w.Errorf("%v does not say what is lacking: %s", words, output)
		}
	}},
	{texts: one("kafka-reassign-partitions.sh gives an existing topic more replicas"), not: "needs three brokers; integration/nodes_test.go has topics with three replicas"},
	{texts: one("give --principal to see which others may do too much"), walk: func(w *walk) {
		w.vars["C"] = as(w.T, tokenBroker(w.T), "nobody")
		w.put(w.beside("token"), "a.b.c")
		w.edit("mechanism: plain, user: nobody, password: s3cret", "mechanism: oauthbearer, token_file: token")
		const others = "User:mallory may Write"
		if output := w.says("validate --acls --config $C"); strings.Contains(output, others) {
			w.Error(output)
		}
		if output := w.works("validate --acls --config $C --principal User:ANONYMOUS"); !strings.Contains(output, others) {
			w.Error(output)
		}
	}},
	{texts: one("no rule names %s: it is a super user"), walk: func(w *walk) {
		w.vars["C"] = as(w.T, guardedBroker(w.T), "root")
		w.says("validate --acls --config $C")
		w.works("validate --acls --config $C --principal User:runs")
	}},
	{texts: one("give --principal if the brokers have another name"), done: "internal/app/commands.TestValidateSaysWhoMayDoWhat"},
	{texts: []string{"--resource-pattern-type prefixed", "kafka-acls.sh --bootstrap-server"}, done: "pipeline.TestAccessOnApacheKafka"},
	{texts: one("if the brokers have allow.everyone.if.no.acl.found=true"), not: "no remedy: what a setting of the brokers makes of a topic without rules"},
	{texts: one("drain the run and run tollgate change, which registers it here"), done: "pipeline.TestARegistryThatWasReplacedIsFoundAndRepaired"},
	{texts: one("use that version, and drain it before you use this one"), not: "needs a program of a later version"},
	{texts: one("starting a worker: --id and --provision_endpoint"), not: "no remedy: only Flink starts workers"},
	{texts: []string{"put the same file on every machine", "put the same ones on every machine", "mean the same brokers on every machine"}, done: "pipeline.TestRuleAWorkerHasTheKeysAndTheConfigurationThatWereSubmitted"},
	{texts: []string{
		"their times are behind their append times", "their times are behind the times of their records", "silent for longer than time.idle_grace (%v); a clock",
		"ahead by more than time.skew (%v); ", "tollgate init --start has set it to",
		"is wrong", "as in a file that was not sorted", "as after a broker's clock was set",
	}, not: "no remedy: possible causes, of which an operator has to find the one"},
	{texts: one("tollgate validate says which one, and what to do"), walk: func(w *walk) {
		w.settled()
		over := begin("run", "--config", w.value("C"), "--format", "json")
		says(w, &over.stdout, "2025-03-04T00:00:00Z")
		w.lose("shop-turns", "shop-counts")
		w.must("replay --config $C --input $CSV --header")
		<-over.over
		w.missing(over.stderr.String())
		w.Log(over.stderr.String())
	}},
}
