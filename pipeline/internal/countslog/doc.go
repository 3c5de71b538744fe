// Package countslog reads the counts topic. A run uses it to find the values that were published
// after the settled turn, and to check whether the topics agree with control (intact.go). Other
// readers receive the values one by one.
//
// Guarantees: the package finds every published value of an unsettled turn, or returns an error if
// such a value may be gone. It skips foreign records and logs them.
package countslog
