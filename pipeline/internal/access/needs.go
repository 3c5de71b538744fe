package access

import (
	"slices"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Role is what a user of the brokers is for: a command.
type Role string

// The roles.
const (
	Run   Role = "run"   // and change and recover
	Init  Role = "init"  // with or without --create-topics
	Serve Role = "serve" // and everyone who reads counts
)

// Roles returns all roles.
func Roles() []Role { return []Role{Run, Init, Serve} }

// topic is one of the topics of a deployment, with what each role does there.
type topic struct {
	is, name string
	needs    map[Role][]kafkalog.Operation
	writes   bool // only a run is to write there: what stands there is believed
	reads    bool // what stands there is not for everyone
}

// topics is the table of what each role needs. To look at a topic's settings takes see and
// settings.
func topics(d *deployment.Deployment) []topic {
	const read, write, see, settings = kafkalog.Read, kafkalog.Write, kafkalog.Describe, kafkalog.DescribeConfigs
	ops := func(o ...kafkalog.Operation) []kafkalog.Operation { return o }
	out := &d.Config.Outputs
	return []topic{
		{is: "events", name: d.Config.Events.Topic, reads: true, needs: map[Role][]kafkalog.Operation{Run: ops(read, see, settings), Init: ops(see, settings)}},
		{is: "control", name: out.Control, reads: true, writes: true, needs: map[Role][]kafkalog.Operation{Run: ops(read, write, see, settings), Init: ops(read, write, see, settings)}},
		{is: "ledger", name: out.Ledger, reads: true, writes: true, needs: map[Role][]kafkalog.Operation{Run: ops(read, write, see, settings), Init: ops(see, settings)}},
		{is: "counts", name: out.Counts, writes: true, needs: map[Role][]kafkalog.Operation{Run: ops(read, write, see, settings), Init: ops(see, settings), Serve: ops(read, see)}},
		{is: "turns", name: out.Turns, writes: true, needs: map[Role][]kafkalog.Operation{Run: ops(read, write, see, settings), Init: ops(see, settings), Serve: ops(read, see)}},
		{is: "dead-letter", name: out.DeadLetter, reads: true, needs: map[Role][]kafkalog.Operation{Run: ops(write, see, settings), Init: ops(see, settings)}},
	}
}

// powers are the operations by which a user can destroy or replace what stands on a topic.
func powers() []kafkalog.Operation {
	return []kafkalog.Operation{kafkalog.Write, kafkalog.Delete, kafkalog.Alter, kafkalog.AlterConfigs}
}

// excess returns what a user may do on a topic that has no use in a role and can do harm. One user
// may well both begin a deployment and run it.
func (t *topic) excess(role Role, may kafkalog.Operations) (all []kafkalog.Operation) {
	check := powers()
	if role == Serve && t.reads {
		check = append(check, kafkalog.Read)
	}
	for _, o := range check {
		if may.Has(o) && !slices.Contains(t.needs[role], o) && (role != Init || !slices.Contains(t.needs[Run], o)) {
			all = append(all, o)
		}
	}
	return all
}
