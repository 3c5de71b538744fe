package integration

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// inRows reads events as rows.
func inRows(columns ...string) settings {
	return func(c *pipeline.Config) {
		f := &c.Events.Format
		f.Format, f.User, f.Columns = "csv", "user", columns
	}
}

// produceRows writes the rows of one user, each as its own view of a page.
func (d *deployment) produceRows(row string, from, n int) {
	d.t.Helper()
	var messages []kafkalog.Message
	for i := from; i < from+n; i++ {
		at := base.Add(time.Duration(i) * time.Second).UnixMilli()
		messages = append(messages, kafkalog.Message{Value: fmt.Appendf(nil, row, i%100, at), Timestamp: kafkalog.At(at)})
	}
	d.produce(0, messages)
}

// A restart, or a change, that takes another column for the user would give everybody a new account
// with every record. Neither takes place; a column at the end of the rows does, by a change, and
// the account goes on.
func TestRuleARestartTakesNoOtherColumnForTheUser(t *testing.T) {
	d := newDeployment(t, startBroker(t), "swapped", 1, inRows("user", "page", "ts", "session"))
	d.produceRows("somebody,p%02d,%d,s1", 0, 60)
	d.runTurns(2)
	d.verify()
	for with, swapped := range map[string]settings{
		"the key": inRows("page", "user", "ts", "session"), "a column that nothing else is read from": inRows("session", "page", "ts", "user"),
	} {
		config := d.config
		swapped(&config)
		if _, err := attach(t, config).tryRun(); !errors.Is(err, pipeline.ErrHeaderMismatch) {
			t.Errorf("a restart in which the user has changed places with %s ended with: %v", with, err)
		}
		if _, err := d.tryChange(crashpoint.Hooks{}, swapped); !errors.Is(err, pipeline.ErrHeaderMismatch) {
			t.Errorf("a change in which the user changes places with %s ended with: %v", with, err)
		}
	}
	longer := inRows("user", "page", "ts", "session", "country")
	config := d.config
	longer(&config)
	if _, err := attach(t, config).tryRun(); !errors.Is(err, pipeline.ErrHeaderMismatch) {
		t.Errorf("a restart with a column more ended with: %v", err)
	}
	d.run()
	d.verify()
	d.change(longer)
	before := d.report()
	d.produceRows("somebody,p%02d,%d,s1,CH", 60, 60)
	d.run() // the reference reads all records in one way: it cannot be asked any more
	if now := d.report(); now.Accepted != before.Accepted+60 {
		t.Errorf("%d records were accepted after the change and %d before, want 60 more", now.Accepted, before.Accepted)
	}
	tr, err := d.readTrusted()
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := d.accounts(tr)
	if err != nil || len(accounts) != 1 {
		t.Errorf("one user has %d accounts (%v)", len(accounts), err)
	}
}
