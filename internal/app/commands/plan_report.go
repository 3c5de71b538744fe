package commands

import (
	"io"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	html "github.com/tollgate-dp/tollgate/internal/app/report"
)

// savePlan writes the page of an answer, where one is wanted.
func (f *planFlags) savePlan(answer *advice.Advice) error {
	return cli.SaveOutput("--report", f.report, 0o600, func(w io.Writer) error { return html.WritePlan(w, answer) })
}
