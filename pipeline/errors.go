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
	// ErrInterruptedTurn: a deployment cannot be changed while a turn is under
	// way: drain it first.
	ErrInterruptedTurn = errors.New("a turn is under way")
	// ErrLogFault: a topic lost, changed or never had something that the
	// promises rest on.
	ErrLogFault = errors.New("a topic cannot be trusted")
	// ErrPromiseWeakened: a change of an earlier version has raised a part of the
	// budget, and the generations together do not keep what was promised.
	ErrPromiseWeakened = errors.New("the promise was weakened by an earlier change")
	// ErrTopicSettings: a topic is missing, or is set up so that it could lose
	// what the promises rest on. Every *TopicError is one.
	ErrTopicSettings = errors.New("a topic is not set up as it must be")

	// errSuperseded: another run's EPOCH stands behind this run's.
	errSuperseded = errors.New("another run has taken over")
)
