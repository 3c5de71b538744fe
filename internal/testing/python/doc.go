// Package python finds the interpreter of tests that run a program of docs/.
//
// Not guaranteed: that there is one; such a test is skipped then.
package python
