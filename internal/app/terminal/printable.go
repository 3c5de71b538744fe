package terminal

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Printable returns a writer that escapes everything that does not print, except for line ends and
// tabs: escape sequences in the name of a column, a file or a key could control the terminal. JSON
// keeps its meaning. The progress line of this package bypasses the writer. A character may be
// split between two writes.
func Printable(w io.Writer) io.Writer { return &printableWriter{w: w} }

type printableWriter struct {
	w    io.Writer
	mu   sync.Mutex
	rest []byte // start of a character that the next Write completes
}

// Write implements io.Writer.
func (p *printableWriter) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := append(p.rest, text...)
	whole := len(all)
	for i := max(0, len(all)-utf8.UTFMax+1); i < len(all); i++ {
		if utf8.RuneStart(all[i]) && !utf8.FullRune(all[i:]) {
			whole = i
			break
		}
	}
	_, err := io.WriteString(p.w, printable(string(all[:whole])))
	p.rest = append(all[:0], all[whole:]...)
	if err != nil {
		return 0, err //nolint:wrapcheck // of a writer in place of another
	}
	return len(text), nil
}

// raw returns the writer that Printable was given.
func raw(w io.Writer) io.Writer {
	if p, ok := w.(*printableWriter); ok {
		return p.w
	}
	return w
}

func printable(text string) string { return escape(text, "\n\t") }

// escape escapes characters that do not print, except the characters in kept.
func escape(text, kept string) string {
	plain := 0 // length of the plain ASCII prefix, which is most often the whole text
	for plain < len(text) && (text[plain] >= ' ' && text[plain] <= '~' || strings.IndexByte(kept, text[plain]) >= 0) {
		plain++
	}
	if plain == len(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		size := utf8.RuneLen(r)
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unicode.IsPrint(r) || strings.ContainsRune(kept, r):
			b.WriteString(text[i : i+size])
		case r < ' ':
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default: // as in JSON
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
	}
	return b.String()
}
