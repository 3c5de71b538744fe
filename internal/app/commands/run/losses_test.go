package run

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// The losses of this run decide, not the losses of earlier runs; a run prints no number.
func TestARunAnswersForItsOwnLosses(t *testing.T) {
	t.Parallel()
	late := func(late, accepted uint64) pipeline.Tallies {
		return pipeline.Tallies{Read: late + accepted, Late: late, Accepted: accepted}
	}
	for name, c := range map[string]struct {
		before, now pipeline.Tallies
		unknown     bool
		loud, part  bool
	}{
		"this run":              {before: late(0, 1000), now: late(60, 1050), loud: true},
		"an earlier run":        {before: late(1000, 0), now: late(1010, 50), part: true},
		"fewer than ten":        {now: late(9, 50)},
		"nothing was read":      {before: late(1000, 0), now: late(1000, 0)},
		"no tallies to go by":   {now: late(1000, 0), unknown: true},
		"the first of its kind": {now: late(51, 49), loud: true},
	} {
		var out bytes.Buffer
		progress := terminal.NewProgress(&out, time.Now)
		l := losses{wanted: !c.unknown, before: c.before}
		err := l.end(&runFlags{}, c.now, progress)
		if c.loud && !strings.Contains(out.String(), "most are late") {
			t.Errorf("%s: the reason is missing: %q", name, &out)
		}
		if err != nil || strings.Contains(out.String(), "warning: more than half") != c.loud ||
			strings.ContainsAny(out.String(), "0123456789") {
			t.Errorf("%s: %v, %q", name, err, &out)
		}
		if part := strings.Contains(out.String(), "at least one in a hundred"); part != c.part {
			t.Errorf("%s: some are lost: %v", name, part)
		}
		if code := command.ExitCode(l.end(&runFlags{strict: true}, c.now, progress)); (code == command.ExitLosses) !=
			c.loud || !c.loud && code != command.ExitOK {
			t.Errorf("%s: exit %d with --strict", name, code)
		}
	}
	l, away := losses{wanted: true, failed: errors.New("no broker answers")}, bytes.Buffer{}
	if err := l.end(&runFlags{}, late(51, 49), terminal.NewProgress(&away, time.Now)); err != nil ||
		!strings.Contains(away.String(), "lost before counting: no broker answers") {
		t.Errorf("without the tallies of the start: %v, %s", err, &away)
	}
	err := l.end(&runFlags{strict: true}, late(0, 100), terminal.NewProgress(&away, time.Now))
	if !errors.Is(err, l.failed) {
		t.Errorf("with --strict and without the tallies of the start: %v", err)
	}
}

// A strict run stops once more than 2% of the values cannot be read, and a run with an end says so
// by its tallies.
func TestAStrictRunStopsOnValuesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	bad := func(bad, accepted uint64) pipeline.Tallies {
		return pipeline.Tallies{Read: bad + accepted + 9, DeadLettered: map[string]uint64{"bad_value": bad,
			"null_field": 9}, Accepted: accepted}
	}
	for _, strict := range []bool{false, true} {
		progress := terminal.NewProgress(new(bytes.Buffer), time.Now)
		l := losses{wanted: true, before: bad(50, 10), strict: strict, badValues: make(chan struct{})}
		if err := l.end(&runFlags{strict: strict}, bad(70, 990), progress); err != nil {
			t.Errorf("2%%: %v", err)
		}
		if err := l.end(&runFlags{strict: strict}, bad(71, 989), progress); (command.ExitCode(err) ==
			command.ExitLosses) != strict || !strict && err != nil {
			t.Errorf("more than 2%%: %v", err)
		}
		l.observe(pipeline.RunState{})
		early := fired(l.badValues)
		for range 2 {
			l.observe(pipeline.RunState{BadValues: true})
		}
		if early || fired(l.badValues) != strict {
			t.Errorf("strict %v: it stops: %v", strict, fired(l.badValues))
		}
	}
}
