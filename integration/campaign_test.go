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

// The campaign takes minutes, so it runs on request only.
const (
	campaignVariable       = "TOLLGATE_CAMPAIGN"
	campaignSeedVariable   = "TOLLGATE_CAMPAIGN_SEED"
	campaignFaultsVariable = "TOLLGATE_CAMPAIGN_FAULTS" // number of faults
	campaignKindsVariable  = "TOLLGATE_CAMPAIGN_KINDS"  // names of faultKinds, separated by commas; default: all
)

// campaign has the state that all faults share.
type campaign struct {
	t      *testing.T
	random *rand.Rand
	binary string
	broker *realkafka.Broker // nil if there are several
	down   bool              // the broker is stopped
	addr   string            // host:port without the proxy; several are separated by commas
	copies int               // replicas of every topic
	proxy  *proxy
	began  time.Time

	faults   []fault
	faultNow string // name of the fault under way, for messages
	failures []string
	rows     []subjectRow
}

// fault is a fault that has been applied.
type fault struct {
	kind string
	hit  bool // a turn was open, or a run was starting over an open turn
}

// subjectRow is the result for one deployment.
type subjectRow struct {
	name                         string
	runs, turns, values, printed int
	deadLetters                  int
	faults, checks, undisturbed  time.Duration
	comparedBytes                bool
}

// The real binary runs on a real broker. While turns settle, processes are killed, paused and
// started twice, the network freezes, slows down and breaks, and the broker dies. The counts equal
// the sequential reference's, byte for byte. For deployments that are not changed, they also equal
// those of an undisturbed run of the same binary.
func TestInvariant5ACampaignOfFaultsChangesNothing(t *testing.T) {
	if os.Getenv(campaignVariable) != "1" {
		t.Skipf("60 faults on a real Kafka take minutes: `.ci/run campaign`, or %s=1 (%s, %s and %s choose others)",
			campaignVariable, campaignSeedVariable, campaignFaultsVariable, campaignKindsVariable)
	}
	seed, faults := campaignSeed(t), int(number(t, campaignFaultsVariable, 60))
	t.Logf("%s=%d %s=%d", campaignSeedVariable, seed, campaignFaultsVariable, faults)
	c := startCampaign(t, seed)
	window := 10 * time.Second
	live := c.newSubject(subjectSettings{name: "campaign-append", window: time.Second, slots: 10,
		appendTimes: true}, time.Now().Add(-5*time.Second).Truncate(time.Second)) // fed while the others run
	changes := 0
	if os.Getenv(campaignKindsVariable) == "" {
		changes = (faults + 24) / 25
	}
	deck := c.deck(faults - changes)
	share := func(percent int) []faultKind {
		n := min(len(deck), max(1, faults*percent/100))
		dealt := deck[:n]
		deck = deck[n:]
		return dealt
	}
	c.torment(c.newSubject(subjectSettings{name: "campaign-change", window: window, slots: 10}, base),
		withChanges(share(26), changes))
	c.torment(c.newSubject(subjectSettings{name: "campaign-plain", window: window, slots: 4, compacted: true}, base),
		share(50))
	c.torment(live, deck)
	c.table()
}

// campaignSeed returns the seed of a campaign's faults and workload.
func campaignSeed(t testing.TB) uint64 {
	return number(t, campaignSeedVariable, runseed.Uint64(t, 1)>>32|1)
}

// number returns the value of a variable, or otherwise if it is not set.
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
	c.broker = startKafka(t, realkafka.Options{
		Listeners: []realkafka.Listener{{Name: proxied, Protocol: "PLAINTEXT", Advertised: c.proxy.addr}},
	})
	c.addr, c.copies = c.broker.Addr(), 1
	c.proxy.to(c.broker.AddrOf(proxied))
	return c
}

// deck returns n faults in random order: each kind once if n is large enough, the others drawn by
// weight.
func (c *campaign) deck(n int) []faultKind {
	kinds := slices.Clone(faultKinds)
	if only := os.Getenv(campaignKindsVariable); only != "" {
		names := strings.Split(only, ",")
		kinds = slices.DeleteFunc(kinds, func(k faultKind) bool { return !slices.Contains(names, k.name) })
		if len(kinds) < len(names) {
			c.t.Fatalf("%s is %q: not all of these are kinds of faults", campaignKindsVariable, only)
		}
	}
	deck, total := slices.Clone(kinds), 0
	for _, k := range kinds {
		total += k.weight
	}
	for len(deck) < n {
		dice := c.random.IntN(total)
		for _, k := range kinds {
			if dice -= k.weight; dice < 0 {
				deck = append(deck, k)
				break
			}
		}
	}
	c.random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck[:n]
}

// withChanges inserts changes of the deployment between faults, at equal distances.
func withChanges(deck []faultKind, changes int) []faultKind {
	out := slices.Clone(deck)
	for i := range changes {
		out = slices.Insert(out, (i+1)*len(out)/(changes+1), changeFault)
	}
	return out
}

// torment applies faults to a deployment, then compares the results of a last run.
func (c *campaign) torment(s *subject, deck []faultKind) {
	c.t.Helper()
	row := subjectRow{name: s.settings.name}
	began := time.Now()
	c.run(s)
	for _, kind := range deck {
		c.befalls(s, kind.name, func() bool { return kind.do(c, s) })
	}
	c.faultNow = "the last run"
	row.faults = time.Since(began)
	began = time.Now()
	c.finish(s, &row)
	row.checks = time.Since(began) - row.undisturbed
	c.rows = append(c.rows, row)
}

// befalls applies a fault and waits until the deployment makes progress again.
func (c *campaign) befalls(s *subject, kind string, do func() (hit bool)) {
	c.t.Helper()
	c.faultNow = fmt.Sprintf("fault %d (%s) of %s", len(c.faults)+1, kind, s.settings.name)
	most := 12
	if s.settings.appendTimes { // turns take as long as their windows
		most = 3
	}
	c.moves(s, s.current, 1+c.random.IntN(most))
	c.pause(0, 60*time.Millisecond)
	// With append times no turn is open most of the time.
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
		c.complain(s.current, "control has a STOP")
	}
	c.t.Logf("%6.1f s  %s: hit %v, turn %d → %d, %.1f s", time.Since(c.began).Seconds(), c.faultNow, hit,
		before.settled, after.settled, time.Since(began).Seconds())
}

// complain reports a failure without ending the campaign.
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

// table logs the faults and the results. It fails if too few faults hit an open turn.
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
		c.t.Errorf("only %d of %d faults hit an open turn", hits, len(c.faults))
	}
	if len(c.failures) > 0 {
		c.t.Errorf("summary of the failures above:\n%s", strings.Join(c.failures, "\n"))
	}
}
