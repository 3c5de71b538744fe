// Package repeated tests that an experiment's output equals a golden file and does not depend on
// the number of processors.
package repeated
