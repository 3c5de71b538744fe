package registry

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// Config configures the connection to a registry.
type Config struct {
	URL          string // http or https, without user and password
	User         string // for basic authentication, sent only to the server of URL; "" sends none
	Password     secret.Of[string]
	PasswordFile string // if set, read for every request; Password is used while the file cannot be read
	CAFile       string // PEM file of CA certificates, which may change; "": the system's certificates

	Timeout  time.Duration // per request; 0 is 10 seconds
	Attempts int           // per request; 0 is 5
	Pause    time.Duration // before the second attempt, then doubled each time; 0 is 200 ms

	// Patience is how long a request is retried while the registry responds "too many requests".
	// The pauses are those that the registry requests, but at most a minute. 0 is 15 minutes. These
	// retries do not count as attempts.
	Patience time.Duration
	// Waiting, if set, is called once for each request that has waited some seconds for this.
	Waiting func(why error)
}

// Client queries a registry and caches the responses. It is safe for concurrent use.
type Client struct {
	cfg   Config
	sr    *sr.Client
	trust *trust

	mu    sync.Mutex
	known map[uint32]string
	size  int // total size of the known schemas, in bytes
}

// maxKnown limits the cached schemas, in bytes: records may name every schema of a registry that
// other programs share.
const maxKnown = 16 << 20

// New checks the configuration and returns a Client. It does not connect. Errors: *ConfigError.
func New(cfg Config) (*Client, error) {
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	cfg.Attempts = cmp.Or(cfg.Attempts, 5)
	cfg.Pause = cmp.Or(cfg.Pause, 200*time.Millisecond)
	cfg.Patience = cmp.Or(cfg.Patience, 15*time.Minute)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	trust, err := newTrust(cfg)
	if err != nil {
		return nil, err
	}
	client, err := sr.NewClient(sr.URLs(cfg.URL), sr.UserAgent("tollgate"),
		sr.HTTPClient(&http.Client{Transport: boundedTransport{trust}, Timeout: cfg.Timeout}))
	if err != nil {
		return nil, &ConfigError{Field: "url", Reason: err.Error()}
	}
	return &Client{cfg: cfg, sr: client, trust: trust, known: make(map[uint32]string)}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.trust.close() }

// Schema returns the Avro schema with an id. Errors: event.ErrUnknownSchema, event.ErrUnfitSchema
// (not Avro, with references, or too long), ErrUnreachable, ErrUnauthorized, or ctx's error.
func (c *Client) Schema(ctx context.Context, id uint32) (string, error) {
	c.mu.Lock()
	text, ok := c.known[id]
	c.mu.Unlock()
	if ok {
		return text, nil
	}
	if id > math.MaxInt32 {
		// Registries use signed 32-bit ids. They respond to a greater number as to an unknown page.
		return "", event.ErrUnknownSchema
	}
	var s sr.Schema
	err := c.try(ctx, func(ctx context.Context) (err error) {
		s, err = c.sr.SchemaByID(ctx, int(id))
		return err
	})
	if err == nil {
		err = c.avroOnly(s)
	}
	if err != nil {
		return "", fmt.Errorf("asking registry for schema %d: %w", id, err)
	}
	c.mu.Lock()
	if c.size += len(s.Schema); c.size > maxKnown {
		clear(c.known)
		c.size = len(s.Schema)
	}
	c.known[id] = s.Schema
	c.mu.Unlock()
	return s.Schema, nil
}

// Latest returns the newest Avro schema of a subject, so that the producers' schema can be checked
// before anything is read. By default, the subject of a topic's values is the topic's name followed
// by "-value". It returns the same errors as Schema.
func (c *Client) Latest(ctx context.Context, subject string) (string, error) {
	var s sr.SubjectSchema
	err := c.try(ctx, func(ctx context.Context) (err error) {
		s, err = c.sr.SchemaByVersion(ctx, subject, -1)
		return err
	})
	if err == nil {
		err = c.avroOnly(s.Schema)
	}
	if err != nil {
		return "", fmt.Errorf("asking registry for the schemas of %q: %w", subject, err)
	}
	return s.Schema.Schema, nil
}

// avroOnly returns an error unless a response is a single Avro schema. A response without a schema
// comes from a proxy, not from a registry.
func (c *Client) avroOnly(s sr.Schema) error {
	switch {
	case s.Type != sr.TypeAvro:
		return fmt.Errorf("%w: it is of type %s, not %s", event.ErrUnfitSchema, s.Type, sr.TypeAvro)
	case len(s.References) > 0:
		return fmt.Errorf("%w: it refers to %d other schemas of the registry: write it as one schema",
			event.ErrUnfitSchema, len(s.References))
	case s.Schema == "":
		return fmt.Errorf("%w: %s responded without a schema, so it is not a registry: check the whole address, with "+
			"the path before /schemas", ErrUnreachable, c.cfg.URL)
	}
	return nil
}

// A Client is the schema source of event decoders.
var _ event.SchemaSource = (*Client)(nil)
