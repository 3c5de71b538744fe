package commands

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/app/startrecord"
	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// runWith executes one command line under the hooks of ctx, with environment variables.
func runWith(ctx context.Context, environment map[string]string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	a := &command.App{Stdout: &out, Stderr: &errs, Getenv: func(name string) string { return environment[name] }}
	code = command.Execute(ctx, a, rootCommand, commandtest.AsText(args))
	return code, out.String(), errs.String()
}

// beginning are the arguments of the first init of a configuration.
func beginning(cfg string, more ...string) []string {
	return append([]string{"init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1",
		"--start", "2025-03-01"}, more...)
}

func recordOf(cfg string) string {
	return startrecord.Path(filepath.Join(filepath.Dir(cfg), "secrets", "user-hash.key"))
}

// nothingOn fails where a broker has a topic of the deployment.
func nothingOn(t *testing.T, addr string) {
	t.Helper()
	c := must.Have(kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{addr}}))
	defer c.Close()
	if _, err := c.Partitions(t.Context(), "shop-control"); !errors.Is(err, kafkalog.ErrUnknownTopic) {
		t.Errorf("the refused init made topics: %v", err)
	}
}

// refusedBy fails unless every command that looks at a deployment refuses it, with some words.
func refusedBy(t *testing.T, cfg string, words ...string) {
	t.Helper()
	for _, line := range [][]string{{"run", "--until-end", "--wait", "1m"}, {"validate"}, {"status"},
		{"change", "--by", "x", "--why", "y"}, {"change", "--dry-run"}, {"recover", "--by", "x"}} {
		code, _, stderr := tollgate(t, append(line, "--config", cfg)...)
		for _, want := range words {
			if code != command.ExitConfig || !strings.Contains(stderr, want) {
				t.Errorf("%v: exit %d, it does not say %q: %s", line, code, want, stderr)
			}
		}
	}
}

// allowedBy fails where a command refuses a deployment.
func allowedBy(t *testing.T, cfg string, words ...string) {
	t.Helper()
	for _, line := range [][]string{{"validate"}, {"status"}, {"init"}} {
		stdout, stderr := mustRun(t, append(line, "--config", cfg)...)
		for _, want := range words {
			if !strings.Contains(stdout+stderr, want) {
				t.Errorf("%v does not say %q: %s%s", line, want, stdout, stderr)
			}
		}
	}
	mustRun(t, "change", "--config", cfg, "--dry-run")
}

func contentsOf(t *testing.T, path string) string {
	t.Helper()
	text := must.Have(os.ReadFile(path))
	return string(text)
}

// Keys that have a deployment begin no other one by mistake: not on brokers with a wrong address,
// not under another name, and not where the control topic was lost.
func TestRuleASecondPromiseMustBeAskedFor(t *testing.T) {
	t.Parallel()
	first, second := commandtest.Broker(t), commandtest.Broker(t)
	cfg := commandtest.DeploymentFile(t, first)
	mustRun(t, beginning(cfg)...)
	record := contentsOf(t, recordOf(cfg))
	refused := func(words ...string) {
		t.Helper()
		code, _, stderr := tollgate(t, beginning(cfg)...)
		for _, want := range append(words, "Nothing was written", "--begin-second-promise") {
			if code != command.ExitConfig || !strings.Contains(stderr, want) {
				t.Errorf("exit %d, it does not say %q: %s", code, want, stderr)
			}
		}
		if got := contentsOf(t, recordOf(cfg)); got != record {
			t.Errorf("the record has changed: %s", got)
		}
	}
	edit(t, cfg, "deployment: shop", "deployment: shop2")
	refused("correct kafka.brokers, deployment or outputs.control", "shop, incarnation ")
	noise := filepath.Join(filepath.Dir(cfg), "secrets", "noise.key")
	must.Succeed(t, os.Rename(noise, noise+".copy"))
	refused("made "+noise, "Nothing was written but "+noise+";")
	must.Succeed(t, os.Rename(noise+".copy", noise))
	edit(t, cfg, "user_hash:", "record: {file: elsewhere}\n  user_hash:")
	// the record beside the key counts
	refused("correct kafka.brokers, deployment or outputs.control", "shop, incarnation ")
	edit(t, cfg, "record: {file: elsewhere}\n  ", "")
	edit(t, cfg, "deployment: shop2", "deployment: shop", first, second)
	refused("correct kafka.brokers")
	nothingOn(t, second)
	refusedBy(t, cfg, "correct kafka.brokers")

	mustRun(t, beginning(cfg, "--begin-second-promise")...)
	allowedBy(t, cfg)
	record = contentsOf(t, recordOf(cfg))
	edit(t, cfg, second, first)
	allowedBy(t, cfg)

	// A control topic that was lost, on the cluster that the record names.
	empty := commandtest.Broker(t)
	edit(t, cfg, first, empty)
	clusters := []string{}
	for _, addr := range []string{first, empty} {
		clusters = append(clusters, clusterOf(t, addr))
	}
	must.Succeed(t, os.WriteFile(recordOf(cfg), []byte(strings.ReplaceAll(record, clusters[0], clusters[1])), 0o600))
	record = contentsOf(t, recordOf(cfg))
	refused("topic shop-control was lost", "restore the deployment's topics from a copy")
	nothingOn(t, empty)
	refusedBy(t, cfg, "topic shop-control was lost")

	// A key that was lost is not made anew.
	must.Succeed(t, os.Remove(filepath.Join(filepath.Dir(cfg), "secrets", "user-hash.key")))
	if code, _, stderr := tollgate(t, beginning(cfg, "--begin-second-promise")...); code != command.ExitConfig ||
		!strings.Contains(stderr, "restore your backup of the key there") {
		t.Errorf("a lost key: exit %d, %s", code, stderr)
	}
}

