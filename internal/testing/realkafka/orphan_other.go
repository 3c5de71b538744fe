//go:build !linux

package realkafka

import "syscall"

// orphanEnds does nothing where the kernel does not tell of a parent's death: the broker ends with
// Close.
func orphanEnds() *syscall.SysProcAttr { return nil }
