// Package sample reads events once, in any order, and keeps what users did in which window, with
// which key: all users while they fit, else those that a keyed hash of their ids chooses.
//
// # Guarantees
//
// Memory is bounded by [Options], whatever the number of records, users and keys. A user is kept
// with every event in the range or not at all. The same records give the same sample in any order.
//
// # No guarantees
//
// A sample is raw data: nothing here is protected, and what is made of it is for the trusted side.
package sample
