package config

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/keyfile"
	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
)

// Environment provides the variables that a configuration file can use. The zero value has none.
type Environment struct {
	Get   func(name string) string // "" if it is not set
	Names func() []string          // names of all variables
}

// Process returns the environment of this process.
func Process() Environment {
	return Environment{Get: os.Getenv, Names: func() []string {
		all := os.Environ()
		for i := range all {
			all[i], _, _ = strings.Cut(all[i], "=")
		}
		return all
	}}
}

func (e Environment) get(name string) string {
	if e.Get == nil {
		return ""
	}
	return e.Get(name)
}

// overridePrefix is the prefix of variables that override fields of a file. The path of the field
// follows in capitals, with two underscores between its parts, as in
// TOLLGATE__METRICS__0__TARGET__ABSOLUTE.
const overridePrefix = "TOLLGATE__"

// override is a variable that sets a field. used reports whether the field was read.
type override struct {
	variable, value string
	used            bool
}

// findOverrides collects the variables that set fields. It refuses a variable with overridePrefix
// that does not name a field.
func (doc *document) findOverrides() {
	doc.overrides = map[string]*override{}
	if doc.environment.Names == nil {
		return
	}
	names := doc.environment.Names()
	slices.Sort(names)
	for _, name := range names {
		rest, isOverride := strings.CutPrefix(name, overridePrefix)
		if !isOverride {
			continue
		}
		path, reason := fieldOf(rest)
		if reason != "" {
			doc.errs = append(doc.errs, &Error{File: "the environment variable " + name, Reason: reason})
			continue
		}
		doc.overrides[path] = &override{variable: name, value: doc.environment.get(name)}
	}
}

// fieldOf returns the path of the field that a variable sets, or the reason why there is no such
// field. rest is the name of the variable without overridePrefix.
func fieldOf(rest string) (path, reason string) {
	fields, last := settings.Table(), (*settings.Field)(nil)
	for part := range strings.SplitSeq(strings.ToLower(rest), "__") {
		if last != nil && last.Kind == settings.Objects && !strings.HasSuffix(path, "]") {
			if _, err := strconv.ParseUint(part, 10, 31); err != nil {
				return "", fmt.Sprintf("%s is a list: give the number of an entry, 0 for the first, as in %s%s__0__%s",
					path, overridePrefix, strings.ToUpper(path), strings.ToUpper(fields[0].Name))
			}
			path += "[" + part + "]"
			continue
		}
		f := settings.Find(fields, part)
		if f == nil {
			where := "here"
			if path != "" {
				where = "in " + path
			}
			_, hint := settings.Meant(fields, part)
			return "", fmt.Sprintf("there is no field %s %s%s", settings.Quote(part), where, hint)
		}
		path, last, fields = join(path, part), f, f.Fields
	}
	if len(last.Fields) > 0 && !last.Switch {
		return "", fmt.Sprintf("%s has fields of its own: set one of them, as in %s%s__%s", path, overridePrefix, rest,
			strings.ToUpper(last.Fields[0].Name))
	}
	return path, ""
}

// override sets a field to the value of the variable that overrides it. If a variable sets a field
// of an absent object, override adds the object. It returns false if it did nothing.
func (doc *document) override(full string, f *settings.Field, where position) bool {
	o := doc.overrides[full]
	if o == nil {
		_, present := doc.places[full]
		if present || f.Kind != settings.Object || !f.Optional || !doc.overridden(full+".") {
			return false
		}
		doc.setObject(full, f, true, where)
		return true
	}
	o.used = true
	switch f.Kind {
	case settings.Object: // a switch
		if o.value != "true" && o.value != "false" {
			doc.fail(where, full, "%s is neither true nor false", settings.Quote(o.value))
		}
		doc.setObject(full, f, o.value == "true", where)
	case settings.List, settings.Numbers:
		entries := strings.FieldsFunc(o.value, func(r rune) bool { return r == ',' })
		for _, entry := range entries {
			doc.set(full, f, strings.TrimSpace(entry), where)
		}
		if len(entries) == 0 {
			doc.fail(where, full, "the list is empty: write its entries with commas between them")
		}
	default:
		doc.set(full, f, o.value, where)
	}
	return true
}

