package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// finish runs a deployment to its end and checks everything that it has written.
func (c *campaign) finish(s *subject, row *subjectRow) {
	c.t.Helper()
	c.lose(s) // so that the turns without events and the last CLOSE do not depend on earlier runs
	s.feed.finish(c.t)
	tallies := c.toTheEnd(s)
	for _, p := range s.runs {
		c.loggedNothingAlarming(p)
	}
	row.runs = len(s.runs)
	if err := s.check(); err != nil {
		c.complain(nil, "%v", err)
	}
	tr, err := s.readTrusted()
	if err != nil {
		c.t.Fatalf("%s: %v", s.settings.name, err)
	}
	if len(tr.Stops) > 0 {
		c.complain(nil, "control has %d STOPs, the first one because: %s", len(tr.Stops), tr.Stops[0].Reason)
	}
	row.turns = int(tr.Last)
	counts, err := s.readCounts()
	if err != nil {
		c.t.Fatalf("%s: %v", s.settings.name, err)
	}
	row.values = len(counts.values)
	for _, metric := range []struct {
		prefix, part string
		rare         bool // with few events in a window
	}{
		{"amounts", ".p", s.settings.appendTimes}, {"sizes", ".p", false}, {"parts", ".from.", false},
		{"parts", ".below.", false}, {"average", "", false}, {"scatter", "", false},
	} {
		released := slices.ContainsFunc(slices.Collect(maps.Keys(counts.values)), func(key string) bool {
			return strings.HasPrefix(key, metric.prefix) && strings.Contains(key, metric.part)
		})
		if !released && !metric.rare {
			c.complain(nil, "no value of %s…%s was released or compared", metric.prefix, metric.part)
		}
	}
	row.printed = c.comparePrinted(s, counts)
	row.deadLetters = c.compareDeadLetters(s)
	if s.settings.changes == 0 {
		began := time.Now()
		c.sameAs(s, c.calm(s, "calm"), counts, tallies)
		row.undisturbed, row.comparedBytes = time.Since(began), true
	}
}

// toTheEnd runs until all events are settled and returns the tallies.
func (c *campaign) toTheEnd(s *subject) pipeline.Tallies {
	c.t.Helper()
	report := filepath.Join(s.dir, s.settings.name+".tallies.json")
	p := launch(c.t, s.named("run"), c.binary, s.dir,
		slices.Concat([]string{"run", "--log-format", "text", "--config", s.file, "--format", "json", "--until-end",
			"--wait", "4m", "--trusted-report", report}, s.args)...)
	s.runs = append(s.runs, p)
	if !p.ends(5*time.Minute) || p.code() != 0 {
		if p.alive() {
			p.stacks()
		}
		c.t.Fatalf("%s: the last run should have settled everything: %v", s.settings.name, p)
	}
	var tallies pipeline.Tallies
	must.Succeed(c.t, json.Unmarshal(must.Have(os.ReadFile(report)), &tallies))
	return tallies
}

func (c *campaign) loggedNothingAlarming(p *proc) {
	c.t.Helper()
	for _, words := range alarming {
		if !p.named && p.logged(words) {
			c.complain(p, "the log has %q", words)
			return
		}
	}
}

// sameAs runs a deployment to its end and compares its values and tallies with the subject's.
func (c *campaign) sameAs(s, calm *subject, got published, tallies pipeline.Tallies) {
	c.t.Helper()
	want := c.toTheEnd(calm)
	values := must.Have(calm.readCounts())
	if len(values.values) == 0 || !maps.EqualFunc(values.values, got.values, bytes.Equal) {
		c.complain(nil, "%s", differences(got, values))
	}
	if a, b := fmt.Sprintf("%+v", tallies), fmt.Sprintf("%+v", want); a != b {
		c.complain(nil, "the tallies are\n%s\nand those of an undisturbed run\n%s", a, b)
	}
}

// differences counts the differences between two counts topics.
func differences(got, want published) string {
	lost, other, more := 0, 0, 0
	for key, value := range want.values {
		have, ok := got.values[key]
		switch {
		case !ok:
			lost++
		case !bytes.Equal(have, value):
			other++
		}
	}
	for key := range got.values {
		if _, ok := want.values[key]; !ok {
			more++
		}
	}
	return fmt.Sprintf("of %d values of the undisturbed run %d are missing and %d differ, and there are %d others",
		len(want.values), lost, other, more)
}

// comparePrinted checks that counts has every value that a run has printed, and returns their
// number.
func (c *campaign) comparePrinted(s *subject, counts published) int {
	c.t.Helper()
	there := map[string]bool{}
	for _, value := range counts.values {
		release := must.Have(schemas.DecodeRelease(value))
		line := must.Have(release.MarshalJSON())
		there[string(line)] = true
	}
	printed := 0
	for _, p := range s.runs {
		lines := bytes.Split(p.printed(c.t), []byte("\n"))
		for _, line := range lines[:len(lines)-1] { // the last one is empty, or cut off by a kill
			if printed++; !there[string(line)] {
				c.complain(p, "counts lacks a value that was printed")
				break
			}
		}
	}
	return printed
}

// compareDeadLetters checks that the dead-letter topic has exactly the broken records, some of them
// twice after a crash, and returns their number.
func (c *campaign) compareDeadLetters(s *subject) int {
	c.t.Helper()
	events, broken := s.eventLog(), map[string][]byte{}
	for partition, outcomes := range s.outcomesOf(events) {
		for i, outcome := range outcomes {
			if r := events[partition][i]; outcome == reference.DeadLettered {
				broken[fmt.Sprintf("%s/%d/%d", s.config.Events.Topic, partition, r.Offset)] = r.Value
			}
		}
	}
	found := map[string]bool{}
	for _, r := range s.records(s.config.Outputs.DeadLetter, 0) {
		where := originIn(r.Headers)
		if value, ok := broken[where]; !ok || !sameBytes(value, r.Value) {
			c.complain(nil, "the dead letter of %s has other bytes, or its record is not broken", where)
		}
		found[where] = true
	}
	if len(found) < len(broken) || len(broken) == 0 {
		c.complain(nil, "of %d broken records, %d are on the dead-letter topic", len(broken), len(found))
	}
	return len(found)
}

// printed returns the standard output of a process.
func (p *proc) printed(t testing.TB) []byte {
	t.Helper()
	return must.Have(os.ReadFile(p.stdout))
}

// originIn returns the position of a dead letter's record. If a header is there twice, the pipeline
// wrote the first.
func originIn(headers []kafkalog.Header) string {
	first := map[string]string{}
	for _, h := range headers {
		if _, known := first[h.Key]; !known {
			first[h.Key] = string(h.Value)
		}
	}
	return fmt.Sprintf("%s/%s/%s", first["tollgate-topic"], first["tollgate-partition"], first["tollgate-offset"])
}

// sameBytes distinguishes nil and empty, as Kafka does.
func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
