package status

import (
	"context"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// view is the path of a deployment's configuration, and the format in which a command prints.
type view struct {
	*command.App
	path   string
	format cli.Format
}

// show prints the result of read as JSON, or for people by a template.
func show[T any](ctx context.Context, v *view, o config.Options,
	read func(context.Context, *pipeline.Deployment) (T, error), output string) error {
	d, err := v.Reach(ctx, v.path, o)
	if err != nil {
		return err
	}
	value, err := read(ctx, d.Deployment)
	if err != nil {
		return d.Explained(err)
	}
	return v.PrintText(v.format, value, command.Template(output), value)
}
