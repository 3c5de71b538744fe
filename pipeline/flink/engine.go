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
	Env         map[string]string // additions to the program's environment; no secrets, because Flink shows them
	Logger      *slog.Logger      // nil: discarded
	// Away is how long the JobManager may be unreachable while the job runs; default 60 s.
	Away time.Duration
	// Started, if not nil, is called after every submission, with the job's id and the address of
	// its page, without a password.
	Started func(job, page string)
}

const (
	// pollEvery is the interval between polls of a job that is starting or ending. Once the job has
	// run for startPhase, the interval is calmEvery.
	pollEvery  = 250 * time.Millisecond
	calmEvery  = 2 * time.Second
	startPhase = 10 * time.Second
	// cancelLimit limits the cancellation of a job.
	cancelLimit = 30 * time.Second
)

// JobError reports a job that failed, or that was cancelled from elsewhere.
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

// responseLimit limits how long Check waits for a response from the JobManager.
const responseLimit = 10 * time.Second

// Check returns an error unless a JobManager responds and its cluster has enough slots, including
// those of running jobs: a job that cannot start must not replace a running one. Errors:
// ErrAddress, ErrUnreachable, ErrNotFlink, ErrSlots.
func Check(ctx context.Context, o Options) error {
	c, err := newClient(o.URL)
	if err != nil {
		return err
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	err = waitForSlots(ctx, o.Logger, func() error {
		limited, cancel := context.WithTimeout(ctx, responseLimit)
		defer cancel()
		found, err := c.cluster(limited)
		switch {
		case err != nil && limited.Err() != nil && ctx.Err() == nil:
			return fmt.Errorf("%w within %v", ErrUnreachable, responseLimit)
		case err == nil && found.Slots < o.Parallelism:
			return fmt.Errorf("%w: parallelism %d needs as many slots, but the cluster has %d: add a TaskManager, or "+
				"lower the parallelism", ErrSlots, o.Parallelism, found.Slots)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("checking the cluster at %s: %w", o.URL, err)
	}
	return nil
}

// Engine returns an engine for pipeline.Workers: it submits a pipeline and returns when its job has
// ended. It resubmits a job that its JobManager has lost. Errors: those of Check, ErrClasses,
// *JobError, the error of job.Failing, or the cause of ctx.
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
			err := s.once(ctx)
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

	job      string
	reported map[failure]bool
	last     string    // the cause of the last failure
	heard    time.Time // when the JobManager last responded
}

// once submits the pipeline and follows its job to the end.
func (s *submission) once(ctx context.Context) error {
	s.reported, s.last, s.heard = map[failure]bool{}, "", time.Now()
	err := s.patiently(ctx, func() error { return s.replace(ctx) })
	if err == nil && s.job == "" { // a restarted JobManager does not have slots yet, and the job would wait for them
		err = waitForSlots(ctx, s.o.Logger, func() error { return s.free(ctx) })
	}
	if err == nil {
		retry := false
		err = s.patiently(ctx, func() error {
			if retry { // the job may have started although the response was lost
				if err := s.replace(ctx); err != nil {
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

// patiently retries fn while the JobManager is unreachable, for at most Options.Away.
func (s *submission) patiently(ctx context.Context, fn func() error) error {
	for {
		err := fn()
		if !errors.Is(err, ErrUnreachable) {
			s.heard = time.Now()
			return err
		}
		if time.Since(s.heard) > s.o.Away {
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

// slotsLimit limits the wait for slots: after a restart of the JobManager, TaskManagers register
// again only once they have missed a heartbeat, and the slots of an ended job are released with a
// delay. After slotsWarning, the wait is logged.
const (
	slotsLimit   = 30 * time.Second
	slotsWarning = 2 * time.Second
)

// waitForSlots calls probe until its error is not ErrSlots.
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

func (s *submission) free(ctx context.Context) error {
	found, err := s.cluster(ctx)
	if err == nil && found.Free < s.o.Parallelism {
		err = fmt.Errorf("%w: parallelism %d needs as many slots, but only %d of %d are free: cancel another job, add "+
			"a TaskManager, or lower the parallelism", ErrSlots, s.o.Parallelism, found.Free, found.Slots)
	}
	return err
}

// replace ends older jobs of the same name, whose runs this run supersedes and whose slots it may
// need.
func (s *submission) replace(ctx context.Context) error {
	jobs, err := s.jobs(ctx)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if j.Name != s.name || terminal(j.State) {
			continue
		}
		s.o.Logger.Warn("this run takes over: cancelling an older job of the deployment", "job", j.ID)
		if err := s.end(ctx, j.ID); err != nil {
			return fmt.Errorf("cancelling the older job %s: %w", j.ID, err)
		}
	}
	return nil
}

func terminal(state string) bool {
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

// follow watches the job until it has ended.
func (s *submission) follow(ctx context.Context) error {
	for began := time.Now(); ; {
		var state string
		err := s.patiently(ctx, func() (err error) {
			state, err = s.state(ctx, s.job)
			return err
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("watching job %s: %w", s.job, err)
		}
		ended := terminal(state)
		if err := s.reportFailures(ctx); err != nil {
			return err
		}
		every := calmEvery
		switch {
		case state == "FINISHED":
			return nil
		case ended:
			return &JobError{s.job, state, s.last}
		case state != "RUNNING" || time.Since(began) < startPhase:
			every = pollEvery
		}
		if err := pause(ctx, every); err != nil {
			return err
		}
	}
}

// reportFailures passes new failures to the run. It returns the run's error if the job must end.
func (s *submission) reportFailures(ctx context.Context) error {
	all, err := s.failures(ctx, s.job)
	if err != nil {
		return nil //nolint:nilerr // the next poll of the state finds the cause
	}
	for _, f := range all {
		if s.reported[f] {
			continue
		}
		s.reported[f] = true
		s.last = f.cause()
		if err := s.failing(s.last); err != nil {
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
		case errors.Is(serr, ErrJobLost), terminal(state):
			return nil
		}
		if perr := pause(ctx, pollEvery); perr != nil {
			return errors.Join(perr, err, serr)
		}
	}
}
