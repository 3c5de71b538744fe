package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

// texts is the value of a flag that can be given more than once.
type texts []string

func (t *texts) String() string { return strings.Join(*t, ",") }

func (t *texts) Set(text string) error {
	*t = append(*t, text)
	return nil
}

func run(args []string) error {
	var tags, values texts
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	dockerfile := flags.String("dockerfile", "", "the Dockerfile of the image")
	context := flags.String("context", "", "directory with the files that the Dockerfile copies")
	arch := flags.String("arch", "", "amd64 or arm64")
	out := flags.String("out", "", "the archive to write")
	flags.Var(&tags, "tag", "name:version of the image; can be repeated")
	flags.Var(&values, "arg", "NAME=value of an ARG of the Dockerfile; can be repeated")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("reading flags: %w", err)
	}
	if *dockerfile == "" || *context == "" || *arch == "" || *out == "" || len(tags) == 0 {
		return errors.New("--dockerfile, --context, --arch, --tag and --out are required")
	}
	arguments := map[string]string{}
	for _, v := range values {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			return fmt.Errorf("--arg %s: it must be NAME=value", v)
		}
		arguments[name] = value
	}
	text, err := os.ReadFile(*dockerfile)
	if err != nil {
		return fmt.Errorf("reading the Dockerfile: %w", err)
	}
	archive, err := build(text, os.DirFS(*context), *arch, tags, arguments)
	if err != nil {
		return fmt.Errorf("building the image of %s: %w", *dockerfile, err)
	}
	if err := os.WriteFile(*out, archive, 0o644); err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	return nil
}
