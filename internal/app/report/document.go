package report

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
)

// documentScripts are the parts of the script of a Document.
var documentScripts = [...]string{"format.js", "shell.js", "document.js"}

// Document is a page of figures and tables that others computed: no releases.
type Document struct {
	Title, Source string
	Figures       []template.HTML // SVG
	FigureStyle   string          // CSS
	Tables        []DocumentTable
	Notes         []string
	Command       string // repeats what the page shows
	Footer        string
}

// DocumentTable has a cell for each column in every row.
type DocumentTable struct {
	Title, Note string
	Columns     []string
	Rows        [][]string
}

// Write writes the page, one file that loads nothing: all of it, or nothing. Errors: those of w.
func (d *Document) Write(w io.Writer) error {
	assets, err := readAssets(documentScripts[:]...)
	var page *template.Template
	if err == nil {
		page, err = template.ParseFS(files, "page/document.tmpl")
	}
	var b bytes.Buffer
	if err == nil {
		assets.style += d.FigureStyle
		err = page.Execute(&b, struct {
			*Document
			Style  template.CSS
			Script template.JS
			Policy string
		}{d, template.CSS(assets.style), template.JS(assets.script), assets.policy()})
	}
	if err == nil {
		_, err = w.Write(b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}
