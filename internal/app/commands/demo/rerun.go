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

// demoCommand returns the command of a demo with the flags that were given, and with those that a
// setting decides.
func (f *demoFlags) demoCommand(s choice.Setting) string {
	c := f.decided(s)
	set := map[string]string{"window": timespan.Text(s.Window), "lasts": timespan.Text(c.lasts), "epsilon": ""}
	for name, v := range map[string]float64{"absolute": c.absolute, "noise": c.noise} {
		if v != 0 {
			set[name] = words.Digits(v)
		}
	}
	if text := words.Digits(s.Epsilon); text != f.flags.Lookup("epsilon").DefValue || f.given("epsilon") {
		set["epsilon"] = text
	}
	if f.openValues {
		set["min"], set["max"] = strconv.FormatInt(c.min, 10), strconv.FormatInt(c.max, 10)
	}
	for _, name := range []string{"format", "config", "metric"} { // of plan alone
		set[name] = ""
	}
	return rerun(f.flags, set)
}

// rerun returns the command of a demo with the flags that were given and others set; "" leaves one
// out.
func rerun(flags *pflag.FlagSet, set map[string]string) string {
	command := "tollgate demo"
	flags.VisitAll(func(f *pflag.Flag) {
		value, decided := set[f.Name]
		switch {
		case decided && value == "" || !decided && !f.Changed:
		case f.Value.Type() == "bool":
			command += " --" + f.Name
		case decided:
			command += " --" + f.Name + " " + shellWord(value)
		default:
			command += " --" + f.Name + " " + shellWord(flagText(f))
		}
	})
	return command
}

// flagText returns a flag's value as it is given.
func flagText(f *pflag.Flag) string {
	list, ok := f.Value.(pflag.SliceValue)
	if !ok {
		return f.Value.String()
	}
	texts := list.GetSlice()
	for i, text := range texts {
		if v, err := strconv.ParseFloat(text, 64); err == nil && f.Value.Type() == "float64Slice" {
			texts[i] = words.Digits(v)
		}
	}
	return strings.Join(texts, ",")
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
