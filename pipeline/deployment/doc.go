// Package deployment holds an operator's configuration, checks it, and computes its consequences
// before anything runs: the budget, its division over the metrics, release ladders and digests, how
// far an allowance goes, and the promise over several periods.
//
// [Compile] makes a [Deployment] from a [Config]. A Deployment is passive data: read-only, without
// connections, and the same on every machine. So every stage of a run can be constructed from it
// anywhere. The package also defines the errors of everything that a program does with a
// deployment.
//
// Guarantees: the allowances of all metrics of a Config that compiles are at most the budget, and
// every error of a Config names its field. Not guaranteed: that brokers, topics or events are as
// the Config says; package pipeline checks those.
package deployment