func clusterOf(t *testing.T, addr string) string {
	t.Helper()
	c := must.Have(kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{addr}}))
	defer c.Close()
	id, err := c.ClusterID(t.Context())
	if err != nil || id == "" {
		t.Fatalf("cluster %q, %v", id, err)
	}
	return id
}

// A deployment that another record knows, under copies of the same keys, is refused by every
// command; the same deployment on another cluster goes on, and every command says that.
func TestRuleADeploymentOfAnotherClusterIsRefusedUnlessItIsTheSame(t *testing.T) {
	t.Parallel()
	first, second, mirror := commandtest.Broker(t), commandtest.Broker(t), commandtest.Broker(t)
	cfg, other := commandtest.DeploymentFile(t, first), commandtest.DeploymentFile(t, second)
	for _, one := range []string{cfg, other} {
		madeKeys(t, one, 0o600)
		mustRun(t, beginning(one)...)
	}
	before := records(t, second, "shop-control")
	edit(t, cfg, first, second)
	refusedBy(t, cfg, "correct kafka.brokers", "cluster "+clusterOf(t, second)+" has incarnation ", "of cluster "+
		clusterOf(t, first))
	if code, _, stderr := tollgate(t, beginning(cfg)...); code != command.ExitConfig || !strings.Contains(stderr,
		"correct kafka.brokers") || !strings.Contains(stderr, "--begin-second-promise") {
		t.Errorf("init: exit %d, %s", code, stderr)
	}
	if n := records(t, second, "shop-control"); n != before {
		t.Errorf("refused commands wrote %d records to control", n-before)
	}

	edit(t, cfg, second, mirror)
	copyTopics(t, first, mirror)
	allowedBy(t, cfg, "after a failover or a restore")
}

// copyTopics makes the topics of a deployment that has not run yet on another broker, with what
// they hold.
func copyTopics(t *testing.T, from, to string) {
	t.Helper()
	ctx := t.Context()
	source := must.Have(kafkalog.Dial(ctx, kafkalog.Config{Brokers: []string{from}}))
	defer source.Close()
	cfg := commandtest.DeploymentFile(t, to)
	madeKeys(t, cfg, 0o600)
	a := &command.App{Stderr: io.Discard, Getenv: func(string) string { return "" }}
	there := must.Have(a.Prepare(cfg, false))
	must.Succeed(t, pipeline.CreateTopics(ctx, there.Deployment, pipeline.TopicOptions{EventPartitions: 1}))
	target := must.Have(kafkalog.Dial(ctx, kafkalog.Config{Brokers: []string{to}}))
	defer target.Close()
	p := must.Have(target.NewProducer(ctx, "shop-control", 0, ""))
	defer p.Close()
	bounds := must.Have(source.Offsets(ctx, "shop-control", 0))
	copied := func(r kafkalog.Record) error {
		_, err := p.Append(ctx, []kafkalog.Message{{Value: slices.Clone(r.Value), Timestamp: kafkalog.At(r.Timestamp)}})
		return err
	}
	must.Succeed(t, source.ReadRange(ctx, "shop-control", 0, 0, bounds.High, copied))
}

