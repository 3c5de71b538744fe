package process

import "syscall"

// orphanEnds makes the kernel kill the child when the thread that started it ends.
func orphanEnds() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
