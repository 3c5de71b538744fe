package commands

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// width of text for people, in columns.
const width = 80

// demoCommand returns the command of the demo with those of plan's flags that were given and that
// it has, but for what a recommended setting decides.
func demoCommand(flags *pflag.FlagSet) string {
	decided := []string{"window", "max-keys-per-user", "max-events-per-key", "last-at-least", "key", "within", "exact", "format", "report", "spend-share", "choose-again", "noise-key-file"}
	command := []string{"tollgate demo"}
	flags.Visit(func(f *pflag.Flag) {
		switch {
		case slices.Contains(decided, f.Name):
		case f.Value.Type() == "bool":
			command = append(command, "--"+f.Name)
		default:
			command = append(command, "--"+f.Name+" "+shellWord(flagText(f)))
		}
	})
	if slices.ContainsFunc(command, func(c string) bool { return strings.HasPrefix(c, "--public-keys ") }) {
		command = append(command, "--keys public")
	}
	return strings.Join(command, " ")
}

// flagText returns a flag's value as it is given.
func flagText(f *pflag.Flag) string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), ",")
	}
	return f.Value.String()
}

// shellWord quotes what a shell would take apart.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,+@%=", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// publicKeysYAML returns what a configuration has for --public-keys.
func publicKeysYAML(value string, keys []string) string {
	if !strings.Contains(value, ",") && !slices.Equal(keys, []string{value}) {
		return fmt.Sprintf("{mode: public, list_file: %s}", yamlText(value))
	}
	quoted := make([]string, len(keys))
	for i, k := range keys {
		quoted[i] = yamlText(k)
	}
	return fmt.Sprintf("{mode: public, list: [%s]}", strings.Join(quoted, ", "))
}

// yamlText quotes a text as JSON does, which YAML takes.
func yamlText(text string) string {
	quoted, _ := json.Marshal(text) //nolint:errchkjson // a string is always written
	return string(quoted)
}

// wrapped writes a text in lines, each after the first with an indent.
func wrapped(b *strings.Builder, text, indent string) {
	column := 0
	for i, word := range strings.Fields(text) {
		switch n := utf8.RuneCountInString(word); {
		case i == 0:
			column = n
		case column+1+n > width:
			b.WriteString("\n" + indent)
			column = len(indent) + n
		default:
			b.WriteString(" ")
			column += 1 + n
		}
		b.WriteString(word)
	}
	b.WriteString("\n")
}

// indented writes lines of YAML for the terminal: two columns to the right.
func indented(yaml string) string {
	lines := strings.Split(strings.TrimSuffix(yaml, "\n"), "\n")
	return "  " + strings.Join(lines, "\n  ") + "\n"
}

// folded breaks a command before flags, so that it can be pasted into a shell.
func folded(command string) string {
	var b strings.Builder
	column := 2 // of the indent
	for i, part := range strings.Split(command, " --") {
		if i > 0 {
			part = "--" + part
			if column += 1 + utf8.RuneCountInString(part); column+2 > width {
				b.WriteString(" \\\n    ")
				column = 4 + utf8.RuneCountInString(part)
			} else {
				b.WriteString(" ")
			}
		} else {
			column += utf8.RuneCountInString(part)
		}
		b.WriteString(part)
	}
	return b.String()
}
