// Package topicrules defines the settings that a deployment's topics need: it returns them for
// creating topics, and reports what is wrong with existing topics, with the remedies.
// docs/runbook.md contains the rules as a table.
//
// Guarantees: Check returns an error for a topic that could lose records that the promise needs: a
// *deployment.TopicError with the setting and the remedy. The package does not change topics;
// package pipeline creates them.
package topicrules
