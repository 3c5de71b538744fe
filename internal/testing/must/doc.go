// Package must is for the steps of a test that have to succeed before the actual test.
package must
