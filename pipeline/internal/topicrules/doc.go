// Package topicrules knows how the topics of a deployment must be set up: it returns the settings
// with which they are created, and says what is wrong with existing ones and how to fix it.
// docs/runbook.md has the rules as a table.
//
// Guarantees: a topic that could lose what the promises rest on is refused with a
// *deployment.TopicError that names the setting and the remedy. The package changes nothing;
// package pipeline creates topics.
package topicrules
