package flink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// Options control where and how a pipeline is submitted.
type Options struct {
	URL         secret.URL        // JobManager's REST interface
	Parallelism int               // parallelism of the job, 1 or more; it needs as many slots
	Command     string            // absolute path of the program that calls Worker on the TaskManagers' machines
	Env         map[string]string // added to the program's environment; no secrets, because Flink shows them
	Logger      *slog.Logger      // nil: discarded
	// Away is how long the JobManager may be unreachable while the job runs; default 60 s.
	Away time.Duration
	// Started, if not nil, is called after every submission with the id of the job and the address
	// of the job's page. The address contains no password.
	Started func(job, page string)
}

const (
	// pollEvery is the interval between polls of a job that is starting or ending. After the job
	// has run for startPhase, the interval is calmEvery.
	pollEvery  = 250 * time.Millisecond
	calmEvery  = 2 * time.Second
	startPhase = 10 * time.Second
	// cancelLimit is how long the cancellation of a job may take.
	cancelLimit = 30 * time.Second
)

// JobError reports a job that failed, or that somebody else cancelled.
type JobError struct {
	Job   string
	State string // FAILED, CANCELED or SUSPENDED
	Cause string // cause of the job's last failure
}

func (e *JobError) Error() string {
	if e.Cause == "" {
		return fmt.Sprintf("Flink job %s is %s", e.Job, e.State)
	}
	return fmt.Sprintf("Flink job %s is %s: %s", e.Job, e.State, e.Cause)
}

// responseLimit is how long Check waits for a response from the JobManager.
const responseLimit = 10 * time.Second

