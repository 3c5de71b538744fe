package flink

import (
	"cmp"
	"regexp"
	"strings"
)

// workerPrefix matches the prefix of a worker's error.
var workerPrefix = regexp.MustCompile(`Error received from SDK harness for instruction [^:]*: `)

// maxCause is the maximum length of a cause, in bytes.
const maxCause = 4 << 10

// cause returns the reason for a failure from its Java stack trace. This is the worker's own error
// text, if the trace contains it, and otherwise the innermost exception.
func (f *failure) cause() string {
	text := f.Stack
	if prefixes := workerPrefix.FindAllStringIndex(text, -1); len(prefixes) > 0 {
		text = text[prefixes[len(prefixes)-1][1]:]
		text, _, _ = strings.Cut(text, "\n\tat ")
		text, _, _ = strings.Cut(text, "\n\t... ")
		return shorten(innermost(text))
	}
	if cause := strings.LastIndex(text, "\nCaused by: "); cause >= 0 {
		text = text[cause+len("\nCaused by: "):]
	}
	text, _, _ = strings.Cut(text, "\n")
	text = cmp.Or(text, f.Name)
	if cutOff.MatchString(text) {
		text = "a worker's process ended or lost its connection without an error, perhaps because it was killed or " +
			"ran out of memory: read the logs of its TaskManager and its machine (" + text + ")"
	}
	return shorten(text)
}

// cutOff matches errors of Beam's runner that report a lost connection to a worker.
var cutOff = regexp.MustCompile(
	`StatusRuntimeException: (CANCELLED|UNAVAILABLE)|SDK [Hh]arness .*(closed|disconnected)`)

// innermost returns the last error in a text of Beam's Go SDK, which begins with the outermost
// error. The last error is a DoFn's error, with all of its lines, or a panic without its stack.
func innermost(text string) string {
	if cause := strings.LastIndex(text, "caused by:\n"); cause >= 0 {
		text = text[cause+len("caused by:\n"):]
	} else if _, full, found := strings.Cut(text, "\nFull error:\n"); found {
		text = full
	}
	if first, rest, more := strings.Cut(text, "\n"); more && failedFn.MatchString(first) {
		text = rest
	}
	if p := panicked.FindStringSubmatch(text); p != nil {
		return p[1]
	}
	return strings.TrimSpace(text)
}

// failedFn matches the line before a DoFn's error; panicked matches a panic up to its stack.
var (
	failedFn = regexp.MustCompile(`^DoFn\[.*\] failed:$`)
	panicked = regexp.MustCompile(`^(panic: .*?)(?: goroutine \d+ \[|\n|$)`)
)

func shorten(text string) string {
	if len(text) > maxCause {
		return strings.ToValidUTF8(text[:maxCause], "") + " …"
	}
	return text
}