// overridden reports whether a variable sets a field whose path begins with prefix.
func (doc *document) overridden(prefix string) bool {
	for path := range doc.overrides {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// refuseUnused refuses variables for list entries that the file does not contain.
func (doc *document) refuseUnused() {
	for path, o := range doc.overrides {
		if !o.used {
			doc.errs = append(doc.errs, &Error{File: "the environment variable " + o.variable, Field: path,
				Reason: "the file has no such entry: variables can change the entries of lists, but not add entries"})
		}
	}
}

// variable matches references to environment variables, even malformed ones. $$ is a literal dollar
// sign.
var variable = regexp.MustCompile(`\$?\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(:-)?([^}]*)\})?`)

// expand replaces the variables in a value. It records an error and returns false if it cannot.
func (doc *document) expand(path, text string, where position) (out string, replaced, ok bool) {
	ok = true
	out = variable.ReplaceAllStringFunc(text, func(found string) string {
		parts := variable.FindStringSubmatch(found)
		name, hasDefault, rest := parts[1], parts[2] != "", parts[3]
		value := doc.environment.get(name)
		why := notExpanded(path)
		switch {
		case strings.HasPrefix(found, "$$"):
			return found[1:]
		case name == "" && why != "":
			return found // no variable, but valid text in this field
		case name == "":
			why = "${ does not begin a variable here: write ${NAME}, with only letters, digits and _ in the name, or " +
				"$${ for a literal ${"
		case why != "":
		case !hasDefault && rest != "":
			why = fmt.Sprintf("%s is not understood: write ${%s}, or ${%s:-value} with a value for an unset variable",
				settings.Quote(found), name, name)
		case value == "" && !hasDefault:
			why = fmt.Sprintf("the environment variable %s is unset or empty: set it, or write ${%s:-value} to give a "+
				"value for that case", name, name)
		case value == "":
			value = rest
		}
		if _, err := keyfile.ParseSecret(value); err == nil && strings.HasPrefix(path, "keys.") {
			why = fmt.Sprintf("the environment variable %s contains the key itself, not a file name: write env: %s",
				name, name)
		}
		if why != "" && ok {
			doc.fail(where, path, "%s", why)
			ok = false
		}
		replaced = true
		return value
	})
	return out, replaced, ok
}

// notExpanded returns the reason why variables are not replaced in a field, or "" if they are
// replaced. For a password, another field can name a variable. Keys and filters may contain ${ as
// ordinary text.
func notExpanded(path string) string {
	const refused = "variables such as ${NAME} are not replaced in this field: "
	field := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case field == "password":
		return refused + "write password_env: NAME instead of this line (put a password that really contains these " +
			"characters into password_file)"
	case strings.Contains(path, "keys.list["):
		return refused + "write out the key (put a key that really contains these characters into list_file)"
	case field == "filter":
		return refused + "write out the value (to match a value that really contains these characters, use a regular " +
			"expression: matches \"[$][{]id[}]\")"
	}
	return ""
}

// variable finds the first reference to an environment variable in a line; lines are numbered from
// 1. An unquoted ${NAME} can be invalid YAML, and the parser's error does not mention it.
func (doc *document) variable(line int) (where position, name string, found bool) {
	if line < 1 || line > len(doc.lines) {
		return position{}, "", false
	}
	match := variable.FindStringSubmatchIndex(doc.lines[line-1])
	if match == nil || match[2] < 0 {
		return position{}, "", false
	}
	before := doc.lines[line-1][:match[0]]
	return position{line, len([]rune(before)) + 1}, doc.lines[line-1][match[2]:match[3]], true
}
