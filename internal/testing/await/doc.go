// Package await lets a test wait for what it needs instead of for a time in which that should
// have happened: it goes on as soon as it may, and says what did not come where it fails.
package await
