package registry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Register returns the id of an Avro schema under a subject. If the subject has the schema,
// Register only looks it up, so that users without permission to register can use it. Any other
// schema becomes the next version of the subject. Errors: ErrIncompatible, ErrUnsupported (the
// registry does not accept it as a schema), ErrUnreachable, ErrUnauthorized, or ctx's error.
func (c *Client) Register(ctx context.Context, subject, schema string) (uint32, error) {
	found, err := c.Lookup(ctx, subject, schema)
	if !errors.Is(err, event.ErrUnknownSchema) {
		return found, err
	}
	id := 0
	err = c.try(ctx, func(ctx context.Context) (err error) {
		id, err = c.sr.RegisterSchema(ctx, subject, sr.Schema{Schema: schema, Type: sr.TypeAvro}, -1, -1)
		return err
	})
	return c.checked(id, err, "registering the schema of", subject)
}

// Lookup returns the id that an Avro schema has under a subject. It registers nothing. Errors:
// event.ErrUnknownSchema if the subject does not have the schema, else the errors of Register.
func (c *Client) Lookup(ctx context.Context, subject, schema string) (uint32, error) {
	id := 0
	err := c.try(ctx, func(ctx context.Context) error {
		found, err := c.sr.LookupSchema(ctx, subject, sr.Schema{Schema: schema, Type: sr.TypeAvro})
		id = found.ID
		return err
	})
	return c.checked(id, err, "looking up the schema of", subject)
}

// checked rejects an id that no registry assigns. Ids are 1 to 2^31−1, and a response without an id
// does not come from a registry.
func (c *Client) checked(id int, err error, doing, subject string) (uint32, error) {
	if err == nil && (id < 1 || id > math.MaxInt32) {
		err = fmt.Errorf("%w: %s responded with the id %d, which no schema can have", ErrUnsupported, c.cfg.URL, id)
	}
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", doing, subject, err)
	}
	return uint32(id), nil
}

// explainRefusal returns why a registry refused a schema; nil if the response has another cause.
func (c *Client) explainRefusal(answer *sr.ResponseError) error {
	if answer.Method != http.MethodPost {
		return nil
	}
	switch answer.StatusCode {
	case http.StatusForbidden:
		return fmt.Errorf("%w: %s does not allow user %q to register schemas: grant write access to the subject, or "+
			"register the schema yourself", ErrUnauthorized, c.cfg.URL, c.cfg.User)
	case http.StatusConflict:
		return fmt.Errorf("%w: %s", ErrIncompatible, shortened(answer.Message))
	case http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: %s does not accept it: %s", ErrUnsupported, c.cfg.URL, shortened(answer.Message))
	}
	return nil
}

// maxReason limits the characters shown of a registry's reason, which may quote the whole schema.
const maxReason = 400

func shortened(text string) string {
	if text == "" {
		return "it gives no reason"
	}
	if runes := []rune(text); len(runes) > maxReason {
		return string(runes[:maxReason]) + "…"
	}
	return text
}
