// Command peers compares the performance of Tollgate with that of other programs that count. It is
// a separate module, so that these programs do not become dependencies of Tollgate.
//
//	go run . [flags]          Privacy on Beam, Beam's count, a plain loop and Tollgate on the same events
//	go run . realdata DIR TOLLGATE [NAME ...]
//	                          a tollgate binary and Privacy on Beam on the files of ../realdata
//
// # Guarantees
//
// Every contestant runs in its own process, one after the other, in rounds: A B C A B C. Wall time,
// CPU time (getrusage) and allocated bytes are those of the work alone. The events are generated
// and written to the broker beforehand. The peak is the maximum of the resident memory of the
// process during the work, including events held in memory. (If the kernel refuses to reset it, the
// peak includes the preparation.) Every count is compared with the truth; a wrong count ends the
// program with exit code 1.
//
// # Not guaranteed
//
// The contestants do not do the same work: the table says what each does. Privacy on Beam and
// Beam's count hold records in memory, without Kafka. Privacy on Beam counts one window, without
// budgets over time or restarts. Only Linux is supported, because memory is read from /proc.
package main
