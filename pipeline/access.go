package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/access"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
)

type (
	// AccessReport is who may read and write the topics of a deployment.
	AccessReport = access.Report
	// AccessRole is what a user of the brokers is for.
	AccessRole = access.Role
	// AccessLack is a right that a user lacks.
	AccessLack = access.Lack
)

// Values of AccessRole, and of AccessReport.Rules.
const (
	RoleRun   = access.Run
	RoleInit  = access.Init
	RoleServe = access.Serve

	RulesRead      = access.RulesRead
	RulesForbidden = access.RulesForbidden
	RulesNone      = access.RulesNone
)

// DeniedAccess returns the rights that err says the user of the configuration lacks, each with the
// command that grants it; nothing for an error that does not say so.
func DeniedAccess(d *deployment.Deployment, err error) []AccessLack {
	if !errors.Is(err, ErrForbidden) {
		return nil
	}
	return access.Denied(d, connect.Principal(&d.Config.Kafka), err)
}

// CheckAccess asks the brokers who may read and write the topics of a deployment, what the user of
// the configuration lacks for a role, and what is too much. It changes nothing. principal is what
// the brokers call that user, "User:bob"; "": as Kafka's defaults derive it from the configuration.
// Where brokers do not let the user look at their rules, the report says so and has only what
// concerns the user. Errors are the brokers' answers and connection errors.
func CheckAccess(ctx context.Context, d *deployment.Deployment, role AccessRole, principal string) (*AccessReport, error) {
	if principal == "" {
		principal = connect.Principal(&d.Config.Kafka)
	}
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	report, err := access.Check(ctx, d, client, role, principal)
	if err != nil {
		return nil, fmt.Errorf("checking access to topics: %w", err)
	}
	return report, nil
}
