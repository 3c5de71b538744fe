//go:build !linux

package process

import "syscall"

// orphanEnds does nothing on kernels that do not report a parent's death: the child ends with Kill.
func orphanEnds() *syscall.SysProcAttr { return nil }
