// Package await lets a test wait for a condition instead of for a time: the test continues as soon
// as the condition holds, and otherwise fails with its name.
package await
