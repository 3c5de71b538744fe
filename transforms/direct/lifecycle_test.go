package direct_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"

	"github.com/tollgate-dp/tollgate/transforms/direct"
)

var errPlanned = errors.New("planned")

// plannedError has a type that must be found again.
type plannedError struct{ at string }

func (e *plannedError) Error() string { return "planned at " + e.at }
func (e *plannedError) Unwrap() error { return errPlanned }

// counted notes the calls of a life cycle, before what h does.
func counted(n *notes, name string, h *hooks) *hooks {
	c := *h
	note := func(method string, f func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			n.add("%s %s", name, method)
			if f == nil {
				return nil
			}
			return f(ctx)
		}
	}
	bundle := func(method string, f func(context.Context, emitter) error) func(context.Context, emitter) error {
		return func(ctx context.Context, emit emitter) error {
			n.add("%s %s", name, method)
			if f == nil {
				return nil
			}
			return f(ctx, emit)
		}
	}
	c.setup, c.teardown = note("setup", h.setup), note("teardown", h.teardown)
	c.start, c.finish = bundle("start", h.start), bundle("finish", h.finish)
	return &c
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

// chained is a pipeline of a source, a ParDo after it, and a stage of two: "source", "after",
// "stage" and "last". It makes three steps of two keys each.
func chained(b *builder, n *notes, change map[string]func(*hooks)) {
	all := map[string]*hooks{"after": passing(), "stage": passing(), "last": passing(), "source": {step: func(_ context.Context, i int, emit emitter) (move, error) {
		emit(at(int64(i)), "a", i)
		emit(at(int64(i)), "b", i)
		return move{watermark: int64(i) + 1, done: i == 2}, nil
	}}}
	for name, f := range change {
		f(all[name])
	}
	after := b.pair(counted(n, "after", all["after"]), b.source(counted(n, "source", all["source"])))
	b.pair(counted(n, "last", all["last"]), b.group(counted(n, "stage", all["stage"]), b.fixed(1, after)))
}

func TestEveryInstanceLivesOneLife(t *testing.T) {
	b, n := newBuilder(t), &notes{}
	chained(b, n, nil)
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, bundles := range map[string]int{"source": 3, "after": 3, "stage": 6, "last": 6} {
		instances := n.count(name + " setup")
		if instances == 0 || instances > direct.Parallelism || n.count(name+" teardown") != instances {
			t.Errorf("%s: %d setups, %d teardowns", name, instances, n.count(name+" teardown"))
		}
		if started, finished := n.count(name+" start"), n.count(name+" finish"); started != bundles || finished != bundles {
			t.Errorf("%s: %d bundles began and %d ended, want %d", name, started, finished, bundles)
		}
	}
	if first := n.all[:2]; !slices.Equal(first, []string{"after setup", "source setup"}) {
		t.Errorf("the run begins with %v", first)
	}
}

// planned are ways to fail.
var planned = map[string]func(at string) error{
	"error": func(at string) error { return &plannedError{at} },
	"panic": func(at string) error { panic(&plannedError{at}) },
}

// TestAFailureAnywhereEndsTheRunWithItsType, and all that were set up are torn down once, without
// their bundles being ended.
func TestAFailureAnywhereEndsTheRunWithItsType(t *testing.T) {
	methods := map[string]func(*hooks, func() error){
		"setup":    func(h *hooks, f func() error) { h.setup = func(context.Context) error { return f() } },
		"teardown": func(h *hooks, f func() error) { h.teardown = func(context.Context) error { return f() } },
		"start":    func(h *hooks, f func() error) { h.start = func(context.Context, emitter) error { return f() } },
		"finish":   func(h *hooks, f func() error) { h.finish = func(context.Context, emitter) error { return f() } },
		"element": func(h *hooks, f func() error) {
			h.element = func(context.Context, beam.EventTime, string, []int, emitter) error { return f() }
			h.step = func(context.Context, int, emitter) (move, error) { return move{}, f() }
		},
	}
	for _, name := range []string{"source", "after", "stage", "last"} {
		for method, put := range methods {
			for way, fail := range planned {
				where := name + " " + method
				t.Run(where+", "+way, func(t *testing.T) {
					b, n := newBuilder(t), &notes{}
					chained(b, n, map[string]func(*hooks){name: func(h *hooks) { put(h, func() error { return fail(where) }) }})
					err := b.run(t.Context())
					var typed *plannedError
					if !errors.As(err, &typed) || typed.at != where {
						t.Fatalf("the run ended with %v", err)
					}
					if text := err.Error(); !strings.Contains(text, "Fn") || strings.Contains(text, "panic: ") != (way == "panic") {
						t.Errorf("it does not say where: %s", text)
					}
					for _, each := range []string{"source", "after", "stage", "last"} {
						if up, down := n.count(each+" setup"), n.count(each+" teardown"); up != down {
							t.Errorf("%s: %d setups, %d teardowns", each, up, down)
						}
					}
					if method != "finish" && method != "teardown" && n.count(name+" finish") == n.count(name+" start") && n.count(name+" start") > 0 {
						t.Error("the bundle that failed was ended")
					}
				})
			}
		}
	}
}

