package admin

import (
	"context"
	"fmt"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/schemas"
)

// RegisterCounts returns how counts are written under a configuration. For schemas.CountsAvro it
// sees to it that the registry has the schema of releases under the subject of the counts topic:
// once it is there, no call changes anything. Errors: registry.ErrIncompatible,
// registry.ErrUnsupported, registry.ErrUnauthorized, registry.ErrUnreachable, or that of ctx.
func RegisterCounts(ctx context.Context, d *deployment.Deployment) (schemas.CountsEncoding, error) {
	out := &d.Config.Outputs
	enc := schemas.CountsEncoding{Format: out.CountsFormat}
	if enc.Format != schemas.CountsAvro {
		return enc, nil
	}
	client, err := connect.Registry(out.Registry, nil)
	if err != nil {
		return enc, err
	}
	defer client.Close()
	if enc.SchemaID, err = client.Register(ctx, countsSubject(out.Counts), schemas.ReleaseSchema()); err != nil {
		return enc, fmt.Errorf("the schema of counts: %w", err)
	}
	return enc, nil
}

// countsSubject returns the subject under which Avro readers of the counts topic look for the
// schema of its values, unless they are told otherwise.
func countsSubject(topic string) string { return topic + "-value" }
