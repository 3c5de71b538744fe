// Package process runs servers that a test starts, kills and restarts.
//
// Guarantees: a [Process] ends with its parent (on Linux, even if the parent is killed), and its
// output goes to a file.
//
// Not guaranteed: that the children of a program end with it, or that an address from [FreeAddrs]
// is still free when a server listens.
package process
