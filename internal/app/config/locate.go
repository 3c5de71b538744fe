package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
)

// Warnings returns a warning for each secret that other users can read, and for each questionable
// setting that deployment.Warnings reports. The warnings have the positions of the settings. d is
// the result of Compile.
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

// Locate converts a *deployment.ConfigError to an error with the position in the file. It returns
// any other error unchanged.
func (f *File) Locate(err error) error {
	var invalid *deployment.ConfigError
	if !errors.As(err, &invalid) {
		return err
	}
	doc, path := f.document, pathOf(invalid.Field)
	doc.errs = nil
	doc.fail(doc.place(path).key, path, "%s", invalid.Reason(func(s deployment.Setting) string {
		name := strings.TrimPrefix(pathOf(s.Field), "metrics.")
		if s.Value == "" {
			return name
		}
		return name[strings.LastIndexByte(name, '.')+1:] + ": " + s.Value // like a line of the file
	}))
	return doc.errs
}

// pathOf returns the path in the file for a field of deployment.Config. If the file does not have
// the field, pathOf returns the path of the closest field that contains it.
func pathOf(field string) string {
	names, outer := filePaths(map[string]string{}, "", settings.Table()), indices.ReplaceAllString(field, "")
	path, found := names[outer]
	for cut := 0; !found && cut >= 0; path, found = names[outer] {
		if cut = strings.LastIndexByte(outer, '.'); cut >= 0 {
			outer = outer[:cut]
		}
	}
	index := indices.FindString(field)
	if rest, isMetric := strings.CutPrefix(path, "metrics"); isMetric {
		return "metrics" + index + rest
	}
	if strings.HasSuffix(field, "]") {
		path += index
	}
	return path
}

// indices matches the index of a list.
var indices = regexp.MustCompile(`\[[0-9]+\]`)

// filePaths adds fields to a map from paths in deployment.Config to paths in the file, and returns
// the map.
func filePaths(paths map[string]string, parent string, fields []settings.Field) map[string]string {
	for i := range fields {
		path := join(parent, fields[i].Name)
		paths[fields[i].Path] = path
		filePaths(paths, path, fields[i].Fields)
	}
	return paths
}
