package config

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Compile calls deployment.Compile. Its errors are Errors: they show which line of the file
// each of them comes from.
func (f *File) Compile() (*deployment.Deployment, error) {
	d, err := deployment.Compile(f.config)
	if err == nil {
		return d, nil
	}
	return nil, f.Locate(err)
}

// Warnings are what is valid in a file and its secrets and should be otherwise, with its position:
// secrets that others can read, and settings under which nothing can be released
// (deployment.Warnings). d is what Compile has returned. Empty for nearly every file.
func (f *File) Warnings(d *deployment.Deployment) Errors {
	all := slices.Clone(f.exposed)
	for _, one := range deployment.Warnings(d) {
		var located Errors
		if errors.As(f.Locate(one), &located) {
			all = append(all, located...)
		}
	}
	return all
}

// Locate turns a *deployment.ConfigError into Errors with its position in the file; any
// other error is handed back as it is.
func (f *File) Locate(err error) error {
	var wrong *deployment.ConfigError
	if !errors.As(err, &wrong) {
		return err
	}
	doc := f.document
	doc.errs = nil
	at := f.pathOf(wrong.Field)
	doc.fail(doc.position(at), at, "%s", wrong.Reason)
	return doc.errs
}

// pathOf returns the path in the file of a field that the pipeline names: the pipeline
// calls metrics by their names, and leaves out objects that only group fields in a file.
func (f *File) pathOf(named string) string {
	if leaf, ok := strings.CutPrefix(named, "events."); ok {
		return f.eventsPath(strings.TrimPrefix(leaf, "format."))
	}
	rest, ok := strings.CutPrefix(named, "metrics.")
	if !ok {
		return named
	}
	index, length := -1, -1
	for i := range f.config.Metrics {
		name := f.config.Metrics[i].Name
		// of two metrics with one name the second is to blame
		if (rest == name || strings.HasPrefix(rest, name+".")) && len(name) >= length {
			index, length = i, len(name)
		}
	}
	if index < 0 {
		return named
	}
	leaf := strings.TrimPrefix(rest[length:], ".")
	switch leaf {
	case "":
		return metricPath(index)
	case "max_keys_per_user", "max_events_per_key", "min", "max":
		leaf = "bounds." + leaf
	case "window":
		leaf = "window.size"
	case "slide":
		leaf = "window.slide"
	case "keys.from":
		leaf = "keys.keys_from"
	}
	return metricPath(index) + "." + leaf
}

// eventsPath returns the path of a field of the events. The pipeline has one list of all
// filters, each once; a file has them in its metrics.
func (f *File) eventsPath(leaf string) string {
	switch leaf {
	case "user", "key", "time", "value":
		return "events.fields." + leaf
	}
	var filters []string
	for i := range f.config.Metrics {
		filter := f.config.Metrics[i].Filter
		if filter == "" || slices.Contains(filters, filter) {
			continue
		}
		if leaf == "filters["+strconv.Itoa(len(filters))+"]" {
			return metricPath(i) + ".filter"
		}
		filters = append(filters, filter)
	}
	return "events." + leaf
}

// position returns where a field stands, or the closest object that it belongs to.
func (doc *document) position(at string) position { return closest(doc.positions, at) }

// valuePosition returns where a field's value stands.
func (doc *document) valuePosition(at string) position {
	if p, ok := doc.valuePositions[at]; ok {
		return p
	}
	return doc.position(at)
}

func closest(positions map[string]position, at string) position {
	for at != "" {
		if p, ok := positions[at]; ok {
			return p
		}
		cut := strings.LastIndexAny(at, ".[")
		if cut < 0 {
			break
		}
		at = at[:cut]
	}
	return position{1, 1}
}
