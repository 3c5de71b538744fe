// Package repeated runs experiments for tests: their output is unchanged, and does not depend on
// the number of processors.
package repeated
