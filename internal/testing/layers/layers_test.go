package layers

// A layer is a group of packages that know the same things.
type layer struct {
	name     string
	sees     []string // earlier layers, of which its packages may import all
	outside  []string // of the modules in restricted, those that it may import
	packages []entry  // a package may import those on the lines above it
}

// An entry is a package, by its path in the module, and what it is for.
type entry struct{ path, why string }

// Modules that decide where a package can be used: what imports them cannot be had without them.
const (
	beam      = "github.com/apache/beam"
	kafkaGo   = "github.com/segmentio/kafka-go"
	franz     = "github.com/twmb/franz-go"
	testTools = "github.com/testcontainers"
)

var restricted = []string{beam, kafkaGo, franz, testTools}

// module lists the layers from the bottom up: data goes down the list, an import up. A new package
// is a new line here; a new arrow shows what it would tie together.
func module() []layer {
	return []layer{
		{name: "secrets", packages: []entry{{"schemas/secret", "what is never printed"}}},
		{name: "numbers", packages: []entry{
			{"internal/numbers/int128", "integers of 128 bits"},
			{"internal/numbers/rounding", "float64 arithmetic rounded to one side"},
			{"internal/numbers/search", "where a condition begins to hold"},
			{"internal/numbers/wallclock", "days and hours of a time zone"},
			{"state/internal/bigmath", "tables and bounds in exact arithmetic"},
			{"state/units", "the numbers in which privacy loss is counted"},
			{"state/budgets", "from a promise to what accounts may spend, and back"},
			{"state/internal/fixed", "sums of losses in integers, and what fits a budget"},
			{"state/accounts", "what every user has spent, and its form at rest"},
		}},
		{name: "memory", packages: []entry{{"internal/hooks/poison", "overwrites memory that is given back, under test"}}},
		{name: "accounting", sees: []string{"numbers"}, packages: []entry{
			{"state/internal/stored", "states at rest"},
			{"state/loss", "the vocabulary of losses"},
			{"state/conversion", "from one description of a loss to another"},
			{"state/filter", "how much may still be spent"},
			{"state/odometer", "how much was spent"},
			{"state/individual", "filters and odometers for each user"},
			{"state/continual", "counts after every step, with an account for every user"},
			{"state/pld", "composition by distributions of the loss"},
			{"state/bucket", "one curve for many losses"},
			{"state/compose", "what mechanisms cost together, by every accountant"},
		}},
		{name: "wire", sees: []string{"secrets", "numbers", "memory"}, packages: []entry{
			{"internal/formats/spelling", "names in texts, and which one was meant"},
			{"schemas/metrickind", "the table of metric kinds"},
			{"schemas", "what stands on topics and disks; nothing of how it is made"},
			{"schemas/event/filter", "which events a metric takes"},
			{"internal/formats/avro", "schemas and values of Avro"},
			{"internal/formats/csvrow", "rows of CSV"},
			{"schemas/event", "events of others, decoded"},
		}},
		{name: "noise", sees: []string{"secrets", "numbers", "accounting"}, packages: []entry{
			{"transforms/noisereduction", "sampler, ladders, thresholds; knows no record"},
			{"transforms/mechanisms", "other mechanisms, and their prices"},
		}},
		{name: "experiments", sees: []string{"numbers", "accounting", "noise"}, packages: []entry{
			{"internal/app/experiment", "what an experiment is and finds"},
			{"internal/app/experiment/counts", "counts to a relative error under one budget"},
			{"internal/app/experiment/odometers", "what it costs not to know the horizon"},
			{"internal/app/experiment/filters", "individual accounting by GDP, RDP and distributions"},
			{"internal/app/experiment/descent", "gradient descent with an account for every example"},
		}},
		{name: "spending", sees: []string{"secrets", "numbers", "memory", "wire", "noise"}, packages: []entry{
			{"transforms/spend", "clipping, admission, charging; no Beam, so that it is tested without"},
			{"transforms/release", "ladders, what is published, settlement; no Beam either"},
		}},
		{name: "transforms", sees: []string{"secrets", "numbers", "wire", "noise", "spending"}, outside: []string{beam}, packages: []entry{
			{"internal/hooks/localrunner", "how the local runner has to run"},
			{"transforms/hook", "what an author plugs in, on its way to the worker"},
			{"transforms", "the DoFns, and interfaces to the outside world; no Kafka, for other logs fit as well"},
			{"transforms/plain", "parts that are used alone"},
			{"transforms/direct", "Beam's graphs in this process; knows no transform of ours"},
		}},
		{name: "kafka", sees: []string{"secrets", "memory", "wire"}, outside: []string{kafkaGo, franz}, packages: []entry{
			{"internal/kafka/kafkalog", "partitions as logs; knows no deployment"},
			{"internal/kafka/registry", "schemas by id"},
		}},
		// Deployment: what is configured, and what follows from it: passive. It asks no server.
		{name: "deployment", sees: []string{"secrets", "numbers", "wire", "noise", "spending", "transforms", "kafka"}, packages: []entry{
			{"pipeline/internal/calendar", "which turn covers a time, which windows end with it"},
			{"pipeline/deployment", "what is configured, checked, and what follows from it"},
		}},
		// Stages, in the direction of the data; that none imports pipeline follows.
		{
			name: "stages", sees: []string{"secrets", "numbers", "memory", "wire", "noise", "spending", "transforms", "kafka", "deployment"},
			outside: []string{beam, kafkaGo}, packages: []entry{
				{"internal/hooks/crashpoint", "where tests interrupt a run; does nothing otherwise"},
				{"pipeline/internal/connect", "a client of a configuration"},
				{"pipeline/internal/controllog", "which records belong to a turn, what it released, who goes on"},
				{"pipeline/internal/changes", "what may be changed, and the next generation"},
				{"pipeline/internal/topicrules", "how topics must be set up"},
				{"pipeline/internal/fencing", "one writer for a partition"},
				{"pipeline/internal/watch", "why nothing moves, what is lost, when counts come"},
				{"pipeline/internal/packing", "contributions on their way to the shards"},
				{"pipeline/internal/ledgerlog", "the ledger on its topic"},
				{"pipeline/internal/countslog", "what was published"},
				{"pipeline/internal/reading", "READ: outcomes, CLOSE, OPEN, where to continue after a start"},
				{"pipeline/internal/publishing", "RELEASE, PUBLISH and SETTLE on Kafka"},
				{"pipeline/internal/admin", "what operators do between runs"},
			},
		},
		{name: "published", sees: []string{"secrets", "wire", "kafka", "deployment", "stages"}, packages: []entry{
			{"pipeline/published", "what was published, for programs that only read"},
		}},
		{
			name: "pipeline", sees: []string{"secrets", "numbers", "wire", "noise", "spending", "transforms", "kafka", "deployment", "stages", "published"},
			outside: []string{beam, kafkaGo}, packages: []entry{
				{"pipeline", "what a library's user calls: Compile, Init, Run, Change"},
				{"pipeline/flink", "a cluster of Flink, for programs that import it"},
			},
		},
		{name: "front", sees: []string{"secrets", "numbers", "wire", "noise", "spending", "deployment", "published", "pipeline"}, packages: []entry{
			{"internal/app/keyfile", "the format of key files"},
			{"internal/app/startrecord", "which deployments have begun under keys"},
			{"internal/app/config", "configuration files"},
			{"internal/app/terminal", "tables and charts in a terminal"},
			{"internal/app/plan", "what follows from a configuration, before anything runs"},
			{"internal/app/plan/choice", "which settings fit events that have happened"},
			{"internal/app/outcomes", "what became of the records, and whether most were lost"},
			{"internal/app/report", "released values as a page"},
			{"internal/app/monitor/process", "what a process uses, as metrics"},
			{"internal/app/monitor", "what a run knows of itself, over HTTP"},
			{"docs", "documents that programs serve"},
			{"internal/app/serve", "released values for the public, over HTTP; has no key"},
			{"internal/app/outfile", "files that appear whole or not at all"},
			{"internal/app/cli", "what the command lines of all programs share"},
			{"internal/app/eventfile", "files of events in the order of time"},
			{"internal/app/generate", "made-up events"},
		}},
		{name: "demo", sees: []string{"secrets", "numbers", "wire", "noise", "experiments", "spending", "kafka", "deployment", "pipeline", "front"}, outside: []string{franz}, packages: []entry{
			{"internal/kafka/embedded", "a broker in the process"},
			{"internal/app/demo", "all of it in one process, with a broker of its own"},
			{"internal/app/experiment/year", "a year under one promise, with accounts and without"},
			{"internal/app/experiment/page", "what an experiment found, as a page"},
			{"internal/app/replay", "a file onto an events topic"},
		}},
		{
			name: "programs", packages: []entry{
				{"internal/app/commands", "parses flags, calls, and prints"},
				{"cmd/runner", "the program; one call"},
				{"cmd/experiments", "the papers' experiments, by name"},
			},
			sees: []string{"secrets", "numbers", "accounting", "wire", "noise", "experiments", "transforms", "kafka", "deployment", "pipeline", "front", "demo"},
		},
		// What only tests import; files that ship, of any layer above, never do.
		{name: "tests", outside: []string{beam}, sees: []string{"secrets", "numbers", "wire", "noise", "experiments", "transforms", "kafka", "deployment", "front", "demo"}, packages: []entry{
			{"internal/testing/await", "conditions that tests wait for"},
			{"internal/testing/deploytest", "what tests of deployments share"},
			{"internal/testing/shapes", "ten data sets, and what a demo releases of them"},
			{"internal/testing/long", "tests that `go test ./...` leaves out"},
			{"internal/testing/chance", "rates and probabilities"},
			{"internal/testing/doccheck", "documents and tree agree"},
			{"internal/testing/fakeregistry", "a schema registry in the process"},
			{"internal/testing/python", "an interpreter for the programs of docs"},
			{"internal/testing/runseed", "what random tests draw"},
			{"internal/testing/golden", "golden files"},
			{"internal/testing/repeated", "experiments, run and compared"},
			{"internal/testing/atrest", "what every state at rest keeps to"},
			{"internal/testing/layers", "this test"},
			{"internal/testing/memledger", "a ledger in memory"},
			{"internal/testing/process", "programs that tests start and kill"},
			{"internal/testing/realkafka", "Apache Kafka as a process"},
			{"internal/testing/brokerprocess", "the embedded broker as a process"},
			{"internal/testing/realflink", "a cluster of Apache Flink as processes"},
			{"internal/testing/workload", "the events of benchmarks"},
			{"internal/testing/reference", "what must come out, computed a second time; no code of pipeline or spend"},
			{"integration", "tests of the whole"},
		}},
		// A module of its own, with the dependencies that the product does without.
		{
			name: "peers", sees: []string{"secrets", "wire", "noise", "experiments", "kafka", "pipeline", "front", "demo", "tests"},
			outside: []string{beam}, packages: []entry{{"internal/testing/peers", "this product beside others that count"}},
		},
		// Another, with what reads files for Docker and Kubernetes.
		{name: "deployment files", packages: []entry{
			{"internal/testing/deployfiles", "whether the files of deploy are well-formed, and mean what they are for"},
			{"deploy/release", "images without a Docker engine"},
		}},
	}
}
