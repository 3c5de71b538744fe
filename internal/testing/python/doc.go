// Package python finds a Python interpreter for tests of the programs in docs. Without one it skips
// the test.
package python
