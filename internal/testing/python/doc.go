// Package python finds a Python interpreter for tests of the programs in docs. It skips the test if
// there is none.
package python