// Check returns an error unless a JobManager responds and its cluster has enough slots. Slots of
// running jobs count, because a new job replaces them; but a job that cannot start must not replace
// a running job. Errors: ErrAddress, ErrUnreachable, ErrNotFlink, ErrSlots.
func Check(ctx context.Context, o Options) error {
	c, err := newClient(o.URL)
	if err != nil {
		return err
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	err = waitForSlots(ctx, o.Logger, func() error {
		limited, cancel := context.WithTimeout(ctx, responseLimit)
		defer cancel()
		status, err := c.cluster(limited)
		switch {
		case err != nil && limited.Err() != nil && ctx.Err() == nil:
			return fmt.Errorf("%w within %v", ErrUnreachable, responseLimit)
		case err == nil && status.Slots < o.Parallelism:
			return fmt.Errorf("%w: parallelism %d needs as many slots, but the cluster has %d: add a TaskManager, or "+
				"lower the parallelism", ErrSlots, o.Parallelism, status.Slots)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("checking the cluster at %s: %w", o.URL, err)
	}
	return nil
}

// Engine returns an engine for pipeline.Workers. The engine submits a pipeline and returns when its
// job has ended. If the JobManager has lost the job, the engine submits it again. Errors: the
// errors of Check, ErrClasses, *JobError, the error of job.Failing, or the cause of ctx.
func Engine(o Options) func(ctx context.Context, p *beam.Pipeline, job pipeline.Job) error {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Away = cmp.Or(o.Away, time.Minute)
	return func(ctx context.Context, p *beam.Pipeline, job pipeline.Job) error {
		c, err := newClient(o.URL)
		if err != nil {
			return err
		}
		jar, err := jarOf(ctx, p, &o, job.Name)
		if err != nil {
			return fmt.Errorf("translating the pipeline: %w", err)
		}
		s := &submission{client: c, o: &o, jar: jar, name: job.Name, failing: job.Failing}
		for {
			err := s.attempt(ctx)
			if !errors.Is(err, ErrJobLost) {
				return err
			}
			o.Logger.Warn("the JobManager restarted without the job: submitting it again", "job", s.job)
		}
	}
}

// submission is a pipeline and its current job.
type submission struct {
	*client
	o       *Options
	jar     []byte
	name    string // job name
	failing func(cause string) error

	job          string
	reported     map[failure]bool
	lastCause    string    // the cause of the last failure
	lastResponse time.Time // when the JobManager last responded
}

// attempt submits the pipeline and follows its job to the end.
func (s *submission) attempt(ctx context.Context) error {
	s.reported, s.lastCause, s.lastResponse = map[failure]bool{}, "", time.Now()
	err := s.retryUnreachable(ctx, func() error { return s.endOlderJobs(ctx) })
	if err == nil && s.job == "" { // after a JobManager's restart there are no slots yet, and the job would wait
		err = waitForSlots(ctx, s.o.Logger, func() error { return s.checkFreeSlots(ctx) })
	}
	if err == nil {
		retry := false
		err = s.retryUnreachable(ctx, func() error {
			if retry { // the job may have started although the response was lost
				if err := s.endOlderJobs(ctx); err != nil {
					return err
				}
			}
			retry = true
			return s.submit(ctx)
		})
	}
	if err != nil {
		return fmt.Errorf("submitting the job: %w", err)
	}
	if s.o.Started != nil {
		s.o.Started(s.job, s.url.String()+"/#/job/running/"+s.job)
	}
	err = s.follow(ctx)
	if _, ended := errors.AsType[*JobError](err); err == nil || ended || errors.Is(err, ErrJobLost) {
		return err
	}
	if cerr := s.end(context.WithoutCancel(ctx), s.job); cerr != nil {
		return fmt.Errorf("%w (job %s may still run, because cancelling it failed: %w)", err, s.job, cerr)
	}
	return err
}

// retryUnreachable calls fn until its error is not ErrUnreachable, or until the JobManager has been
// unreachable for Options.Away.
func (s *submission) retryUnreachable(ctx context.Context, fn func() error) error {
	for {
		err := fn()
		if !errors.Is(err, ErrUnreachable) {
			s.lastResponse = time.Now()
			return err
		}
		if time.Since(s.lastResponse) > s.o.Away {
			return err
		}
		if perr := pause(ctx, pollEvery); perr != nil {
			return perr
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// slotsLimit is how long to wait for slots. After a restart of the JobManager, TaskManagers
// register again only when they have missed a heartbeat. The slots of an ended job are released
// with a delay. The wait is logged after slotsWarning.
const (
	slotsLimit   = 30 * time.Second
	slotsWarning = 2 * time.Second
)

// waitForSlots calls probe until its error is not ErrSlots, for at most slotsLimit.
func waitForSlots(ctx context.Context, logger *slog.Logger, probe func() error) error {
	logged := false
	for began := time.Now(); ; {
		err := probe()
		if err == nil || !errors.Is(err, ErrSlots) || time.Since(began) > slotsLimit {
			return err
		}
		if !logged && time.Since(began) > slotsWarning {
			logged = true
			logger.Warn(fmt.Sprintf("%v; waiting for slots for up to %v", err, slotsLimit))
		}
		if perr := pause(ctx, pollEvery); perr != nil {
			return perr
		}
	}
}

func (s *submission) checkFreeSlots(ctx context.Context) error {
	status, err := s.cluster(ctx)
	if err == nil && status.Free < s.o.Parallelism {
		err = fmt.Errorf("%w: parallelism %d needs as many slots, but only %d of %d are free: cancel another job, add "+
			"a TaskManager, or lower the parallelism", ErrSlots, s.o.Parallelism, status.Free, status.Slots)
	}
	return err
}

// endOlderJobs ends older jobs with the same name, because their runs are superseded.
func (s *submission) endOlderJobs(ctx context.Context) error {
	jobs, err := s.jobs(ctx)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if j.Name != s.name || isTerminal(j.State) {
			continue
		}
		s.o.Logger.Warn("cancelling an older job of the deployment, which this run supersedes", "job", j.ID)
		if err := s.end(ctx, j.ID); err != nil {
			return fmt.Errorf("cancelling the older job %s: %w", j.ID, err)
		}
	}
	return nil
}

func isTerminal(state string) bool {
	return state == "FINISHED" || state == "FAILED" || state == "CANCELED" || state == "SUSPENDED"
}

func (s *submission) submit(ctx context.Context) error {
	jar, err := s.upload(ctx, s.jar)
	if err != nil {
		return err
	}
	// An interrupted request would still start the job, but its id would be unknown.
	s.job, err = s.run(context.WithoutCancel(ctx), jar, s.o.Parallelism)
	if rerr := s.remove(context.WithoutCancel(ctx), jar); rerr != nil {
		s.o.Logger.Warn("deleting the uploaded jar from the JobManager failed", "error", rerr)
	}
	return err
}

// follow watches the job until the job has ended.
func (s *submission) follow(ctx context.Context) error {
	for began := time.Now(); ; {
		var state string
		err := s.retryUnreachable(ctx, func() (err error) {
			state, err = s.state(ctx, s.job)
			return err
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("watching job %s: %w", s.job, err)
		}
		ended := isTerminal(state)
		if err := s.reportFailures(ctx); err != nil {
			return err
		}
		interval := calmEvery
		switch {
		case state == "FINISHED":
			return nil
		case ended:
			return &JobError{s.job, state, s.lastCause}
		case state != "RUNNING" || time.Since(began) < startPhase:
			interval = pollEvery
		}
		if err := pause(ctx, interval); err != nil {
			return err
		}
	}
}

// reportFailures passes new failures to the run. If the job must end, it returns the run's error.
func (s *submission) reportFailures(ctx context.Context) error {
	all, err := s.failures(ctx, s.job)
	if err != nil {
		return nil //nolint:nilerr // the next poll of the state reports the cause
	}
	for _, f := range all {
		if s.reported[f] {
			continue
		}
		s.reported[f] = true
		s.lastCause = f.cause()
		if err := s.failing(s.lastCause); err != nil {
			return err
		}
	}
	return nil
}

// end cancels a job and waits until it has ended.
func (s *submission) end(ctx context.Context, job string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, cancelLimit, fmt.Errorf("it did not end within %v", cancelLimit))
	defer cancel()
	for cancelled := false; ; {
		var err error
		if !cancelled {
			err = s.cancel(ctx, job)
			cancelled = err == nil
		}
		state, serr := s.state(ctx, job)
		switch {
		case errors.Is(serr, ErrJobLost), isTerminal(state):
			return nil
		}
		if perr := pause(ctx, pollEvery); perr != nil {
			return errors.Join(perr, err, serr)
		}
	}
}
