package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/config"
)

// Every example file compiles, and so does every YAML block of the documentation, unless it begins
// with "# part".
func TestConfigurationsInTheDocumentationAreRight(t *testing.T) {
	block := regexp.MustCompile("(?ms)^```ya?ml\n(.*?)^```")
	pages := append(files(t, "../../../docs/*.md"), "../../../README.md")
	for _, page := range append(pages, files(t, "../../../docs/example*.yaml")...) {
		body, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(page) == ".yaml" {
			lint(t, page, body)
			continue
		}
		for _, m := range block.FindAllSubmatch(body, -1) {
			if !bytes.HasPrefix(m[1], []byte("# part")) {
				lint(t, page, m[1])
			}
		}
	}
}

// lint parses and compiles a configuration, with stand-ins for missing keys.
func lint(t *testing.T, name string, body []byte) {
	t.Helper()
	f, err := config.Parse(filepath.Join(filepath.Dir(name), "tollgate.yaml"), body,
		config.Environment{Get: func(string) string { return "x" }})
	if err == nil {
		err = f.Resolve(config.Options{MissingKeys: true})
	}
	if err == nil {
		_, err = f.Compile()
	}
	if err != nil {
		t.Errorf("a configuration in %s is wrong:\n%v", name, err)
	}
}
