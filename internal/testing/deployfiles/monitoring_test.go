package deployfiles

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	_ "github.com/prometheus/prometheus/discovery/kubernetes" // registers kubernetes_sd_configs
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"sigs.k8s.io/yaml"
)

const alertsFile = deploy + "monitoring/alerts.yaml"

func promParser() parser.Parser { return parser.NewParser(parser.Options{}) }

// alerts returns the rules of the alerts, read as Prometheus reads them.
func alerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(alertsFile, false, model.UTF8Validation, promParser(), promslog.NewNopLogger())
	for _, err := range errs {
		t.Fatal(err)
	}
	var all []rulefmt.Rule
	for _, g := range groups.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

func TestAlertsHaveRunbooks(t *testing.T) {
	runbook, err := os.ReadFile("../../../docs/runbook.md")
	ok(t, err)
	for _, rule := range alerts(t) {
		_, anchor, _ := strings.Cut(rule.Annotations["runbook_url"], "#")
		if anchor != strings.ToLower(rule.Alert) || !strings.Contains(string(runbook), "### "+rule.Alert+"\n") {
			t.Errorf("%s: runbook_url %q is not a section of docs/runbook.md", rule.Alert, rule.Annotations["runbook_url"])
		}
	}
}

// The files of promtool test rules, as far as these need them.
type ruleTests struct {
	RuleFiles          []string       `json:"rule_files"`
	EvaluationInterval model.Duration `json:"evaluation_interval"`
	Tests              []ruleTest     `json:"tests"`
}

type ruleTest struct {
	Name        string         `json:"name"`
	Interval    model.Duration `json:"interval"`
	InputSeries []struct {
		Series string `json:"series"`
		Values string `json:"values"`
	} `json:"input_series"`
	Cases []alertCase `json:"alert_rule_test"`
}

type alertCase struct {
	EvalTime  model.Duration `json:"eval_time"`
	AlertName string         `json:"alertname"`
	Expected  []struct {
		Labels      map[string]string `json:"exp_labels"`
		Annotations map[string]string `json:"exp_annotations"`
	} `json:"exp_alerts"`
}

func TestEveryAlertFiresAndClears(t *testing.T) {
	var tests ruleTests
	ok(t, yaml.UnmarshalStrict(file(t, "monitoring/alerts-test.yaml"), &tests))
	// By alert, in the order of a test: fired, and then did not.
	fired, cleared := map[string]bool{}, map[string]bool{}
	for _, test := range tests.Tests {
		before := map[string]bool{}
		for _, c := range test.Cases {
			switch {
			case len(c.Expected) > 0:
				fired[c.AlertName], before[c.AlertName] = true, true
			case before[c.AlertName]:
				cleared[c.AlertName] = true
			}
		}
		t.Run(test.Name, func(t *testing.T) {
			problems, err := test.run(time.Duration(tests.EvaluationInterval), alertsFile)
			ok(t, err)
			for _, p := range problems {
				t.Error(p)
			}
		})
	}
	for _, rule := range alerts(t) {
		if !fired[rule.Alert] || !cleared[rule.Alert] {
			t.Errorf("no test has %s fire and then clear", rule.Alert)
		}
	}
}

// run evaluates the rules over the series of a test, and says what is not as expected.
func (test *ruleTest) run(every time.Duration, rulesFile string) (problems []string, err error) {
	compared := 0
	last := slices.MaxFunc(test.Cases, func(a, b alertCase) int { return int(a.EvalTime - b.EvalTime) }).EvalTime
	err = test.evaluate(every, time.Duration(last), rulesFile, func(at time.Duration, firing map[string][]string) {
		for _, c := range test.Cases {
			if time.Duration(c.EvalTime) != at {
				continue
			}
			compared++
			if got, want := firing[c.AlertName], c.expected(); !slices.Equal(got, want) {
				problems = append(problems, fmt.Sprintf("%s after %s:\n%s\nwant:\n%s", c.AlertName, c.EvalTime, strings.Join(got, "\n"), strings.Join(want, "\n")))
			}
		}
	})
	if err == nil && compared != len(test.Cases) {
		problems = append(problems, "an eval_time is between two evaluations")
	}
	return problems, err
}

// evaluate evaluates the rules over the series of a test, as a Prometheus would at every interval
// up to the last, and calls each with the alerts that fire.
func (test *ruleTest) evaluate(every, last time.Duration, rulesFile string, each func(at time.Duration, firing map[string][]string)) (err error) {
	var load strings.Builder
	fmt.Fprintf(&load, "load %s\n", test.Interval)
	for _, s := range test.InputSeries {
		fmt.Fprintf(&load, "  %s %s\n", s.Series, s.Values)
	}
	suite, err := promqltest.NewLazyLoader(load.String(), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true, Parser: promParser()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, suite.Close()) }()
	suite.SubqueryInterval = every
	groups, errs := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()), AppendableV2: suite.Storage(), Context: context.Background(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, Logger: promslog.NewNopLogger(), Parser: promParser(),
	}).LoadGroups(every, labels.EmptyLabels(), "", nil, false, rulesFile)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for at := time.Duration(0); at <= last; at += every {
		firing, evaluating := map[string][]string{}, []error{}
		suite.WithSamplesTill(time.Unix(0, 0).Add(at), func(err error) {
			evaluating = append(evaluating, err)
			for _, g := range groups {
				g.Eval(suite.Context(), time.Unix(0, 0).UTC().Add(at))
				for _, rule := range g.Rules() {
					evaluating = append(evaluating, rule.LastError())
					for _, a := range rule.(*rules.AlertingRule).ActiveAlerts() {
						if a.State == rules.StateFiring {
							firing[rule.Name()] = append(firing[rule.Name()], a.Labels.String()+a.Annotations.String())
						}
					}
				}
			}
		})
		if err := errors.Join(evaluating...); err != nil {
			return err
		}
		each(at, firing)
	}
	return nil
}

func (c *alertCase) expected() (texts []string) {
	for _, e := range c.Expected {
		all := maps.Clone(e.Labels)
		all[labels.AlertName] = c.AlertName
		texts = append(texts, labels.FromMap(all).String()+labels.FromMap(e.Annotations).String())
	}
	return texts
}

func TestPrometheusReadsItsConfigurations(t *testing.T) {
	for _, name := range []string{"compose/prometheus.yaml", "monitoring/prometheus-kubernetes.yaml"} {
		c, err := config.LoadFile(deploy+name, false, promslog.NewNopLogger())
		ok(t, err)
		for _, s := range c.ScrapeConfigs {
			ok(t, s.Validate(c.GlobalConfig))
		}
	}
}