// The error of a panic reaches the operator's terminal: it names the calls that led there, without
// what they were given, which may be an account id or a count.
func TestTheErrorOfAPanicHoldsNoArguments(t *testing.T) {
	b, n := newBuilder(t), &notes{}
	chained(b, n, map[string]func(*hooks){"stage": func(h *hooks) {
		h.element = func(context.Context, beam.EventTime, string, []int, emitter) error {
			return panicsOn([16]byte{0xde, 0xad, 0xbe, 0xef}, 48879)
		}
	}})
	err := b.run(t.Context())
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

// An element that fails ends the method that emitted it, whatever that makes of it: its error, its
// panic and its success come after.
func TestTheFirstErrorIsTheOneThatIsReturned(t *testing.T) {
	for way, then := range map[string]func() error{
		"success": func() error { return nil },
		"error":   func() error { return errors.New("another one") },
		"panic":   func() error { panic("another one") },
	} {
		t.Run(way, func(t *testing.T) {
			b, n := newBuilder(t), &notes{}
			chained(b, n, map[string]func(*hooks){
				"after": func(h *hooks) {
					h.element = func(_ context.Context, at beam.EventTime, key string, values []int, emit emitter) error {
						emit(at, key, values[0])
						return nil
					}
				},
				"stage": func(h *hooks) {
					h.element = func(_ context.Context, at beam.EventTime, key string, values []int, emit emitter) error {
						emit(at, key, values[0])
						emit(at, key, values[0])
						return then()
					}
				},
				"last": func(h *hooks) {
					h.element = func(context.Context, beam.EventTime, string, []int, emitter) error {
						n.add("an element of last")
						return &plannedError{"last"}
					}
				},
			})
			var typed *plannedError
			if err := b.run(t.Context()); !errors.As(err, &typed) || strings.Contains(err.Error(), "another one") {
				t.Errorf("the run ended with %v", err)
			}
			if seen := n.count("an element of last"); seen > 2 { // one for each of two instances
				t.Errorf("%d elements came after one that failed", seen-2)
			}
		})
	}
}

// A DoFn that emits when a bundle begins or ends finds the next one begun and not yet ended; its
// elements are of the global window, whatever their time, until windows are assigned.
func TestBundlesEmitWhenTheyBeginAndEnd(t *testing.T) {
	for _, test := range []struct{ name, windows string }{{"into windows", "fixed"}, {"into the global window", "global"}} {
		t.Run(test.name, func(t *testing.T) {
			b, n := newBuilder(t), &notes{}
			atEnds := passing()
			atEnds.start = func(_ context.Context, emit emitter) error { emit(at(3), "start", 1); return nil }
			atEnds.finish = func(_ context.Context, emit emitter) error { emit(at(3), "finish", 1); return nil }
			open := false
			strict := iterate(func(at beam.EventTime, key string, values []int, emit emitter) error {
				if !open {
					t.Errorf("%s: an element came outside of a bundle", key)
				}
				emit(at, key, values[0])
				return nil
			})
			strict.start = func(context.Context, emitter) error { open = true; return nil }
			strict.finish = func(context.Context, emitter) error { open = false; return nil }
			out := b.pair(strict, b.pair(atEnds, b.steps(func(emit emitter) int64 { emit(at(3), "element", 1); return 5 })))
			if test.windows == "fixed" {
				out = b.fixed(1, out)
			} else {
				out = beam.GroupByKey(b.Scope, beam.WindowInto(b.Scope, window.NewGlobalWindows(), out))
			}
			b.group(noting(n, test.windows), out)
			if err := b.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(n.all) != 3 {
				t.Errorf("%v", n.all)
			}
		})
	}
}

// What a stage in fixed windows emits at the end of its bundle is in none of them: Beam's
// harness fails to encode it.
func TestWhatABundlesEndEmitsHasToBeAssignedAWindow(t *testing.T) {
	b, n := newBuilder(t), &notes{}
	h := passing()
	h.finish = func(_ context.Context, emit emitter) error { emit(at(3), "finish", 1); return nil }
	first := b.group(h, b.fixed(1, b.steps(func(emit emitter) int64 { emit(at(3), "a", 1); return 5 })))
	b.group(noting(n, "second"), beam.GroupByKey(b.Scope, first))
	if err := b.run(t.Context()); !errors.Is(err, direct.ErrUnsupported) || len(n.all) > 0 {
		t.Errorf("the run ended with %v after %v", err, n.all)
	}
}

func TestAnEmitterThatIsKeptIsAnError(t *testing.T) {
	b, n := newBuilder(t), &notes{}
	var kept emitter
	chained(b, n, map[string]func(*hooks){"after": func(h *hooks) {
		h.element = func(_ context.Context, _ beam.EventTime, _ string, _ []int, emit emitter) error {
			kept = emit
			return nil
		}
	}, "source": func(h *hooks) {
		step := h.step
		h.step = func(ctx context.Context, i int, emit emitter) (move, error) {
			m, err := step(ctx, i, emit)
			kept(at(0), "late", 1)
			return m, err
		}
	}})
	if err := b.run(t.Context()); err == nil || !strings.Contains(err.Error(), "pairFn") || !strings.Contains(err.Error(), "emitted after its method returned") {
		t.Errorf("the run ended with %v", err)
	}
}

// A DoFn that ends its goroutine, as a test's Fatal does, has not come to an end.
func TestAGoroutineThatIsEndedIsAnError(t *testing.T) {
	for _, name := range []string{"source", "after", "stage", "last"} {
		t.Run(name, func(t *testing.T) {
			b, n := newBuilder(t), &notes{}
			chained(b, n, map[string]func(*hooks){name: func(h *hooks) {
				h.finish = func(context.Context, emitter) error { runtime.Goexit(); return nil }
			}})
			if err := b.run(t.Context()); err == nil || !strings.Contains(err.Error(), "ended the goroutine") {
				t.Errorf("the run ended with %v", err)
			}
		})
	}
}

// What DoFns count goes nowhere, and does no harm.
func TestMetricsAreDropped(t *testing.T) {
	b, n := newBuilder(t), &notes{}
	counter, sizes, gauge := beam.NewCounter("test", "n"), beam.NewDistribution("test", "sizes"), beam.NewGauge("test", "now")
	chained(b, n, map[string]func(*hooks){"stage": func(h *hooks) {
		h.element = func(ctx context.Context, _ beam.EventTime, _ string, values []int, _ emitter) error {
			counter.Inc(ctx, 1)
			sizes.Update(ctx, int64(len(values)))
			gauge.Set(ctx, 1)
			return nil
		}
	}})
	result, err := direct.Execute(t.Context(), b.Pipeline)
	if err != nil || len(result.Metrics().AllMetrics().Counters()) > 0 || result.JobID() == "" {
		t.Errorf("%v, %+v", err, result)
	}
}

// TestCancellationEndsARunWhereverItWaits, with the cause.
func TestCancellationEndsARunWhereverItWaits(t *testing.T) {
	waiting := func(begun chan<- struct{}) func(context.Context) error {
		return func(ctx context.Context) error {
			select {
			case begun <- struct{}{}:
			default:
			}
			<-ctx.Done()
			return fmt.Errorf("waiting: %w", ctx.Err())
		}
	}
	for name, wait := range map[string]func(all map[string]func(*hooks), f func(context.Context) error){
		"the source in its long poll": func(all map[string]func(*hooks), f func(context.Context) error) {
			all["source"] = func(h *hooks) {
				h.step = func(ctx context.Context, _ int, _ emitter) (move, error) { return move{}, f(ctx) }
			}
		},
		"the source between two steps": func(all map[string]func(*hooks), f func(context.Context) error) {
			all["source"] = func(h *hooks) {
				h.step = func(context.Context, int, emitter) (move, error) { return move{delay: 1 << 50}, nil }
				h.finish = func(ctx context.Context, _ emitter) error { go f(ctx); return nil } //nolint:errcheck // only says that it has come here
			}
		},
		"a stage, and the source for it": func(all map[string]func(*hooks), f func(context.Context) error) {
			all["stage"] = func(h *hooks) {
				h.element = func(ctx context.Context, _ beam.EventTime, _ string, _ []int, _ emitter) error { return f(ctx) }
			}
		},
		"the end of a bundle": func(all map[string]func(*hooks), f func(context.Context) error) {
			all["last"] = func(h *hooks) { h.finish = func(ctx context.Context, _ emitter) error { return f(ctx) } }
		},
		"a setup": func(all map[string]func(*hooks), f func(context.Context) error) {
			all["last"] = func(h *hooks) { h.setup = f }
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			b, n, begun := newBuilder(t), &notes{}, make(chan struct{}, 1)
			change := map[string]func(*hooks){}
			wait(change, waiting(begun))
			chained(b, n, change)
			go func() {
				<-begun
				cancel(&plannedError{"cancellation"})
			}()
			var typed *plannedError
			if err := b.run(ctx); !errors.As(err, &typed) {
				t.Errorf("the run ended with %v", err)
			}
			for _, each := range []string{"source", "after", "stage", "last"} {
				if up, down := n.count(each+" setup"), n.count(each+" teardown"); up != down {
					t.Errorf("%s: %d setups, %d teardowns", each, up, down)
				}
			}
		})
	}
}

// A Teardown may still wait for something: its context is not that of the run.
func TestTeardownAfterACancellation(t *testing.T) {
	b, n := newBuilder(t), &notes{}
	chained(b, n, map[string]func(*hooks){"stage": func(h *hooks) {
		h.teardown = func(ctx context.Context) error { n.add("ended: %v", ctx.Err()); return nil }
	}, "last": func(h *hooks) {
		h.element = func(context.Context, beam.EventTime, string, []int, emitter) error { return errPlanned }
	}})
	if err := b.run(t.Context()); !errors.Is(err, errPlanned) || n.count("ended: <nil>") == 0 {
		t.Errorf("%v; %v", err, n.all)
	}
}
