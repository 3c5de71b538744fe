package keyfile

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// A command is no shell, runs in its folder, and hands over what it prints. An error has what it
// printed to stderr, and never a byte of its output.
func TestRuleTheOutputOfAKeyCommandIsNeverShown(t *testing.T) {
	key := strings.Repeat("0123456789abcdef", 4)
	dir := t.TempDir()
	for name, c := range map[string]struct {
		argv []string
		want string // the text, or what the error has
		bad  bool
	}{
		"a key":                 {[]string{"echo", key}, key + "\n", false},
		"no shell":              {[]string{"echo", "$HOME; echo *"}, "$HOME; echo *\n", false},
		"the folder":            {[]string{"pwd"}, dir + "\n", false},
		"a warning on the side": {[]string{"sh", "-c", "echo warning >&2; echo " + key}, key + "\n", false},
		"no input":              {[]string{"cat"}, "", false},
		"a failure with its key": {[]string{"sh", "-c", "echo " + key + "; echo sealed >&2; exit 2"},
			"exit status 2: sealed", true},
		"too much": {[]string{"sh", "-c", "while echo " + key + "; do :; done"}, errPrinted.Error(),
			true},
		"much on the side": {[]string{"sh", "-c", "head -c 99999 /dev/zero | tr '\\0' e >&2; exit 1"},
			"exit status 1: eee", true},
		"no such program": {[]string{"./nothing"}, "no such file", true},
	} {
		text, err := FromCommand(t.Context(), dir, c.argv)
		if !c.bad {
			if text != c.want || err != nil {
				t.Errorf("%s: printed %q, %v; want %q", name, text, err, c.want)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), key[:8]) ||
			len(err.Error()) > maxPrinted+100 || text != "" {
			t.Errorf("%s: %q, %v; want an error with %q", name, text, err, c.want)
		}
	}
}

// A command that hangs is killed, even if a child of it keeps its output open.
func TestAKeyCommandThatHangsIsKilled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := FromCommand(ctx, t.TempDir(), []string{"sh", "-c", "sleep 60 & wait"})
	if !errors.Is(err, errTime) || time.Since(begin) > 20*time.Second {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
}
