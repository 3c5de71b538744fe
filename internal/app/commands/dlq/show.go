package dlq

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// letter holds the parts of a dead letter that the command show prints.
type letter struct {
	Class     string    `json:"class"`
	Now       string    `json:"now"` // result of decoding it now: "readable", or class and field
	Written   time.Time `json:"written"`
	Partition int32     `json:"partition"` // of the events topic
	Offset    int64     `json:"offset"`
	Bytes     int       `json:"bytes"`
	Key       string    `json:"kafka_key"` // masked unless --records-trusted is given
	Value     string    `json:"value"`
}

func (a *app) show() *cobra.Command {
	var limit int
	var trusted bool
	return a.command("show", showHelp, func(flags *pflag.FlagSet) {
		flags.IntVar(&limit, "limit", 10, "")
		flags.BoolVar(&trusted, "records-trusted", false, "")
	}, func(cmd *cobra.Command) error {
		if limit < 1 || limit > 1000 {
			return command.Must("limit", "from 1 to 1000")
		}
		all := []letter{}
		err := a.each(cmd.Context(), true, func(l *pipeline.DeadLetter) bool {
			all = append(all, shown(l, trusted))
			return len(all) < limit
		})
		if err != nil {
			return err
		}
		return a.PrintAs(a.format, all, func(b *strings.Builder) { writeLetters(b, all) })
	})
}

// shownBytes limits how much of a key or value is shown.
const shownBytes = 4096

func shown(l *pipeline.DeadLetter, trusted bool) letter {
	out := letter{Class: known(l.Class), Now: "readable", Written: l.At, Partition: l.Origin.Partition,
		Offset: l.Origin.Offset, Bytes: len(l.Value), Key: string(l.Key[:min(len(l.Key), shownBytes)]),
		Value: string(l.Value[:min(len(l.Value), shownBytes)])}
	if l.Now != nil {
		out.Now = l.Now.Class
		if l.Now.Field != "" {
			out.Now += ", field " + l.Now.Field
		}
	}
	if !trusted {
		out.Key, out.Value = mask(out.Key), mask(out.Value)
	}
	return out
}

// mask keeps the characters that separate the fields of JSON and of rows. It replaces each text
// between them by 9 if it is a number, and by x otherwise.
func mask(text string) string {
	if !utf8.ValidString(text) {
		return "x" // not text: structure and contents look alike
	}
	return token.ReplaceAllStringFunc(text, func(part string) string {
		if strings.Trim(part, "0123456789+-.") == "" {
			return "9"
		}
		return "x"
	})
}

var token = regexp.MustCompile(`[^{}\[\]":,;\t\r\n ]+`)

func writeLetters(b *strings.Builder, all []letter) {
	if len(all) == 0 {
		b.WriteString(noLetters)
	}
	for _, l := range all {
		fmt.Fprintf(b, "%s  partition %d, offset %d  %s; now: %s; %s\n", l.Written.Format(time.RFC3339), l.Partition,
			l.Offset, terminal.Key(l.Class, 40), l.Now, terminal.Count(l.Bytes, "byte"))
		fmt.Fprintf(b, "  key   %s\n  value %s\n", cmp.Or(terminal.Key(l.Key, 100), "none"),
			cmp.Or(terminal.Key(l.Value, 500), "none"))
	}
}
