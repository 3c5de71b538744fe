// Package topicrules has the required settings of a deployment's topics: it returns them for
// creating topics, and reports what is wrong with existing ones and how to fix it. docs/runbook.md
// has the rules as a table.
//
// Guarantees: a topic that could lose records behind the promises is refused with a
// *deployment.TopicError that names the setting and the remedy. The package changes nothing;
// package pipeline creates topics.
package topicrules
