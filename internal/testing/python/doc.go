// Package python finds a Python interpreter for tests of the programs in docs. If there is none, it
// skips the test.
package python
