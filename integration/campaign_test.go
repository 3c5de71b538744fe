package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// The campaign is a test of minutes: it runs where a tester asks for it, with as many faults as are
// asked for.
const (
	campaignVariable       = "TOLLGATE_CAMPAIGN"
	campaignSeedVariable   = "TOLLGATE_CAMPAIGN_SEED"
	campaignFaultsVariable = "TOLLGATE_CAMPAIGN_FAULTS"
	campaignKindsVariable  = "TOLLGATE_CAMPAIGN_KINDS" // as the table names them, with commas between; by default all
)

// campaign is what all faults have in common.
type campaign struct {
	t      *testing.T
	random *rand.Rand
	binary string
	broker *realkafka.Broker // nil where there are several
	down   bool              // the broker is stopped
	addr   string            // host:port past the proxy; of several brokers with commas between
	copies int               // replicas of every topic
	proxy  *proxy
	began  time.Time

	faults   []fault
	faultNow string // names the fault that is under way, for messages
	failures []string
	rows     []subjectRow
}

// fault is a fault that has happened.
type fault struct {
	kind string
	hit  bool // a turn was open, or a run was starting over an open turn
}

// subjectRow is the table's row of a deployment.
type subjectRow struct {
	name                         string
	runs, turns, values, printed int
	deadLetters                  int
	faults, checks, undisturbed  time.Duration
	comparedBytes                bool
}

// The real binary on a real broker, with processes killed, stopped and started twice, a network
// that freezes, slows down and breaks, and a broker that dies, while turns settle. What comes out
// is what the sequential reference says, byte for byte; where timing decides nothing (no
// changes) it is also what an undisturbed run of the same binary publishes.
func TestInvariant5ACampaignOfFaultsChangesNothing(t *testing.T) {
	if os.Getenv(campaignVariable) != "1" {
		t.Skipf("60 faults on a real Kafka take minutes: `.ci/run campaign`, or %s=1 (%s, %s and %s choose others)",
			campaignVariable, campaignSeedVariable, campaignFaultsVariable, campaignKindsVariable)
	}
	seed, faults := campaignSeed(t), int(number(t, campaignFaultsVariable, 60))
	t.Logf("%s=%d %s=%d", campaignSeedVariable, seed, campaignFaultsVariable, faults)
	c := startCampaign(t, seed)
	window := 10 * time.Second
	live := c.newSubject(subjectSettings{name: "campaign-append", events: "campaign-append-events",
		broker: c.proxy.addr, window: time.Second,
		// is fed while the others run
		slots: 10, appendTimes: true}, time.Now().Add(-5*time.Second).Truncate(time.Second))
	changes := 0
	if os.Getenv(campaignKindsVariable) == "" {
		changes = (faults + 24) / 25
	}
	deck := c.deck(faults - changes)
	share := func(percent int) []string {
		n := min(len(deck), max(1, faults*percent/100))
		own := deck[:n]
		deck = deck[n:]
		return own
	}
	c.torment(c.newSubject(subjectSettings{name: "campaign-change", events: "campaign-change-events",
		broker: c.proxy.addr, window: window,
		slots: 10}, base), withChanges(share(26), changes))
	c.torment(c.newSubject(subjectSettings{name: "campaign-plain", events: "campaign-plain-events",
		broker: c.proxy.addr, window: window,
		slots: 4, compacted: true}, base), share(50))
	c.torment(live, deck)
	c.table()
}

// campaignSeed is the seed of a campaign's faults and workload.
func campaignSeed(t testing.TB) uint64 {
	return number(t, campaignSeedVariable, runseed.Uint64(t, 1)>>32|1)
}

// number returns a variable's value.
func number(t testing.TB, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		t.Fatalf("%s is %q: it must be a number above 0", variable, text)
	}
	return n
}

func startCampaign(t *testing.T, seed uint64, build ...string) *campaign {
	t.Helper()
	c := &campaign{t: t, began: time.Now()}
	c.random = rand.New(rand.NewPCG(seed, 0x63616d70)) // fixed seed: campaignSeed's
	if err := realkafka.Missing(); err != nil {
		unavailable(t, err)
	}
	c.binary = buildRunner(t, build...)
	c.proxy = startProxy(t)
	const proxied = "PROXIED"
	broker, err := realkafka.Start(t.Context(), realkafka.Options{
		Listeners: []realkafka.Listener{{Name: proxied, Protocol: "PLAINTEXT", Advertised: c.proxy.addr}},
	})
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(func() {
		if err := broker.Close(); err != nil {
			t.Error(err)
		}
	})
	c.broker, c.addr, c.copies = broker, broker.Addr(), 1
	c.proxy.to(broker.AddrOf(proxied))
	return c
}

