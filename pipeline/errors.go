package pipeline

import "errors"

var (
	// ErrNotInitialised: control holds no HEADER; run Init first.
	ErrNotInitialised = errors.New("the deployment is not initialised")
	// ErrInitialised: control holds a HEADER already, which never changes.
	ErrInitialised = errors.New("the deployment is initialised already")
	// ErrHeaderMismatch: the configuration and the HEADER disagree on
	// something that must never change.
	ErrHeaderMismatch = errors.New("the configuration does not match the deployment")
	// ErrStopped: control holds a STOP that nobody has recovered from.
	ErrStopped = errors.New("the deployment has stopped itself")
	// ErrConflict: a value that was published differs from what the log gives
	// now.
	ErrConflict = errors.New("published values and the log differ")
	// ErrLogFault: a topic lost, changed or never had something that the
	// promises rest on.
	ErrLogFault = errors.New("a topic cannot be trusted")

	// errSuperseded: another run's EPOCH stands behind this run's.
	errSuperseded = errors.New("another run has taken over")
)
