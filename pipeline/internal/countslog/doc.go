// Package countslog reads the counts topic. For a run it finds the values that were published after
// the settled turn, and checks whether the topics agree with control (intact.go). Other readers get
// one value after another.
//
// Guarantees: it finds every published value of an unsettled turn, or returns an error if such
// values may be gone. It skips foreign records and logs them.
package countslog
