package main

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// A contestant is a program that counts the events of a load by window and key.
type contestant struct {
	name, what string
	plain      bool // the counts are exact
	oneWindow  bool // all events are counted in one window
	prepare    func(ctx context.Context, t task) (entrant, error)
}

// An entrant is a contestant that is ready to run.
type entrant interface {
	run(ctx context.Context) error // measured
	counts(ctx context.Context) ([]count, error)
	close()
}

// A count is the result for a window, numbered from 0, and a key.
type count struct {
	window    int
	key       string
	value     float64
	deviation float64 // standard deviation of the noise; 0 for a plain count
}

// product is Tollgate's name among the contestants.
const product = "tollgate"

func contestants() []contestant {
	return []contestant{
		{name: "pob-direct", oneWindow: true,
			what:    "Privacy on Beam, Beam's direct runner; records in memory, one window",
			prepare: onBeam(buildPrivate, runDirect)},
		{name: "pob-prism", oneWindow: true, what: "Privacy on Beam, Beam's prism; records in memory, one window",
			prepare: onBeam(buildPrivate, runPrism)},
		{name: "beam-count", plain: true, what: "Beam's count by window and key, prism; records in memory; no privacy",
			prepare: onBeam(buildCount, runPrism)},
		{name: "loop", plain: true,
			what: "a Go loop over the Kafka records, a goroutine for each partition; no privacy", prepare: prepareLoop},
		{name: product, what: "Tollgate: Kafka to Kafka, with ledger and budgets", prepare: prepareProduct},
	}
}

func contestantNames() (names []string) {
	for _, c := range contestants() {
		names = append(names, c.name)
	}
	return names
}

func contestantOf(name string) (contestant, error) {
	for _, c := range contestants() {
		if c.name == name {
			return c, nil
		}
	}
	return contestant{}, fmt.Errorf("there is no contestant %q", name)
}

// The bounds per user and window, and the budget, of all private contestants.
const (
	maxKeysPerUser  = 2
	maxEventsPerKey = 3
	epsilon, delta  = 1, 1e-6
)

// deviations is how many standard deviations the noise may have in verify. The probability that one
// of 10^6 counts exceeds this is below 10^-8.
const deviations = 8

// verify compares the counts with the truth. Private counts lose events to clipping and budgets, so
// they have a lower limit only if no user has more than one event.
func (c contestant) verify(t task, counts []count) error {
	truth := t.Load.Truth()
	if c.oneWindow {
		for _, window := range truth[1:] {
			for key, n := range window {
				truth[0][key] += n
			}
		}
		truth = truth[:1]
	}
	unclipped := t.Load.Users >= t.Load.Events && !t.Private
	for _, got := range counts {
		if got.window < 0 || got.window >= len(truth) {
			return fmt.Errorf("a count of window %d, but there are %d", got.window, len(truth))
		}
		n, isKey := truth[got.window][got.key]
		if !isKey {
			return fmt.Errorf("window %d: %s is not a key, or has two counts", got.window, got.key)
		}
		delete(truth[got.window], got.key)
		excess, allowed := got.value-float64(n), deviations*got.deviation
		switch {
		case c.plain && excess != 0, excess > allowed, unclipped && -excess > allowed:
			return fmt.Errorf("window %d, %s: %v, want %d with a deviation of %.3g", got.window, got.key, got.value, n,
				got.deviation)
		case !c.plain && (got.deviation <= 0 || math.IsNaN(got.value)):
			return errors.New("a private count without noise")
		}
	}
	for w, missing := range truth {
		for key, n := range missing {
			// A public key without events is released; exact counts do not contain it.
			if !t.Private && !(c.plain && n == 0) {
				return fmt.Errorf("window %d, %s: no count, but %d events", w, key, n)
			}
		}
	}
	return nil
}
