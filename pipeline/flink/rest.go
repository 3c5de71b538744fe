package flink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/secret"
)

var (
	// ErrAddress is returned if Options.URL cannot be called.
	ErrAddress = errors.New("this is not the address of a JobManager's REST interface, such as http://localhost:8081")
	// ErrUnreachable is returned if no JobManager responds in time.
	ErrUnreachable = errors.New("the JobManager does not answer")
	// ErrNotFlink is returned if the server at the address is not a JobManager.
	ErrNotFlink = errors.New("the address is not that of a Flink JobManager's REST interface")
	// ErrSlots is returned if the cluster has fewer slots, or fewer free slots, than the job needs.
	ErrSlots = errors.New("too few slots")
	// ErrJobLost is returned if a JobManager no longer knows the job.
	ErrJobLost = errors.New("the JobManager has lost the job")
	// ErrClasses is returned if the cluster lacks classes of Beam, or this program's own.
	ErrClasses = errors.New("the cluster's class path lacks the classes of deploy/flink: start the cluster with " +
		"deploy/flink/cluster, or copy the jars that its command export writes into lib/")
)

// refusal is a response of Flink that reports an error.
type refusal struct {
	status int
	texts  []string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("Flink answered with status %d: %s", r.status, strings.Join(r.texts, "; "))
}

// client calls a JobManager.
type client struct {
	url  secret.URL
	http http.Client
}

// maxResponse is the maximum size of a response, in bytes. The longest contain exceptions.
const maxResponse = 8 << 20

func newClient(address secret.URL) (*client, error) {
	u, err := url.Parse(address.Reveal())
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q: %w", address.String(), ErrAddress)
	}
	return &client{url: secret.NewURL(strings.TrimSuffix(address.Reveal(), "/")),
		http: http.Client{Timeout: 30 * time.Second}}, nil
}

// redacted removes user and password from the address in an error of net/http or net/url.
func redacted(err error) error {
	if urlError, ok := errors.AsType[*url.Error](err); ok {
		urlError.URL = secret.Redact(urlError.URL)
	}
	return err
}

// notHTTP lists fragments of net/http errors which show that the peer does not speak HTTP. The last
// fragment appears if the peer sends data before the request.
var notHTTP = []string{"malformed HTTP", "HTTP response to HTTPS", "readLoopPeekFailLocked: %!w(<nil>)"}

// call sends a request and decodes the response into out, unless out is nil. Errors:
// ErrUnreachable, ErrNotFlink, *refusal, or the error of ctx.
func (c *client) call(ctx context.Context, method, path, contentType string, body io.Reader, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.url.Reveal()+path, body)
	if err != nil {
		return fmt.Errorf("calling %s%s: %w", c.url, path, redacted(err))
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	response, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if slices.ContainsFunc(notHTTP, func(text string) bool { return strings.Contains(err.Error(), text) }) {
			return fmt.Errorf("%s%s: %w", c.url, path, ErrNotFlink)
		}
		return fmt.Errorf("%w: %w", ErrUnreachable, redacted(err))
	}
	defer response.Body.Close() //nolint:errcheck // the body has been read
	data, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if status := response.StatusCode; status/100 != 2 {
		var refused struct{ Errors []string }
		if json.Unmarshal(data, &refused) != nil || len(refused.Errors) == 0 {
			if status >= 500 { // from a proxy, or from a JobManager that is starting
				return fmt.Errorf("%w: status %d", ErrUnreachable, status)
			}
			return fmt.Errorf("%s%s answered with status %d: %w", c.url, path, status, ErrNotFlink)
		}
		if status == http.StatusServiceUnavailable {
			return fmt.Errorf("%w: %s", ErrUnreachable, strings.Join(refused.Errors, "; "))
		}
		return &refusal{status, refused.Errors}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s%s: %w", c.url, path, ErrNotFlink)
	}
	return nil
}

// cluster is the response of /overview.
type cluster struct {
	Version string `json:"flink-version"`
	Slots   int    `json:"slots-total"`
	Free    int    `json:"slots-available"`
}

func (c *client) cluster(ctx context.Context) (o cluster, err error) {
	err = c.call(ctx, http.MethodGet, "/overview", "", nil, &o)
	if err == nil && o.Version == "" {
		err = fmt.Errorf("%s/overview: %w", c.url, ErrNotFlink)
	}
	return o, err
}

// upload sends a jar and returns its id, for run.
func (c *client) upload(ctx context.Context, jar []byte) (string, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="jarfile"; filename="tollgate.jar"`},
		"Content-Type":        {"application/x-java-archive"},
	})
	if err == nil {
		_, err = part.Write(jar)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return "", fmt.Errorf("packing the upload: %w", err)
	}
	var stored struct{ Filename string }
	if err := c.call(ctx, http.MethodPost, "/jars/upload", form.FormDataContentType(), &body, &stored); err != nil {
		return "", err
	}
	return path.Base(stored.Filename), nil
}

// run starts the job of an uploaded jar.
func (c *client) run(ctx context.Context, jar string, parallelism int) (string, error) {
	body, err := json.Marshal(map[string]any{"entryClass": "tollgate.Submission", "parallelism": parallelism,
		"flinkConfiguration": settings})
	if err != nil {
		return "", err
	}
	var started struct{ Jobid string }
	err = c.call(ctx, http.MethodPost, "/jars/"+url.PathEscape(jar)+"/run", "application/json", bytes.NewReader(body),
		&started)
	if _, refused := errors.AsType[*refusal](err); refused &&
		strings.Contains(err.Error(), "ClassNotFoundException: tollgate.Submission") {
		return "", ErrClasses
	}
	return started.Jobid, err
}

func (c *client) remove(ctx context.Context, jar string) error {
	return c.call(ctx, http.MethodDelete, "/jars/"+url.PathEscape(jar), "", nil, nil)
}

// job is an entry in the list of jobs.
type job struct {
	ID    string `json:"jid"`
	Name  string
	State string
}

func (c *client) jobs(ctx context.Context) ([]job, error) {
	var response struct{ Jobs []job }
	err := c.call(ctx, http.MethodGet, "/jobs/overview", "", nil, &response)
	return response.Jobs, err
}

// state returns the state of a job. Errors: ErrJobLost.
func (c *client) state(ctx context.Context, job string) (string, error) {
	var response struct{ State string }
	err := c.call(ctx, http.MethodGet, "/jobs/"+job, "", nil, &response)
	if r, refused := errors.AsType[*refusal](err); refused && r.status == http.StatusNotFound {
		return "", ErrJobLost
	}
	if err == nil && response.State == "" {
		err = fmt.Errorf("%s/jobs/%s: %w", c.url, job, ErrNotFlink)
	}
	return response.State, err
}

// failure describes one failure of a job.
type failure struct {
	Name  string `json:"exceptionName"`
	Stack string `json:"stacktrace"`
	Time  int64  `json:"timestamp"`
}

// failures returns the failures of a job that Flink remembers, oldest first.
func (c *client) failures(ctx context.Context, job string) ([]failure, error) {
	var response struct {
		History struct{ Entries []failure } `json:"exceptionHistory"`
	}
	if err := c.call(ctx, http.MethodGet, "/jobs/"+job+"/exceptions?maxExceptions=50", "", nil, &response); err != nil {
		return nil, err
	}
	slices.SortStableFunc(response.History.Entries, func(a, b failure) int { return int(a.Time - b.Time) })
	return response.History.Entries, nil
}

func (c *client) cancel(ctx context.Context, job string) error {
	return c.call(ctx, http.MethodPatch, "/jobs/"+job+"?mode=cancel", "", nil, nil)
}