// Where the keys come from the environment, a beginning has to be called the first one, unless a
// variable has the record; what init prints is that record.
func TestRuleKeysFromTheEnvironmentBeginNoSecondPromiseByMistake(t *testing.T) {
	t.Parallel()
	first, second := commandtest.Broker(t), commandtest.Broker(t)
	environment := map[string]string{"NOISE": strings.Repeat("5a", 32), "HASH": strings.Repeat("a5", 32)}
	cfg := commandtest.DeploymentFile(t, first, "{file: secrets/noise.key}", "{env: NOISE}",
		"{file: secrets/user-hash.key}", "{env: HASH}\n  record: {env: RECORD}")
	begin := []string{"init", "--config", cfg, "--create-topics", "--event-partitions", "1"}
	if code, _, stderr := runWith(t.Context(), environment, begin...); code != command.ExitConfig ||
		!strings.Contains(stderr, "add --begin-first-promise") || !strings.Contains(stderr, "Nothing was written") {
		t.Errorf("without a word: exit %d, %s", code, stderr)
	}
	nothingOn(t, first)
	code, _, stderr := runWith(t.Context(), environment, append(begin, "--begin-first-promise")...)
	_, line, found := strings.Cut(stderr, "add this line to the environment variable RECORD, so that no second "+
		"promise is begun by mistake:\n")
	if code != command.ExitOK || !found {
		t.Fatalf("the first promise: exit %d, %s", code, stderr)
	}
	for _, line := range []string{"run", "validate"} {
		if code, _, stderr := runWith(t.Context(), environment, line, "--config", cfg); code != command.ExitConfig ||
			!strings.Contains(stderr, "$RECORD, which keys.record names, is empty") {
			t.Errorf("%s without the record that the configuration names: exit %d, %s", line, code, stderr)
		}
	}
	// each init has its own time
	if code, _, stderr := runWith(t.Context(), environment, begin...); code != command.ExitOK ||
		!strings.Contains(stderr, line[:strings.Index(line, `"at"`)]) {
		t.Errorf("init again does not print the line again: exit %d, %s", code, stderr)
	}
	environment["RECORD"] = strings.TrimSuffix(line, "\n")
	if code, stdout, stderr := runWith(t.Context(), environment, begin...); code != command.ExitOK ||
		!strings.Contains(stdout, "already initialised") || strings.Contains(stderr, "RECORD") {
		t.Errorf("the same again: exit %d, %s%s", code, stdout, stderr)
	}
	edit(t, cfg, first, second)
	for _, flags := range [][]string{nil, {"--begin-first-promise"}} {
		if code, _, stderr := runWith(t.Context(), environment, append(begin, flags...)...); code !=
			command.ExitConfig || !strings.Contains(stderr, "correct kafka.brokers") || !strings.Contains(stderr,
			"--begin-second-promise") {
			t.Errorf("on another cluster: exit %d, %s", code, stderr)
		}
	}
	nothingOn(t, second)
	for _, line := range []string{"run", "status", "validate"} {
		if code, _, stderr := runWith(t.Context(), environment, line, "--config", cfg); code != command.ExitConfig ||
			!strings.Contains(stderr, "correct kafka.brokers") {
			t.Errorf("%s on another cluster: exit %d, %s", line, code, stderr)
		}
	}
	code, _, stderr = runWith(t.Context(), environment, append(begin, "--begin-second-promise")...)
	_, line, found = strings.Cut(stderr, "by mistake:\n")
	if code != command.ExitOK || !found {
		t.Fatalf("a second promise: exit %d, %s", code, stderr)
	}
	environment["RECORD"] += "\n" + line
	for _, addr := range []string{second, first} {
		edit(t, cfg, first, addr, second, addr)
		if code, _, stderr := runWith(t.Context(), environment, "status", "--config", cfg); code != command.ExitOK {
			t.Errorf("two promises that were asked for: exit %d, %s", code, stderr)
		}
	}
	edit(t, cfg, "\n  record: {env: RECORD}", "", first, commandtest.Broker(t))
	if code, _, stderr := runWith(t.Context(), environment, begin...); code != command.ExitConfig ||
		!strings.Contains(stderr, "--begin-first-promise") {
		t.Errorf("no place for a record: exit %d, %s", code, stderr)
	}
}

