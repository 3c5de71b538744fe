// Package must is for the steps of a test that have to succeed before anything is tested.
package must
