// Package topicrules knows how the topics of a deployment must be set up: it gives the settings
// with which they are created, and says what is wrong with those that exist and how to put it
// right. docs/runbook.md has the rules as a table.
//
// Guarantees: a topic that could lose what the promises rest on is refused with a
// *deployment.TopicError that names the setting and the remedy. It only looks: package pipeline
// creates topics.
package topicrules
