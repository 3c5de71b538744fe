package report

import "bytes"

// PageKind implements outfile.Kind for pages.
type PageKind struct{}

// String describes a page.
func (PageKind) String() string { return "a public page of tollgate" }

// Wrote reports whether a file that begins with head is a page.
func (PageKind) Wrote(head []byte) bool {
	return bytes.HasPrefix(head, []byte("<!DOCTYPE html>\n")) &&
		bytes.Contains(head, []byte(`<div id="scheme" class="scheme"></div>`))
}
