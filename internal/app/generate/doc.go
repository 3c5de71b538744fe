// Package generate makes up a realistic stream of page views with known outcomes. Users and pages
// follow Zipf's law, and traffic has a daily rhythm. The stream contains late records, records in
// the future, and broken records of every class.
//
// Guarantees:
//   - The stream is a function of its Config: the same seed gives the same bytes, for one Go
//     version and processor architecture.
//   - Events come in order of arrival, and Truth counts each of them under exactly one outcome.
//   - Memory does not grow with the number of events.
//
// Not guaranteed: that the stream resembles real traffic. The randomness is not cryptographic, and
// no noise comes from it.
package generate