// deck returns so many faults in random order: every kind at least once where there are enough of
// them, then as their weights say.
func (c *campaign) deck(n int) []string {
	kinds := slices.Clone(faultKinds)
	if only := os.Getenv(campaignKindsVariable); only != "" {
		names := strings.Split(only, ",")
		kinds = slices.DeleteFunc(kinds, func(k faultKind) bool { return !slices.Contains(names, k.name) })
		if len(kinds) < len(names) {
			c.t.Fatalf("%s is %q: not all of these are kinds of faults", campaignKindsVariable, only)
		}
	}
	var deck []string
	for _, k := range kinds {
		deck = append(deck, k.name)
	}
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	for len(deck) < n {
		dice := c.random.IntN(total)
		for _, k := range kinds {
			if dice -= k.weight; dice < 0 {
				deck = append(deck, k.name)
				break
			}
		}
	}
	c.random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck[:n]
}

// withChanges puts changes of the deployment among faults.
func withChanges(deck []string, changes int) []string {
	out := slices.Clone(deck)
	for i := range changes {
		out = slices.Insert(out, (i+1)*len(out)/(changes+1), changeFault)
	}
	return out
}

// torment lets faults befall a deployment, lets a last run finish, and compares.
func (c *campaign) torment(s *subject, deck []string) {
	c.t.Helper()
	row := subjectRow{name: s.settings.name}
	began := time.Now()
	c.run(s)
	for _, kind := range deck {
		c.befall(s, kind)
	}
	c.faultNow = "the last run"
	row.faults = time.Since(began)
	began = time.Now()
	c.finish(s, &row)
	row.checks = time.Since(began) - row.undisturbed
	c.rows = append(c.rows, row)
}

// befall lets one fault happen and sees to it that the deployment goes on afterwards.
func (c *campaign) befall(s *subject, kind string) {
	c.t.Helper()
	do := (*campaign).change
	if i := slices.IndexFunc(faultKinds, func(k faultKind) bool { return k.name == kind }); i >= 0 {
		do = faultKinds[i].do
	}
	c.befalls(s, kind, func() bool { return do(c, s) })
}

// befalls is befall with the fault to apply.
func (c *campaign) befalls(s *subject, kind string, do func() (hit bool)) {
	c.t.Helper()
	c.faultNow = fmt.Sprintf("fault %d (%s) of %s", len(c.faults)+1, kind, s.settings.name)
	most := 12
	if s.settings.appendTimes { // turns follow the clock
		most = 3
	}
	c.moves(s, s.current, 1+c.random.IntN(most))
	c.pause(0, 60*time.Millisecond)
	// with append times most of the time no turn is
	for began := time.Now(); !c.open(s) && time.Since(began) < 3*time.Second; {
		time.Sleep(time.Millisecond)
	}
	began, before := time.Now(), s.watch.now()
	hit := do()
	if s.current == nil {
		c.run(s)
	}
	c.moves(s, s.current, 1)
	c.faults = append(c.faults, fault{kind, hit})
	after := s.watch.now()
	if after.stops > before.stops {
		c.complain(s.current, "a STOP stands on control")
	}
	c.t.Logf("%6.1f s  %s: hit %v, turn %d → %d, %.1f s", time.Since(c.began).Seconds(), c.faultNow, hit,
		before.settled, after.settled, time.Since(began).Seconds())
}

// complain is a failure that lets the campaign go on.
func (c *campaign) complain(p *proc, format string, args ...any) {
	c.t.Helper()
	text := fmt.Sprintf(format, args...)
	if p != nil {
		p.named = true
		text += "\n" + p.String()
	}
	text = fmt.Sprintf("%s, %.1f s after the beginning: %s", c.faultNow, time.Since(c.began).Seconds(), text)
	first, _, _ := strings.Cut(text, "\n")
	c.failures = append(c.failures, first)
	c.t.Error(text)
}

// table lists the applied faults. Faults that never met an open turn would show nothing.
func (c *campaign) table() {
	c.t.Helper()
	hits := 0
	for _, f := range c.faults {
		if f.hit {
			hits++
		}
	}
	c.t.Logf("%d faults, %d of them in an open turn, in %.1f s", len(c.faults), hits, time.Since(c.began).Seconds())
	for _, r := range c.rows {
		c.t.Logf("%+v", r)
	}
	if 2*hits < len(c.faults) {
		c.t.Errorf("%d of %d faults hit an open turn: the campaign says little", hits, len(c.faults))
	}
	if len(c.failures) > 0 {
		c.t.Errorf("summary of the failures above:\n%s", strings.Join(c.failures, "\n"))
	}
}
