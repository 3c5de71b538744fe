package cli

import (
	"os"
	"syscall"
)

// OwnStderr returns a duplicate of stderr. Go ends a process that writes to a broken pipe as file
// descriptor 2, but a command must not depend on the reader of its notes.
func OwnStderr() *os.File {
	fd, err := syscall.Dup(int(os.Stderr.Fd()))
	if err != nil {
		return os.Stderr
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), os.Stderr.Name())
}
