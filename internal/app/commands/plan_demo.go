package commands

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
)

// width of text for people, in columns.
const width = 80

// planOnly are flags of plan that its demo does not have, or that name a file of its own.
var planOnly = []string{"aim", "key", "within", "exact", "format", "report"}

// demoCommand returns what writes the command of a demo that keeps the flags that were given, but
// for those without, and for what a setting decides.
func demoCommand(of *demoFlags, flags *pflag.FlagSet, without ...string) func(advice.Setting) string {
	return func(s advice.Setting) string {
		set := map[string]string{
			"window": config.Duration(s.Window), "max-keys-per-user": strconv.Itoa(s.KeysPerUser), "max-events-per-key": strconv.Itoa(s.EventsPerKey),
			"last-at-least": strconv.Itoa(s.LastAtLeast), "relative": number(s.Relative), "epsilon": number(s.Epsilon),
		}
		of.chosenOf(s, set)
		if f := flags.Lookup("epsilon"); !f.Changed && f.DefValue == number(s.Epsilon) {
			delete(set, "epsilon")
		}
		if flags.Changed("public-keys") {
			set["keys"] = string(keysPublic)
		}
		if s.DeltaKeys != 0 && !flags.Changed("delta-keys") {
			set["delta-keys"] = strings.Replace(number(s.DeltaKeys), "e-0", "e-", 1)
		}
		if s.Together {
			set["delta-keys"] = ""
			set["key-field"], set["keys"], set["public-keys"] = "", "", ""
		}
		return rerun(flags, set, without...)
	}
}

// rerun returns the command of a demo with the flags that were given, but for those without, and
// with others set: "" leaves one out.
func rerun(flags *pflag.FlagSet, set map[string]string, without ...string) string {
	command := []string{"tollgate demo"}
	flags.Visit(func(f *pflag.Flag) {
		_, decided := set[f.Name]
		switch {
		case decided || slices.Contains(without, f.Name):
		case f.Value.Type() == "bool":
			command = append(command, "--"+f.Name)
		default:
			command = append(command, "--"+f.Name+" "+shellWord(flagText(f)))
		}
	})
	for _, name := range []string{
		"user-field", "no-user", "key-field", "time-field", "time-unit", "time-layout", "time-zone", "decimals", "decimal-comma", "from", "to", "keys", "public-keys", "epsilon", "delta-keys", "window", "max-keys-per-user", "max-events-per-key", "last-at-least", "min", "max", "edges", "relative",
		"absolute",
	} {
		value := set[name]
		if known := flags.Lookup(name); value != "" && known != nil && known.Value.Type() == "bool" {
			command = append(command, "--"+name)
		} else if value != "" {
			command = append(command, "--"+name+" "+shellWord(value))
		}
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

// shellWord quotes a word that a shell would split or expand.
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

// yamlText quotes a text as JSON does, which is valid YAML.
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

// folded writes a command with an indent and breaks it before flags, with a deeper indent, so that
// it can be pasted into a shell.
func folded(command, indent string) string {
	var b strings.Builder
	b.WriteString(indent)
	column := len(indent)
	for i, part := range strings.Split(command, " --") {
		if i > 0 {
			part = "--" + part
			if column += 1 + utf8.RuneCountInString(part); column+2 > width {
				b.WriteString(" \\\n  " + indent)
				column = len(indent) + 2 + utf8.RuneCountInString(part)
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
