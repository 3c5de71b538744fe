// Package deployment holds an operator's configuration, checks it, and computes its consequences
// before anything runs: the budget, each metric's allotment of it, release ladders and digests, the
// share of typical users' events that is counted, and the promise over several periods.
//
// [Compile] makes a [Deployment] from a [Config]. A Deployment is passive data: read-only, without
// connections, and the same on every machine, so every stage of a run can be constructed from it
// anywhere. The package also defines the errors of all operations on a deployment.
//
// Guarantees: if a Config compiles, the allowances of its metrics add up to at most the budget, and
// every error in a Config names its field. Not guaranteed: that brokers, topics or events are as
// the Config says; package pipeline checks those.
package deployment
