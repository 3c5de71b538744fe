package cli

import (
	"os"
	"syscall"
)

// OwnStderr returns stderr under another number. Go ends a process that writes to a broken pipe
// under the number of stderr, and what a command does must not depend on a reader of its notes.
func OwnStderr() *os.File {
	fd, err := syscall.Dup(int(os.Stderr.Fd()))
	if err != nil {
		return os.Stderr
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), os.Stderr.Name())
}
