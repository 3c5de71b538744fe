package keyfile

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// CommandTime is the longest time that a command may take to print a key.
const CommandTime = 30 * time.Second

// maxPrinted is the maximum number of bytes that are kept of a command's output.
const maxPrinted = 4096

var (
	errPrinted = errors.New("it printed more than a key")
	errTime    = errors.New("it took too long: it must print the key without asking for anything")
)

// FromCommand returns the text that a command prints, for ParseSecret. No shell interprets the
// arguments. The command runs in dir, with this process's environment and without standard input,
// and is killed when ctx ends. Errors contain the beginning of the command's standard error, but
// nothing of its standard output.
func FromCommand(ctx context.Context, dir string, argv []string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second // do not wait longer for child processes that keep the pipes open
	stdout, stderr := printed{}, printed{cut: true}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		err = errTime
	case stdout.full:
		err = errPrinted
	}
	if err != nil {
		if text := strings.Join(strings.Fields(string(stderr.text)), " "); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return "", err
	}
	return string(stdout.text), nil
}

// printed keeps the first maxPrinted bytes that a command prints. If the command prints more, Write
// fails or, if cut is set, drops the rest.
type printed struct {
	text      []byte
	cut, full bool
}

// Write implements io.Writer.
func (p *printed) Write(b []byte) (int, error) {
	room := maxPrinted - len(p.text)
	p.text = append(p.text, b[:min(room, len(b))]...)
	if len(b) > room && !p.cut {
		p.full = true
		return room, errPrinted
	}
	return len(b), nil
}
