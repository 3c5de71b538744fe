// Package must is for steps of a test that have to succeed before the actual test.
package must
