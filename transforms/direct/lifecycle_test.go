package direct_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/transforms/direct"
)

// plannedError has a type that must be found again.
type plannedError struct{ at string }

func (e *plannedError) Error() string { return "planned at " + e.at }

// runTwo runs a stage after a source of two elements: the second has a time of so many seconds, and
// comes after the watermark has reached another.
func runTwo(t *testing.T, seconds, watermark int64, stage *hooks) error {
	t.Helper()
	b := newBuilder(t)
	b.group(stage, b.fixed(1, b.steps(
		func(emit emitter) int64 { emit(at(9), "a", 1); return watermark },
		func(emit emitter) int64 { emit(at(seconds), "a", 2); return watermark },
	)))
	return b.run(t.Context())
}

func TestAFailureAnywhereEndsTheRunWithItsTypeAndATeardown(t *testing.T) {
	for way, fail := range map[string]func(at string) error{
		"error": func(at string) error { return &plannedError{at} },
		"panic": func(at string) error { panic(&plannedError{at}) },
	} {
		for _, method := range []string{"setup", "teardown", "start", "finish", "element"} {
			t.Run(method+", "+way, func(t *testing.T) {
				n := &notes{}
				call := func(m string) error {
					n.add("%s", m)
					if m == method {
						return fail(m)
					}
					return nil
				}
				err := runTwo(t, 9, 9, &hooks{
					setup:    func(context.Context) error { return call("setup") },
					teardown: func(context.Context) error { return call("teardown") },
					start:    func(context.Context, emitter) error { return call("start") },
					finish:   func(context.Context, emitter) error { return call("finish") },
					element:  func(context.Context, beam.EventTime, string, []int, emitter) error { return call("element") },
				})
				var typed *plannedError
				if !errors.As(err, &typed) || typed.at != method || !strings.Contains(err.Error(), "groupFn") {
					t.Errorf("the run ended with %v", err)
				}
				if n.count("setup") != 1 || n.count("teardown") != 1 {
					t.Errorf("%v: not one setup and one teardown", n.all)
				}
			})
		}
	}
}

// The error of a panic reaches the operator's terminal: it names the calls that led there, without
// what they were given, which may be an account id or a count.
func TestTheErrorOfAPanicHoldsNoArguments(t *testing.T) {
	err := runTwo(t, 9, 9, &hooks{element: func(context.Context, beam.EventTime, string, []int, emitter) error {
		return panicsOn([16]byte{0xde, 0xad, 0xbe, 0xef}, 48879)
	}})
	if err == nil {
		t.Fatal("no error")
	}
	text := err.Error()
	for _, secret := range []string{"0xde", "0xad", "0xbeef"} {
		if strings.Contains(text, secret) {
			t.Errorf("it holds %s: %s", secret, text)
		}
	}
	if !strings.Contains(text, "panicsOn") || !strings.Contains(text, "lifecycle_test.go") {
		t.Errorf("it does not say where: %s", text)
	}
}

//go:noinline
func panicsOn(account [16]byte, count int64) error {
	panic(fmt.Sprint("planned ", len(account) > int(count)))
}

func TestWhatComesBehindTheWatermarkIsAnError(t *testing.T) {
	if err := runTwo(t, 4, 12, iterate(func(beam.EventTime, string, []int, emitter) error { return nil })); !errors.Is(err, direct.ErrLate) {
		t.Errorf("the run ended with %v", err)
	}
}

// A cancelled run ends where its source waits, with the cause.
func TestCancellationEndsARun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	b := newBuilder(t)
	b.pair(passing(), b.source(&hooks{step: func(context.Context, int, emitter) (move, error) {
		cancel(cause)
		return move{delay: 1 << 40}, nil
	}}))
	if err := b.run(ctx); !errors.Is(err, cause) {
		t.Errorf("the run ended with %v", err)
	}
}

// passing passes elements on.
func passing() *hooks {
	return iterate(func(at beam.EventTime, key string, values []int, emit emitter) error {
		for _, v := range values {
			emit(at, key, v)
		}
		return nil
	})
}
