package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// validateAccess says who may read and write the topics. What the user lacks is an error, what is
// too much a warning.
func (a *app) validateAccess(ctx context.Context, d *loaded, f *validateFlags) error {
	if err := a.awaitAnswer(ctx, d.Config.Kafka); err != nil {
		return d.explained(err)
	}
	report, err := pipeline.CheckAccess(ctx, d.Deployment, f.role, f.principal)
	if err != nil {
		return d.explained(err)
	}
	if err := a.printAs(f.format, report, func(b *strings.Builder) { writeAccess(b, report) }); err != nil {
		return err
	}
	var missing []error
	for _, one := range report.Missing {
		missing = append(missing, fmt.Errorf("this user may not %s on %s, which %s needs: %s", strings.Join(one.Operations, ", "), one.On, report.Role, one.Fix))
	}
	var excess []error
	for _, one := range report.TooMuch {
		excess = append(excess, errors.New(one))
	}
	err = errors.Join(missing...)
	if refused := a.warn(excess, f.strict); refused != nil && err == nil {
		return refused
	} else if refused != nil {
		return fmt.Errorf("%w\n%w", err, refused)
	}
	return err
}

// writeAccess writes a report for people.
func writeAccess(b *strings.Builder, r *pipeline.AccessReport) {
	b.WriteString("access to the topics\n")
	if r.Rules == pipeline.RulesRead {
		t := tabwriter.NewWriter(b, 0, 0, 3, ' ', 0)
		fmt.Fprintln(t, "  topic\t\tmay read\tmay write")
		for _, one := range r.Topics {
			name := one.Name
			if one.Absent {
				name += " (does not exist)"
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", one.Is, name, who(one.Readers), who(one.Writers))
		}
		t.Flush() //nolint:errcheck // a strings.Builder takes everything
		fmt.Fprintf(b, "  the rules themselves may be changed by: %s\n", who(r.Administrators))
		b.WriteString("  according to the brokers' rules; super users (super.users of the brokers) may do everything, and no rule lists them\n")
	}
	switch r.Rules {
	case pipeline.RulesForbidden:
		b.WriteString("  the brokers do not let this user read their rules (Describe on the cluster), so it is unknown who else may read and write: run this again as a user with that right\n")
	case pipeline.RulesNone:
		b.WriteString("  the brokers have no access control: every client may read and write every topic\n")
	}
	switch {
	case r.Principal == "":
		b.WriteString("  the configuration does not say what the brokers call this user: give --principal to see which others may do too much\n")
	case r.Unnamed:
		fmt.Fprintf(b, "  no rule names %s: it is a super user, or the brokers have another name for this user (--principal)\n", terminal.Key(r.Principal, 80))
	}
	user := "this user"
	if r.Principal != "" {
		user += " (" + terminal.Key(r.Principal, 80) + "; give --principal if the brokers have another name)"
	}
	if len(r.Missing) == 0 {
		fmt.Fprintf(b, "  the brokers confirm that %s may do all that %s needs\n", user, r.Role)
	} else {
		fmt.Fprintf(b, "  %s lacks these rights, which %s needs:\n", user, r.Role)
		for _, one := range r.Missing {
			fmt.Fprintf(b, "    %s on %s\n", strings.Join(one.Operations, ", "), one.On)
		}
	}
}

// who lists principals, whose names are the choice of others.
func who(principals []string) string {
	if len(principals) == 0 {
		return "no user by a rule"
	}
	names := make([]string, len(principals))
	for i, one := range principals {
		names[i] = terminal.Key(one, 60)
	}
	return strings.Join(names, ", ")
}
