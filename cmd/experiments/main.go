package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/internal/app/experiment/counts"
	"github.com/tollgate-dp/tollgate/internal/app/experiment/descent"
	"github.com/tollgate-dp/tollgate/internal/app/experiment/filters"
	"github.com/tollgate-dp/tollgate/internal/app/experiment/odometers"
	"github.com/tollgate-dp/tollgate/internal/app/experiment/year"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
)

// The exit codes, as in doc.go.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// progressEvery is the minimum time between two lines of progress.
const progressEvery = 4 * time.Second

func main() {
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdout, cli.OwnStderr()))
}

// execute runs a command line and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stdout, stderr = terminal.Printable(stdout), terminal.Printable(stderr)
	c := command{stdout: stdout, stderr: stderr, size: experiment.Default}
	root := c.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	text, code := fmt.Sprintf("error: %v\n", err), exitError
	if !c.accepted {
		text += fmt.Sprintf("see %s --help\n", cmd.CommandPath())
		code = exitUsage
	}
	terminal.Say(stderr, text)
	return code
}

// experiments returns all experiments, in the order of docs/experiments.md.
func experiments() []experiment.Experiment {
	return slices.Concat(year.Experiments(), counts.Experiments(), odometers.Experiments(), filters.Experiments(),
		descent.Experiments())
}

// command holds the flags of one command line.
type command struct {
	stdout, stderr io.Writer
	seed           uint64
	data, report   string
	size           experiment.Size
	format         cli.Format
	accepted       bool // the flags are valid, so a later error is not a usage error
}

func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "experiments [NAME]",
		Short: "Repeat the experiments of the papers that Tollgate is built on",
		Long: `Run one experiment and print its tables: the paper's values beside the measured ones.
Without a name, list the experiments. The same seed gives the same result on every
machine of one architecture. docs/experiments.md explains where and why the results
differ from the papers.

--report also draws the figures. --data names a directory with the paper's data.
Without it, Tollgate cannot fill the cells that need them ("–"), and shows results
on synthetic data of the same shape instead.

An experiment draws its noise from the seed, so its results protect no user.`,
		Example: `  go run ./cmd/experiments
  go run ./cmd/experiments counts --size small
  go run ./cmd/experiments year --report year.html`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("experiments takes one name, but got %d: run one after the other", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.list()
			}
			return c.repeat(cmd.Context(), args[0])
		},
	}
	flags := root.Flags()
	flags.Uint64Var(&c.seed, "seed", 1, "seed of all random numbers")
	flags.StringVar(&c.data, "data", "", "`directory` with the paper's data, for an experiment that uses them")
	flags.Var(cli.OneOf(&c.size, experiment.Small, experiment.Default), "size",
		"default: the paper's size, up to ten minutes; small: seconds")
	flags.StringVar(&c.report, "report", "", "`file` for a page with figures and tables (HTML)")
	cli.FormatFlag(root, &c.format)
	cli.Prepare(root)
	return root
}

func names() (out []string) {
	for _, e := range experiments() {
		out = append(out, e.Name)
	}
	return out
}

func (c *command) list() error {
	if c.report != "" || c.data != "" {
		return errors.New("--report and --data need the name of an experiment")
	}
	c.accepted = true
	titles, rows := map[string]string{}, [][]string{}
	for _, e := range experiments() {
		titles[e.Name], rows = e.Title, append(rows, []string{e.Name, e.Title})
	}
	if c.format == cli.JSON {
		return json.NewEncoder(c.stdout).Encode(titles)
	}
	_, err := io.WriteString(c.stdout, words.Table(rows...))
	return err
}

// repeat runs an experiment and prints its result.
func (c *command) repeat(ctx context.Context, name string) error {
	all := experiments()
	i := slices.IndexFunc(all, func(e experiment.Experiment) bool { return e.Name == name })
	if i < 0 {
		return fmt.Errorf("there is no experiment %q: it must be %s", name, spelling.List(names(), " or "))
	}
	e := &all[i]
	if err := c.checkData(e); err != nil {
		return err
	}
	c.accepted = true
	if err := cli.CheckOutput("--report", c.report, 0o644, experiment.PageKind{}); err != nil {
		return err
	}
	o := experiment.Options{Seed: c.seed, Data: c.data, Size: c.size}
	result, err := c.run(ctx, e, o)
	if err != nil {
		return err
	}
	if err := cli.SaveOutput("--report", c.report, 0o644, func(w io.Writer) error {
		return e.WritePage(w, o, result)
	}); err != nil {
		return err
	}
	if c.format == cli.JSON {
		return e.WriteJSON(c.stdout, o, result) //nolint:wrapcheck // named
	}
	return e.WriteText(c.stdout, o, result) //nolint:wrapcheck // named
}

// checkData returns an error if --data is not a directory, or the experiment uses no data.
func (c *command) checkData(e *experiment.Experiment) error {
	switch info, err := os.Stat(c.data); {
	case c.data == "":
		return nil
	case e.Data == nil:
		return fmt.Errorf("experiment %s uses no real data: leave out --data", e.Name)
	case err != nil:
		c.accepted = true
		return fmt.Errorf("finding the directory of --data: %w", err)
	case !info.IsDir():
		return fmt.Errorf("--data %s is not a directory: give one with the files that docs/experiments.md lists",
			c.data)
	}
	return nil
}

// run runs an experiment and shows its progress on stderr.
func (c *command) run(ctx context.Context, e *experiment.Experiment,
	o experiment.Options) (*experiment.Result, error) {
	progress := terminal.NewProgress(c.stderr, time.Now)
	defer progress.Flush()
	lastAt, lastLine := time.Now(), ""
	o.Progress = func(done, total int, what string) {
		line := fmt.Sprintf("%d of %d done: %s", done, total, what)
		if now := time.Now(); now.Sub(lastAt) > progressEvery && line != lastLine {
			lastAt, lastLine = now, line
			progress.Note("%s", line)
		}
	}
	return e.Find(ctx, o) //nolint:wrapcheck // named
}
