package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/config"
)

// Every YAML block of the documentation that is a whole configuration is one
// that can run; a block that is not begins with a comment "# part".
func TestConfigurationsInTheDocumentationAreRight(t *testing.T) {
	block := regexp.MustCompile("(?ms)^```ya?ml\n(.*?)^```")
	part := regexp.MustCompile(`^# part\b`)
	pages := append(files(t, "../../../docs/*.md"), "../../../README.md")
	for _, page := range pages {
		body, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllSubmatch(body, -1) {
			if part.Match(m[1]) {
				continue
			}
			lint(t, page, m[1])
		}
	}
}

func TestExamplesAreRight(t *testing.T) {
	for _, path := range files(t, "../../../docs/example*.yaml") {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lint(t, path, body)
	}
}

// lint parses and compiles with keys that stand in for what is missing.
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
