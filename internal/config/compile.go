package config

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// Compile is pipeline.Compile with errors that show where in the file they come
// from: Errors.
func (f *File) Compile() (*pipeline.Deployment, error) {
	d, err := pipeline.Compile(f.config)
	if err == nil {
		return d, nil
	}
	return nil, f.Locate(err)
}

// Locate turns a *pipeline.ConfigError into Errors with its place; any other
// error is handed back as it is.
func (f *File) Locate(err error) error {
	var wrong *pipeline.ConfigError
	if !errors.As(err, &wrong) {
		return err
	}
	r := f.reader
	r.errs = nil
	at := f.pathOf(wrong.Field)
	r.fail(r.place(at), at, "%s", wrong.Reason)
	return r.errs
}

// pathOf is a file's path of a field as the pipeline names it: metrics by their
// names, and without the objects that only group them in a file.
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
		if (rest == name || strings.HasPrefix(rest, name+".")) && len(name) >= length { // of two with one name the second is to blame
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

// eventsPath is the path of a field of the events. Filters are the metrics', each
// once.
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

// place is where a field stands, or the closest of what it belongs to.
func (r *reader) place(at string) position { return closest(r.places, at) }

// valuePlace is where a field's value stands.
func (r *reader) valuePlace(at string) position {
	if p, ok := r.values[at]; ok {
		return p
	}
	return r.place(at)
}

func closest(places map[string]position, at string) position {
	for at != "" {
		if p, ok := places[at]; ok {
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
