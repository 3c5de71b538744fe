package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
)

// Warnings returns valid but questionable settings, with their positions: secrets that other users
// can read, and the settings that deployment.Warnings reports. d is the result of Compile.
func (f *File) Warnings(d *deployment.Deployment) Errors {
	all := slices.Clone(f.exposed)
	for _, warning := range deployment.Warnings(d) {
		var located Errors
		if errors.As(f.Locate(warning), &located) {
			all = append(all, located...)
		}
	}
	return all
}

// Locate adds the position in the file to a *deployment.ConfigError. It returns any other error
// unchanged.
func (f *File) Locate(err error) error {
	var wrong *deployment.ConfigError
	if !errors.As(err, &wrong) {
		return err
	}
	doc, path := f.document, pathOf(wrong.Field)
	doc.errs = nil
	doc.fail(doc.place(path).key, path, "%s", wrong.Reason(func(s deployment.Setting) string {
		name := strings.TrimPrefix(pathOf(s.Field), "metrics.")
		if s.Value == "" {
			return name
		}
		return name[strings.LastIndexByte(name, '.')+1:] + ": " + s.Value // as a line of the file
	}))
	return doc.errs
}

// pathOf returns the path in a file of a field of deployment.Config, or of the closest field that
// contains it.
func pathOf(field string) string {
	names, outer := goNames(map[string]string{}, "", settings.Table()), indices.ReplaceAllString(field, "")
	path, found := names[outer]
	for cut := 0; !found && cut >= 0; path, found = names[outer] {
		if cut = strings.LastIndexByte(outer, '.'); cut >= 0 {
			outer = outer[:cut]
		}
	}
	index := indices.FindString(field)
	if rest, metric := strings.CutPrefix(path, "metrics"); metric {
		return "metrics" + index + rest
	}
	if strings.HasSuffix(field, "]") {
		path += index
	}
	return path
}

// indices matches the index of a list.
var indices = regexp.MustCompile(`\[[0-9]+\]`)

// goNames maps paths in deployment.Config to paths in a file.
func goNames(to map[string]string, parent string, fields []settings.Field) map[string]string {
	for i := range fields {
		path := join(parent, fields[i].Name)
		to[fields[i].Path] = path
		goNames(to, path, fields[i].Fields)
	}
	return to
}
