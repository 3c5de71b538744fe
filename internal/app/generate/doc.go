// Package generate makes up a realistic stream of page views with a known
// truth: users and pages by Zipf's law, a daily rhythm, records that arrive
// late or carry a time of the future, and broken records of every class.
//
// Guarantees: the stream is a function of its Config alone (same seed, same
// bytes, for one Go version and processor architecture); events come in order of arrival;
// Truth counts every one of them under exactly one outcome; memory does not grow
// with the number of events.
//
// Not guaranteed: that it resembles real traffic. It is for trying and
// testing; the randomness is not cryptographic and no noise comes from it.
package generate