// An init that ends at any point is completed by another one, here or on another cluster, and no
// run goes on before; at no point do two deployments count.
func TestRuleAnInterruptedBeginningIsCompletedAndCountsOnce(t *testing.T) {
	t.Parallel()
	for _, point := range []string{crashpoint.HeaderWriting, crashpoint.HeaderWritten} {
		for _, elsewhere := range []bool{false, true} {
			first, second := commandtest.Broker(t), commandtest.Broker(t)
			cfg := commandtest.DeploymentFile(t, first)
			killed := errors.New("killed")
			ctx := crashpoint.With(t.Context(), crashpoint.Hooks{At: func(reached string, _ int) error {
				if reached == point {
					return killed
				}
				return nil
			}})
			if code, _, stderr := runWith(ctx, nil, beginning(cfg)...); code != command.ExitError ||
				!strings.Contains(stderr, "killed") {
				t.Fatalf("%s: exit %d, %s", point, code, stderr)
			}
			if point == crashpoint.HeaderWritten {
				refusedBy(t, cfg, "an init of the deployment was interrupted", "complete it with tollgate init")
			}
			if elsewhere {
				edit(t, cfg, first, second)
				if code, _, stderr := tollgate(t, beginning(cfg)...); code != command.ExitConfig ||
					!strings.Contains(stderr, "add --begin-first-promise") {
					t.Errorf("%s, then elsewhere without a word: exit %d, %s", point, code, stderr)
				}
				nothingOn(t, second)
				mustRun(t, beginning(cfg, "--begin-first-promise")...)
			} else {
				mustRun(t, beginning(cfg)...)
			}
			allowedBy(t, cfg)
			if elsewhere && point == crashpoint.HeaderWritten {
				edit(t, cfg, second, first)
				refusedBy(t, cfg, "correct kafka.brokers")
			}
		}
	}
}

// If two inits run at once on two clusters, one counts; commands refuse the other deployment.
func TestRuleOfTwoBeginningsAtOnceOneCounts(t *testing.T) {
	t.Parallel()
	addrs := []string{commandtest.Broker(t), commandtest.Broker(t)}
	cfg := commandtest.DeploymentFile(t, addrs[0])
	madeKeys(t, cfg, 0o600)
	other := filepath.Join(filepath.Dir(cfg), "other.yaml")
	must.Succeed(t, os.WriteFile(other, []byte(strings.ReplaceAll(contentsOf(t, cfg), addrs[0], addrs[1])), 0o600))
	// Both write their HEADER before either of them records that it has.
	var written sync.WaitGroup
	written.Add(2)
	ctx := crashpoint.With(t.Context(), crashpoint.Hooks{At: func(reached string, _ int) error {
		if reached == crashpoint.HeaderWritten {
			written.Done()
			written.Wait()
		}
		return nil
	}})
	var all sync.WaitGroup
	var codes [2]int
	var stderr [2]string
	for i, file := range []string{cfg, other} {
		all.Go(func() { codes[i], _, stderr[i] = runWith(ctx, nil, beginning(file)...) })
	}
	all.Wait()
	slices.Sort(codes[:])
	if codes != [2]int{command.ExitOK, command.ExitConfig} || !strings.Contains(stderr[0]+stderr[1],
		"another init began a deployment with these keys first") {
		t.Errorf("exits %v: %v", codes, stderr)
	}
	allowed := 0
	for _, file := range []string{cfg, other} {
		if code, _, _ := tollgate(t, "status", "--config", file); code == command.ExitOK {
			allowed++
		} else {
			refusedBy(t, file, "correct kafka.brokers")
		}
	}
	if allowed != 1 {
		t.Errorf("%d deployments count", allowed)
	}
}

// A record that was cut anywhere, or restored from an early copy, begins no second promise on
// another cluster.
func TestRuleACutRecordBeginsNoSecondPromise(t *testing.T) {
	t.Parallel()
	long.Test(t)
	first, second := commandtest.Broker(t), commandtest.Broker(t)
	cfg := commandtest.DeploymentFile(t, first)
	mustRun(t, beginning(cfg)...)
	whole := contentsOf(t, recordOf(cfg))
	edit(t, cfg, first, second)
	for n := range len(whole) + 1 {
		must.Succeed(t, os.WriteFile(recordOf(cfg), []byte(whole[:n]), 0o600))
		if n > 0 && n%16 != 0 && n < len(whole)-1 && whole[n-1] != '\n' && whole[n] != '\n' {
			continue // each is read for half a second: the rest of a line may be on its way
		}
		if code, _, stderr := tollgate(t, beginning(cfg)...); code == command.ExitOK || !strings.Contains(stderr,
			recordOf(cfg)) {
			t.Fatalf("cut after %d of %d bytes: exit %d, %s", n, len(whole), code, stderr)
		}
	}
	nothingOn(t, second)
}
