package pipeline

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// holdsSecret reports whether a type is of package secret.
func holdsSecret(t reflect.Type) bool { return t.PkgPath() == reflect.TypeFor[secret.URL]().PkgPath() }

// leaves are the fields of a configuration without fields of their own, such as Metrics.Keys.List.
func leaves(t reflect.Type, path string) []string {
	switch {
	case holdsSecret(t) || t == reflect.TypeFor[deployment.Record]():
		return []string{path}
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return leaves(t.Elem(), path)
	case t.Kind() != reflect.Struct:
		return []string{path}
	}
	var all []string
	for i := range t.NumField() {
		name := t.Field(i).Name
		if path != "" {
			name = path + "." + name
		}
		all = append(all, leaves(t.Field(i).Type, name)...)
	}
	return all
}

// Every field of a configuration is either compared with HEADER or listed here, with the reason why
// runs of one deployment may differ in it: no decision that a replay repeats may depend on it.
func TestRuleEveryFieldIsComparedWithHeaderOrFree(t *testing.T) {
	t.Parallel()
	free := map[string]string{
		"Kafka.Brokers": "how the cluster is reached", "Kafka.TLS.CAFile": "as it is", "Kafka.TLS.CertFile": "as it is",
		"Kafka.TLS.KeyFile": "as it is", "Kafka.TLS.ServerName": "as it is",
		"Kafka.SASL.Mechanism": "as it is", "Kafka.SASL.User": "as it is", "Kafka.SASL.Password": "as it is",
		"Kafka.SASL.PasswordFile": "as it is",
		"Kafka.SASL.TokenFile":    "as it is", "Kafka.SASL.TokenURL": "as it is", "Kafka.SASL.TokenCAFile": "as it is",
		"Kafka.SASL.Audience": "as it is", "Kafka.SASL.Scopes": "as it is", "Kafka.SASL.Extensions": "as it is",
		"Events.Registry.User": "how the registry is reached", "Events.Registry.Password": "as it is",
		"Events.Registry.PasswordFile": "as it is", "Events.Registry.CAFile": "as it is",
		"Events.AcceptSizeRetention": "what is checked of the topic",
		"Time.IdleGrace":             "its verdicts stand in CLOSE",
		"Record":                     "it refuses a HEADER and decides nothing else",
		"Outputs.Registry.URL":       "HEADER has the schema's id",
		"Outputs.Registry.User":      "how the registry is reached",
		"Outputs.Registry.Password":  "how the registry is reached", "Outputs.Registry.PasswordFile": "as it is",
		"Outputs.Registry.CAFile": "how the registry is reached",
		"Outputs.PublishEvery":    "when, not what",
		"Events.Format.Filters":   "made from those of the metrics",
		"Events.Format.Separator": "of files",
		"Events.Format.Charset":   "of files",
	}
	avro := func(c *deployment.Config) {
		c.Events.Format = event.Format{Format: "avro", User: "user", Key: "key", Time: "time"}
		c.Events.Registry = &deployment.Registry{URL: "http://a"}
	}
	local := func(key string) func(*deployment.Config) {
		return func(c *deployment.Config) {
			avro(c)
			c.Events.Registry = nil
			c.Events.Format.Schema = `{"type":"record","name":"e","fields":[{"name":"user","type":"string"},` +
				`{"name":"key","type":"` + key + `"},{"name":"time","type":{"type":"long",` +
				`"logicalType":"timestamp-millis"}}]}`
		}
	}
	rows := func(c *deployment.Config) {
		c.Events.Format.Format, c.Events.Format.Columns = "csv", []string{"user", "key", "time", "x"}
	}
	second := func(edit func(m *deployment.Metric)) func(*deployment.Config) {
		return func(c *deployment.Config) {
			m := c.Metrics[0]
			m.Name, m.Keys = "private", deployment.Keys{Mode: deployment.KeysPrivate}
			if c.Metrics = append(c.Metrics, m, m, m); edit != nil {
				edit(&c.Metrics[2])
			}
			c.Metrics[2].Name, c.Metrics[3].Name = "third", "fourth"
		}
	}
	values := func(c *deployment.Config) { c.Events.Format.Value = "x" }
	textTimes := func(c *deployment.Config) { c.Events.Format.TimeUnit = event.TimeText }
	metric := func(edit func(m *deployment.Metric)) func(*deployment.Config) {
		return func(c *deployment.Config) { edit(&c.Metrics[0]) }
	}
	daily := metric(func(m *deployment.Metric) { m.Window = 24 * time.Hour })
	ranked := func(ranks ...float64) func(*deployment.Config) {
		return deploytest.AsSum(func(m *deployment.Metric) {
			m.Kind, m.Ranks, m.Noise, m.Target = metrickind.Quantiles, ranks, 400, noisereduction.Target{Absolute: 0.02,
				Confidence: 0.95}
		})
	}
	binned := func(s deployment.Statistics) func(*deployment.Config) {
		return deploytest.AsSum(func(m *deployment.Metric) {
			m.Kind, m.Min, m.Max, m.Statistics, m.Noise, m.Target = metrickind.Histogram, 0, 10, s, 400,
				noisereduction.Target{Absolute: 2, Confidence: 0.95}
		})
	}
	scaled := func(c *deployment.Config) { ranked(0.5)(c); c.Metrics[0].Scale = deployment.ScaleLogarithmic }
	shared := metric(func(m *deployment.Metric) { m.Counted = &deployment.Counted{} })
	counted := func(edit func(*noisereduction.Target)) func(*deployment.Config) {
		return metric(func(m *deployment.Metric) {
			m.Counted = &deployment.Counted{Target: noisereduction.Target{Relative: 0.05,
				Confidence: m.Target.Confidence}}
			edit(&m.Counted.Target)
		})
	}
	for path, c := range map[string]struct{ before, after func(*deployment.Config) }{
		"Deployment": {nil, func(c *deployment.Config) { c.Deployment = "other" }},
		"Events.Format.WallZone": {nil, func(c *deployment.Config) {
			c.Events.Format.WallZone = "Europe/Zurich"
		}},
		"Time.WindowZone": {daily, func(c *deployment.Config) {
			daily(c)
			c.Time.WindowZone = "Europe/Zurich"
		}},
		"Events.Topic": {nil, func(c *deployment.Config) { c.Events.Topic = "other" }},
		"Events.Format.Format": {rows, func(c *deployment.Config) {
			rows(c)
			c.Events.Format.Format = "tsv"
		}},
		"Events.Format.Columns": {rows, func(c *deployment.Config) {
			rows(c)
			slices.Reverse(c.Events.Format.Columns)
		}},
		"Events.Format.User": {nil, func(c *deployment.Config) { c.Events.Format.User = "x" }},
		"Events.Format.NoUser": {nil, func(c *deployment.Config) {
			c.Events.Format.NoUser = event.NoUserEach
		}},
		"Events.Format.Key": {nil, func(c *deployment.Config) { c.Events.Format.Key = "x" }},
		"Events.Format.MoreKeys": {nil, func(c *deployment.Config) {
			c.Events.Format.MoreKeys = []string{"x"}
		}},
		"Events.Format.Time": {nil, func(c *deployment.Config) { c.Events.Format.Time = "x" }},
		"Events.Format.MoreTimes": {textTimes, func(c *deployment.Config) {
			textTimes(c)
			c.Events.Format.MoreTimes = []string{"x"}
		}},
		"Events.Format.TimeUnit": {nil, func(c *deployment.Config) { c.Events.Format.TimeUnit = "s" }},
		"Events.Format.TimeLayout": {textTimes, func(c *deployment.Config) {
			textTimes(c)
			c.Events.Format.TimeLayout = "%d.%m.%Y"
		}},
		"Events.Format.TimeZone": {textTimes, func(c *deployment.Config) {
			textTimes(c)
			c.Events.Format.TimeZone = "Europe/Zurich"
		}},
		"Events.Format.MaxRecordBytes": {nil, func(c *deployment.Config) { c.Events.Format.MaxRecordBytes = 99 }},
		"Events.Format.Value":          {nil, func(c *deployment.Config) { c.Events.Format.Value = "x" }},
		"Events.Format.Decimals": {values, func(c *deployment.Config) {
			values(c)
			c.Events.Format.Decimals = 2
		}},
		"Events.Format.NoValue": {values, func(c *deployment.Config) {
			values(c)
			c.Events.Format.NoValue = event.NoValueSkip
		}},
		"Events.Format.DecimalComma": {values, func(c *deployment.Config) {
			values(c)
			c.Events.Format.DecimalComma = true
		}},
		"Events.Format.Schema": {local("string"), local("int")},
		"Events.Registry.URL": {avro, func(c *deployment.Config) {
			avro(c)
			c.Events.Registry.URL = "http://b"
		}},
		"Privacy.Epsilon": {nil, func(c *deployment.Config) { c.Privacy.Epsilon = 0.5 }},
		"Privacy.Delta":   {nil, func(c *deployment.Config) { c.Privacy.Delta = 1e-7 }},
		"Privacy.DeltaKeys": {second(nil), func(c *deployment.Config) {
			second(nil)(c)
			c.Privacy.DeltaKeys = 1e-8
		}},
		"Privacy.Accountant": {nil, func(c *deployment.Config) { c.Privacy.Accountant = "zcdp" }},
		"Privacy.Planned":    {nil, func(c *deployment.Config) { c.Privacy.Planned = 0.1 }},
		"Privacy.Period": {nil, func(c *deployment.Config) {
			c.Privacy.Period, c.Privacy.Lasts = time.Hour, 0
		}},
		"Privacy.Lasts": {nil, func(c *deployment.Config) { c.Privacy.Lasts *= 2 }},
		"Time.Trust": {nil, func(c *deployment.Config) {
			c.Time.Trust = deployment.TrustBroker
		}},
		"Time.Lateness": {nil, func(c *deployment.Config) { c.Time.Lateness = time.Second }},
		"Time.Skew":     {nil, func(c *deployment.Config) { c.Time.Skew = time.Second }},
		"Time.Slack": {func(c *deployment.Config) { c.Time.Trust = deployment.TrustBroker },
			func(c *deployment.Config) { c.Time.Trust, c.Time.Slack = deployment.TrustBroker, time.Second }},
		"Time.AcceptFuture": {nil, func(c *deployment.Config) { c.Time.AcceptFuture = false }},
		"Metrics.Name":      {nil, metric(func(m *deployment.Metric) { m.Name = "x" })},
		"Metrics.Kind": {nil, metric(func(m *deployment.Metric) {
			m.Kind = metrickind.DistinctUsers
		})},
		"Metrics.Filter": {nil, metric(func(m *deployment.Metric) { m.Filter = "x == 1" })},
		"Metrics.Window": {nil, metric(func(m *deployment.Metric) { m.Window *= 2 })},
		"Metrics.Slide":  {nil, metric(func(m *deployment.Metric) { m.Slide = m.Window / 2 })},
		"Metrics.Keys.Mode": {nil, metric(func(m *deployment.Metric) {
			m.Keys = deployment.Keys{Mode: deployment.KeysPrivate}
		})},
		"Metrics.Keys.List": {nil, metric(func(m *deployment.Metric) { m.Keys.List = []string{"a"} })},
		"Metrics.Keys.From": {second(func(m *deployment.Metric) {
			m.Keys = deployment.Keys{From: "private"}
		}), second(func(m *deployment.Metric) { m.Keys = deployment.Keys{From: "fourth"} })},
		"Metrics.Min": {deploytest.AsSum(func(*deployment.Metric) {}),
			deploytest.AsSum(func(m *deployment.Metric) { m.Min = 1 })},
		"Metrics.Max": {deploytest.AsSum(func(*deployment.Metric) {}),
			deploytest.AsSum(func(m *deployment.Metric) { m.Max = 9 })},
		"Metrics.Statistics.Ranks": {ranked(0.5, 0.95), ranked(0.5, 0.9)},
		"Metrics.Statistics.Scale": {ranked(0.5), scaled},
		"Metrics.Statistics.Edges": {binned(deployment.Statistics{Edges: []float64{0, 5, 10}}),
			binned(deployment.Statistics{Edges: []float64{0, 6, 10}})},
		"Metrics.Statistics.Buckets": {binned(deployment.Statistics{}),
			binned(deployment.Statistics{Buckets: 5})},
		"Metrics.Statistics.Also": {ranked(0.5), func(c *deployment.Config) {
			ranked(0.5)(c)
			c.Metrics[0].Also = []string{"mean"}
		}},
		"Metrics.Counted.Share": {shared, metric(func(m *deployment.Metric) {
			m.Counted = &deployment.Counted{Share: 0.2}
		})},
		"Metrics.Counted.MaxEvents": {shared, metric(func(m *deployment.Metric) {
			m.Counted = &deployment.Counted{MaxEvents: 7}
		})},
		"Metrics.Counted.Target.Relative":   {shared, counted(func(g *noisereduction.Target) { g.Relative = 0.2 })},
		"Metrics.Counted.Target.Absolute":   {shared, counted(func(g *noisereduction.Target) { g.Absolute = 3 })},
		"Metrics.Counted.Target.Confidence": {shared, counted(func(g *noisereduction.Target) { g.Confidence = 0.9 })},
		"Metrics.MaxKeysPerUser":            {nil, metric(func(m *deployment.Metric) { m.MaxKeysPerUser = 1 })},
		"Metrics.MaxEventsPerKey":           {nil, metric(func(m *deployment.Metric) { m.MaxEventsPerKey = 1 })},
		"Metrics.Ladder.Kind":               {nil, metric(func(m *deployment.Metric) { m.Ladder.Kind = "geometric" })},
		"Metrics.Ladder.Factor": {metric(func(m *deployment.Metric) { m.Ladder.Kind = "geometric" }),
			metric(func(m *deployment.Metric) { m.Ladder.Kind, m.Ladder.Factor = "geometric", 3 })},
		"Metrics.Target.Relative":   {nil, metric(func(m *deployment.Metric) { m.Target.Relative = 0.2 })},
		"Metrics.Target.Absolute":   {nil, metric(func(m *deployment.Metric) { m.Target.Absolute = 70 })},
		"Metrics.Target.Confidence": {nil, metric(func(m *deployment.Metric) { m.Target.Confidence = 0.9 })},
		"Metrics.Share":             {nil, metric(func(m *deployment.Metric) { m.Share = 0.5 })},
		"Metrics.Burst":             {nil, metric(func(m *deployment.Metric) { m.Burst = 0.7 })},
		"Metrics.Noise": {ranked(0.5), func(c *deployment.Config) {
			ranked(0.5)(c)
			c.Metrics[0].Noise = 500
		}},
		"Outputs.Counts":     {nil, func(c *deployment.Config) { c.Outputs.Counts = "x" }},
		"Outputs.Control":    {nil, func(c *deployment.Config) { c.Outputs.Control = "x" }},
		"Outputs.Ledger":     {nil, func(c *deployment.Config) { c.Outputs.Ledger = "x" }},
		"Outputs.DeadLetter": {nil, func(c *deployment.Config) { c.Outputs.DeadLetter = "x" }},
		"Outputs.Turns":      {nil, func(c *deployment.Config) { c.Outputs.Turns = "x" }},
		"Outputs.CountsFormat": {nil, func(c *deployment.Config) {
			c.Outputs.CountsFormat, c.Outputs.Registry = schemas.CountsAvro,
				&deployment.Registry{URL: "http://registry:8081"}
		}},
		"Keys.Noise.ID":     {nil, func(c *deployment.Config) { c.Keys.Noise.ID = "x" }},
		"Keys.Noise.Secret": {nil, func(c *deployment.Config) { c.Keys.Noise.Secret = secret.New([32]byte{9}) }},
		"Keys.UserHash":     {nil, func(c *deployment.Config) { c.Keys.UserHash = secret.New([32]byte{9}) }},
		"Shards":            {nil, func(c *deployment.Config) { c.Shards = 5 }},
		"ReleaseShards":     {nil, func(c *deployment.Config) { c.ReleaseShards = 5 }},
		"LedgerSlots":       {nil, func(c *deployment.Config) { c.LedgerSlots = 55 }},
	} {
		compiled := func(change func(*deployment.Config)) schemas.Header {
			cfg := deploytest.Config("localhost:1")
			// whatever the deployment is called
			cfg.Outputs = deployment.Outputs{Counts: "counts", Control: "control", Ledger: "ledger", DeadLetter: "dead",
				Turns: "turns"}
			if change != nil {
				change(&cfg)
			}
			d, err := deployment.Compile(cfg)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			return changes.Header(d)
		}
		h, want := compiled(c.before), compiled(c.after)
		if all := changes.Differences(&h, &want); len(all) == 0 {
			t.Errorf("another %s is the same to HEADER", path)
		}
		free[path] = "compared"
	}
	for _, path := range leaves(reflect.TypeFor[deployment.Config](), "") {
		if free[path] == "" {
			t.Errorf("%s is neither compared with HEADER nor known to be free", path)
		}
		delete(free, path)
	}
	for path := range free {
		t.Errorf("there is no %s", path)
	}
}
