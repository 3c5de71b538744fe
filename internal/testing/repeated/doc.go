// Package repeated tests that the output of an experiment equals a golden file and does not depend
// on the number of processors.
package repeated
