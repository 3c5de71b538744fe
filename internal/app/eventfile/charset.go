package eventfile

import (
	"bufio"
	"bytes"
	"fmt"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// CheckCharset returns an error if no charset has the given name. "" stands for UTF-8.
func CheckCharset(name string) error {
	if _, err := htmlindex.Get(name); name != "" && err != nil {
		return fmt.Errorf("%q: use latin1, cp1252, utf-16 or any other encoding label of the web", name)
	}
	return nil
}

// decoded returns a reader that converts text in a charset to UTF-8, and the first converted bytes.
// A byte order mark in the text overrides charset.
func decoded(r *bufio.Reader, head []byte, charset string) (*bufio.Reader, []byte, error) {
	if charset == "" {
		charset = sniff(head)
	}
	if charset == "" {
		return r, head, nil
	}
	encoding, err := htmlindex.Get(charset)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	if encoding == unicode.UTF8 {
		return r, head, nil // a decoder would replace invalid UTF-8
	}
	r = bufio.NewReaderSize(transform.NewReader(r, unicode.BOMOverride(encoding.NewDecoder())), bufferBytes)
	return r, headOf(r), nil
}

// sniff detects UTF-16 by its byte order mark. It returns utf-16le, utf-16be or "".
func sniff(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return "utf-16le"
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "utf-16be"
	}
	return ""
}
