// Package process runs programs for tests: servers that a test starts, kills and starts again.
//
// Guarantees: a [Process] does not outlive its parent (on Linux, not even if the parent is killed),
// and all of its output is in a file.
//
// Not guaranteed: that the children of a program end with it, or that a port of [FreeAddrs] is not
// taken by another process before a program listens on it.
package process
