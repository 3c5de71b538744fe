//go:build !linux

package process

import "syscall"

// orphanEnds does nothing: only Kill and Stop end the child.
func orphanEnds() *syscall.SysProcAttr { return nil }
