package report

import "bytes"

// Audience is who may see a page. A page for one audience must not appear where another's is shown.
type Audience string

const (
	// Public pages have released values, or the results of an experiment.
	Public Audience = "a public page of tollgate"
)

// String describes a page for the audience.
func (a Audience) String() string { return string(a) }

// Wrote reports whether a file that begins with head is a page for the audience, of this version of
// the program or an earlier one.
func (a Audience) Wrote(head []byte) bool {
	page := bytes.HasPrefix(head, []byte("<!DOCTYPE html>\n")) && bytes.Contains(head,
		[]byte(`<div id="scheme" class="scheme"></div>`))
	plan := bytes.Contains(head, []byte(`<div id="sliders" class="sliders"></div>`))
	return page && !plan // which earlier versions wrote for plan: raw data
}
