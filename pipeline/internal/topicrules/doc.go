// Package topicrules has the required settings of a deployment's topics: it returns them for
// creating topics, and reports the faults of existing ones with their remedies. docs/runbook.md has
// the rules as a table.
//
// Guarantees: Check refuses a topic that could lose records that the promise needs, with a
// *deployment.TopicError that names the setting and the remedy. The package does not change topics;
// package pipeline creates them.
package topicrules
