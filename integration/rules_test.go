package integration

import (
	"errors"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/reference"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// only replaces the metrics.
func only(metrics ...pipeline.Metric) settings {
	return func(c *pipeline.Config) { c.Metrics = metrics }
}

// oneRung returns a public metric that always pays for the same precision, from a bucket that holds
// all of an account, so that a user's budget lasts for a known number of windows: ⌊B²/⌈C²·u(σ)⌉⌋.
func oneRung(sigma float64, contribution int) pipeline.Metric {
	m := publicMetric("visits", 10*time.Second)
	m.MaxKeysPerUser, m.MaxEventsPerKey, m.Burst = 1, contribution, 1
	m.Ladder = pipeline.Ladder{Kind: string(noisereduction.Geometric), Factor: 2}
	m.Target = atTop(sigma)
	return m
}

// atTop is a target that releases with one noise only.
func atTop(sigma float64) noisereduction.Target {
	return noisereduction.Target{Absolute: 1.96 * sigma, Confidence: 0.95}
}

// decisions returns what the ledger says about every user: turn → admission bits, and the amounts
// spent.
func (d *deployment) decisions() (map[reference.Owner]map[uint64]string, map[reference.Owner]reference.Account) {
	d.t.Helper()
	tr, err := d.readTrusted()
	if err != nil {
		d.t.Fatal(err)
	}
	all := map[reference.Owner]map[uint64]string{}
	for _, l := range tr.ledgers {
		for turn, delta := range l.deltas {
			for _, user := range delta.Users {
				owner := reference.Owner{ID: user.ID, Period: user.Period}
				if all[owner] == nil {
					all[owner] = map[uint64]string{}
				}
				all[owner][turn] = string(user.Admitted)
			}
		}
	}
	accounts, err := d.accounts(tr)
	if err != nil {
		d.t.Fatal(err)
	}
	return all, accounts
}

// owner names a user's account in a period.
func (d *deployment) owner(user string, period int64) reference.Owner {
	return reference.Owner{ID: schemas.NewHasher(d.config.Keys.UserHash.Reveal()).Account([]byte(user)), Period: period}
}

// The distinguishing attack on admission: two runs, with and without one user. With a ladder of one
// rung the public record does not feed back, so everything about everybody else must be equal,
// whatever that user does.
func TestRuleRemovingAUserChangesNoOtherAdmissionOrCharge(t *testing.T) {
	broker := startBroker(t)
	m := oneRung(12, 3)
	m.MaxKeysPerUser = 2
	tightly := lasting(t, 12) // worst cases of one event: whole budgets are spent
	arrivals := calm(40).arrivals()
	for i := range 400 { // the attacked user is everywhere
		arrivals = append(arrivals, at("u0000", "p00", time.Duration(i)*300*time.Millisecond))
	}
	arrivals = shuffleWithin(arrivals, time.Millisecond, 1)
	var without []arrival
	for _, a := range arrivals {
		if a.user != "u0000" {
			without = append(without, a)
		}
	}
	with := newDeployment(t, broker, "with", 2, only(m), tightly)
	with.load(scatter(arrivals, 2, 1))
	with.run()
	rest := newDeployment(t, broker, "without", 2, only(m), tightly)
	rest.load(scatter(without, 2, 2))
	rest.run(func(o *runOptions) { o.Until = base.Add(120 * time.Second) })
	with.verify()
	rest.verify()

	if refused := rest.tally(); refused.Beyond < 10 || refused.Counted < 10 {
		t.Errorf("of the others %d events were beyond the allowance and %d counted: the case says little", refused.Beyond, refused.Counted)
	}
	gone := with.owner("u0000", 0)
	admitted, accounts := with.decisions()
	delete(admitted, gone)
	delete(accounts, gone)
	others, theirs := rest.decisions()
	if !maps.EqualFunc(admitted, others, maps.Equal[map[uint64]string, map[uint64]string]) {
		t.Error("removing one user changed another user's admission")
	}
	if !maps.EqualFunc(accounts, theirs, func(a, b reference.Account) bool { return a.Spent.Cmp(b.Spent) == 0 }) {
		t.Error("removing one user changed another user's account")
	}
}

// Keys seen only in records that were dropped exist nowhere: no noise is drawn for them and no user
// pays. With this ε and this δ some of so many keys would pass on noise alone.
func TestRuleAKeyOfUnadmittedUsersDoesNotExist(t *testing.T) {
	d := newDeployment(t, startBroker(t), "unadmitted", 1, only(privateMetric("pages", 10*time.Second)), func(c *pipeline.Config) {
		c.Privacy.Epsilon, c.Privacy.Delta, c.Privacy.DeltaKeys = 0.5, 0.5, 0.3
		c.Metrics[0].Burst = 1
	}, lasting(t, 1))
	var arrivals []arrival
	for i := range 300 {
		arrivals = append(arrivals, at("u"+strconv.Itoa(i), "first", time.Duration(i)*time.Millisecond))
	}
	for i := range 300 { // their budget is spent: the second window must not exist
		arrivals = append(arrivals, at("u"+strconv.Itoa(i), numbered("second", i), 11*time.Second+time.Duration(i)*time.Millisecond))
	}
	d.load([][]arrival{arrivals})
	d.run()
	d.verify()
	report, err := pipeline.TrustedReport(t.Context(), d.compiled)
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Metrics[0]; got.Beyond != 300 || got.Counted != 300 {
		t.Errorf("tallies are %+v, want 300 counted and 300 beyond the allowance", got)
	}
}

// One stamp from the year 2100 would close every window for everybody.
func TestRuleAStampFromTheFarFutureClosesNothing(t *testing.T) {
	d := newDeployment(t, startBroker(t), "stamp", 1, only(publicMetric("visits", 10*time.Second)))
	stamp := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	d.load([][]arrival{{
		at("u", "p00", time.Second), goodEvent("v", "p00", stamp, base.UnixMilli()+2000), goodEvent("v", "p00", stamp, stamp),
		at("w", "p00", 3*time.Second), at("w", "p00", 25*time.Second),
	}})
	d.run()
	d.verify()
	report, err := pipeline.TrustedReport(t.Context(), d.compiled)
	if err != nil {
		t.Fatal(err)
	}
	if report.Accepted != 3 || report.Future != 2 {
		t.Errorf("%d records were accepted and %d were of the future, want 3 and 2", report.Accepted, report.Future)
	}
}

func TestAnEmptyTopicGivesAnEmptyResult(t *testing.T) {
	d := newDeployment(t, startBroker(t), "nothing", 2)
	if result := d.run(); result.Settled != 0 {
		t.Errorf("%d turns were settled over an empty topic", result.Settled)
	}
	d.verify()
}

// outcomesOf asks the reference what became of every record.
func (d *deployment) outcomesOf(log reference.Log) map[int32][]reference.Judged {
	d.t.Helper()
	out, err := reference.Run(d.referenceConfig(), log, nil, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	return out.Outcomes
}

func TestAnotherConfigurationIsRefused(t *testing.T) {
	d := newDeployment(t, startBroker(t), "header", 1)
	for name, change := range map[string]settings{
		"another noise key": func(c *pipeline.Config) {
			c.Keys.Noise = []noisereduction.NoiseKey{{ID: "k1", Secret: secret.New([32]byte{9})}}
		},
		"another user-hash key": func(c *pipeline.Config) { c.Keys.UserHash = secret.New([32]byte{9}) },
		"another budget":        func(c *pipeline.Config) { c.Privacy.Epsilon *= 2 },
		"other shards":          func(c *pipeline.Config) { c.Shards++ },
		"other bounds":          func(c *pipeline.Config) { c.Metrics[0].MaxEventsPerKey++ },
	} {
		config := d.config
		config.Metrics = append([]pipeline.Metric(nil), config.Metrics...)
		change(&config)
		other := attach(t, config)
		if _, err := other.tryRun(); !errors.Is(err, pipeline.ErrHeaderMismatch) {
			t.Errorf("%s: %v, want ErrHeaderMismatch", name, err)
		}
	}
}
