// Package topicrules defines the settings that a deployment's topics need. Specs returns the
// settings for new topics, and Check reports what is wrong with existing ones, with the remedies.
// docs/runbook.md contains the rules as a table.
//
// Guarantees: Check returns a *deployment.TopicError, with the setting and the remedy, for each
// topic that could lose records that the promise needs. The package does not change topics; package
// pipeline creates them.
package topicrules
