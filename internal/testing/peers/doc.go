// Command peers measures this product beside others that count. It is a module of its own, so that
// what it compares with is no dependency of the product.
//
//	go run . [flags]          Privacy on Beam, Beam's count, a plain loop and the product on the same events
//	go run . realdata DIR TOLLGATE [NAME ...]
//	                          a tollgate binary and Privacy on Beam on the files of ../realdata
//
// # Guarantees
//
// Whatever is measured runs in a process of its own, one after the other, in rounds: A B C A B C.
// The wall time, the CPU time (getrusage) and the bytes allocated are those of the work alone;
// events are made and written to the broker before. The peak is the greatest resident memory of the
// process during the work, with the events where they are in its memory (it is reset before; where
// the kernel refuses that, it includes the preparation). Every count that comes out is checked
// against the truth; a wrong one ends the program with exit code 1.
//
// # Not guaranteed
//
// That the contestants do the same: each does what its line says. Privacy on Beam and Beam's count
// have their records in memory, without Kafka; Privacy on Beam counts one window, and knows neither
// budgets over time nor restarts. Only Linux is supported: memory is read from /proc.
package main
