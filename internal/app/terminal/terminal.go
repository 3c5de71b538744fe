package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// DefaultWidth is the number of columns without a terminal.
const DefaultWidth = 80

// Terminal reports whether w is a terminal, and how many columns it has.
func Terminal(w io.Writer) (bool, int) {
	file, ok := raw(w).(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return false, DefaultWidth
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width < 40 {
		return true, DefaultWidth
	}
	return true, width
}
