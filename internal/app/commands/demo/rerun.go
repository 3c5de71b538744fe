package demo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"

	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
)

// demoCommand returns the command of a demo that keeps the flags that were given, but for what a
// setting decides.
func (f *demoFlags) demoCommand(s choice.Setting) string {
	c := f.decided(s)
	set := map[string]string{"window": timespan.Text(s.Window), "lasts": timespan.Text(c.lasts),
		"epsilon": words.Digits(s.Epsilon)}
	if flag := f.flags.Lookup("epsilon"); !flag.Changed && flag.DefValue == words.Digits(s.Epsilon) {
		delete(set, "epsilon")
	}
	for name, v := range map[string]float64{"absolute": c.absolute, "noise": c.noise} {
		if v != 0 {
			set[name] = words.Digits(v)
		}
	}
	if f.openValues {
		set["min"], set["max"] = strconv.FormatInt(c.min, 10), strconv.FormatInt(c.max, 10)
	}
	return rerun(f.flags, set, "format", "report", "config", "metric")
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
		"user-field", "no-user", "key-field", "time-field", "time-unit", "time-layout", "time-zone", "decimals",
		"decimal-comma", "from", "to", "keys", "public-keys", "epsilon", "delta-keys", "window", "lasts", "min", "max",
		"edges", "absolute", "noise", "relative",
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
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./:,+@%=", r)
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

// indented writes lines of YAML for the terminal: two columns to the right.
func indented(yaml string) string {
	lines := strings.Split(strings.TrimSuffix(yaml, "\n"), "\n")
	return "  " + strings.Join(lines, "\n  ") + "\n"
}

// folded writes a command with an indent and breaks it before flags, with a deeper indent, so that
// it can be pasted into a shell.
func folded(line, indent string) string {
	var b strings.Builder
	b.WriteString(indent)
	column := len(indent)
	for i, part := range strings.Split(line, " --") {
		if i > 0 {
			part = "--" + part
			if column += 1 + utf8.RuneCountInString(part); column+2 > words.Width {
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
