package integration

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// mostlyInTime draws by how much event times lie before their records': by so little more than the
// lateness, at most, that no more than a quarter of the records come too late for it.
func mostlyInTime(random *rand.Rand, c pipeline.Config) time.Duration {
	return time.Duration(random.Int64N(int64(c.Time.Lateness)*4/3+1)) + time.Millisecond
}

// No record of a user may stop the process or move another's count: hostile values are
// dead-lettered, and the pipeline goes on.
func TestRuleNoRecordStopsTheProcess(t *testing.T) {
	d := newDeployment(t, startBroker(t), "hostile", 2, tight, func(c *pipeline.Config) { c.Events.Format.MaxRecordBytes = 5000 })
	long := strings.Repeat("k", 600)
	values := []string{
		"", "null", "[]", `""`, "{}", "{", `{"user":{}}`, `{"user":"u","page":"p00"}`, `{"user":"u","page":"p00","ts":null}`,
		`{"user":"u","page":"p00","ts":1e300}`, `{"user":"u","page":"p00","ts":-1e15}`, `{"user":"u","page":"p00","ts":"NaN"}`,
		`{"user":"u","page":"p00","ts":99999999999999999999999}`, `{"user":"u","page":null,"ts":1772323200000}`,
		`{"user":5,"page":"p00","ts":1772323200000}`, `{"user":"` + strings.Repeat("u", 1100) + `","page":"p00","ts":1772323200000}`,
		`{"user":"u","page":"` + long + `","ts":1772323200000}`, "{\"user\":\"u\",\"page\":\"\xff\xfe\",\"ts\":1772323200000}",
		`{"user":"u","page":"\ud800","ts":1772323200000}`, `{"user":"\u0000","page":"\u0000","ts":1772323200000}`,
		`{"user":"u","user":"v","page":"p00","ts":1772323200000}`, `{"user":"u","page":"p00","ts":1772323200000}trailing`,
		`{"user":"u","page":"p00","ts":1772323200000.999}`, `{"user":"u","page":"","ts":1772323200000}`,
		strings.Repeat("[", 4000), `{"user":"u","page":"p00","ts":1772323200000,"pad":"` + strings.Repeat("x", 6000) + `"}`,
	}
	random := rand.New(runseed.PCG(t, 1, 2))
	arrivals := calm(36).arrivals()
	for i := range 40 {
		junk := make([]byte, random.IntN(200))
		for j := range junk {
			junk[j] = byte(random.Uint32())
		}
		values = append(values, string(junk))
		if i%2 == 0 { // a good record with one byte changed
			good := []byte(arrivals[random.IntN(len(arrivals))].value)
			good = append([]byte{}, good...)
			good[random.IntN(len(good))] ^= byte(1 << random.IntN(8))
			values = append(values, string(good))
		}
	}
	for _, v := range values {
		at := random.IntN(len(arrivals))
		arrivals = append(arrivals[:at+1], arrivals[at:]...)
		arrivals[at] = arrival{user: "hostile", stamp: arrivals[at].stamp, value: []byte(v)}
	}
	d.load(scatter(arrivals, 2, 1))
	d.run()
	d.verify()
}
