// Package wallclock provides a wall clock for a time zone that is never set back, so that all local
// days, hours and weeks are windows of the same length: when the zone's clock goes back, this one
// stops until the zone's clock has caught up; when the zone's clock goes forward, this one jumps
// with it.
//
// A day on the clock is a day of the zone's calendar, of 23 or 25 hours when clocks are set. If
// they are set back across midnight, the repeated time belongs to the new day.
//
// Times are Unix milliseconds. Readings are milliseconds as well, since 1970-01-01 00:00, as the
// clock would count if all its days had 24 hours. A reading r is 09:00 of a day if r is 9 hours
// after a multiple of 24 hours.
//
// Guarantees: readings do not decrease in time, and every reading begins at exactly one time.
// Adjacent windows of readings, all of the same length, partition time.
//
// Machines with different time zone data may give different readings.
package wallclock
