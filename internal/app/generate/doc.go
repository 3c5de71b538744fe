// Package generate makes up a realistic stream of page views with known outcomes: users and pages
// follow Zipf's law, with a daily rhythm, late records, records in the future, and broken records
// of every class.
//
// Guarantees: the stream is a function of its Config (same seed, same bytes, for one Go version and
// processor architecture); events come in order of arrival; Truth counts each of them under one
// outcome; memory does not grow with the number of events.
//
// Not guaranteed: that the stream resembles real traffic. The randomness is not cryptographic, and
// no noise comes from it.
package generate
