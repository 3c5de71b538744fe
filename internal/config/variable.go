package config

import (
	"regexp"
	"strings"
)

// variable matches what shells and other programs replace by a variable of the environment.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)[^}]*\}`)

// variableIn returns the name of the first variable that a text expects to be replaced; "" for
// none.
func variableIn(text string) string {
	if found := variable.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// variable looks for one in a line, the first one being 1: braces within braces are not YAML, and
// the parser's words then say nothing of the variable.
func (doc *document) variable(line int) (where position, name string, found bool) {
	if line < 1 || line > len(doc.lines) {
		return position{}, "", false
	}
	at := variable.FindStringIndex(doc.lines[line-1])
	if at == nil {
		return position{}, "", false
	}
	before := doc.lines[line-1][:at[0]]
	return position{line, len([]rune(before)) + 1}, variableIn(doc.lines[line-1]), true
}

// notExpanded says why a variable is refused, and what to write in its place: what a file says has
// to be all of it, or a variable that is not set would quietly configure something else.
func notExpanded(at, name string) string {
	const refused = "variables such as ${NAME} are not replaced in this file: "
	field := at[strings.LastIndexByte(at, '.')+1:]
	switch {
	case field == "password":
		return refused + "write  password_env: NAME  in place of this line (a password that really has these characters goes into password_file)"
	case strings.HasPrefix(at, "keys."):
		return refused + "write  env: " + name + "  if the variable has the 64 hex digits themselves, else the name of the file"
	case strings.Contains(at, "keys.list["):
		return refused + "write the key (one that really has these characters goes into list_file)"
	case field == "filter":
		return refused + "write the value (one that really has these characters can be matched: matches \"[$][{]id[}]\")"
	}
	return refused + "write the value. Only secrets come from the environment, by fields of their own: password_env, and env under keys"
}
