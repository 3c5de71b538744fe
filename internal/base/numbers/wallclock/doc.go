// Package wallclock provides a wall clock for a time zone that is never set back. So all local
// days, hours and weeks are windows of the same length. When the zone's clock goes back, this clock
// stops until the zone's clock has caught up; when it goes forward, this clock jumps with it.
//
// A day on this clock is a day of the zone's calendar, which has 23 or 25 hours when clocks are
// set. If clocks are set back across midnight, the repeated time belongs to the new day.
//
// Times are Unix milliseconds. Readings are also milliseconds. They count from 1970-01-01 00:00 on
// the clock, as if all its days had 24 hours. A reading r is 09:00 of a day if r is 9 hours after a
// multiple of 24 hours.
//
// Guarantees: readings do not decrease as time passes, and every reading begins at exactly one
// time. Adjacent windows of readings with the same length partition time.
//
// Machines with different time zone data may give different readings.
package wallclock
