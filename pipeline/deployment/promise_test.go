package deployment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// "Almost as likely" is used only if it is true. The factors are e^ε by mpmath, rounded up; beside
// them is [exp(x) for x in (1, 2.3, 2.31, 10, 13.8, 13.9)] to ten digits.
func TestMeaningIsTrueOfEveryPromise(t *testing.T) {
	for _, test := range []struct {
		epsilon, delta float64
		factor, says   string
	}{
		{1, 1e-6, "2.72", "would be almost as likely without any one user"},                            // 2.718281828
		{2.3, 9e-4, "9.98", "would be almost as likely without any one user"},                          // 9.974182455
		{2.31, 1e-6, "10.1", "can be 10.1 times as likely with as without any one user"},               // 10.07442466
		{10, 1e-6, "22027", "can be 22027 times as likely with as without any one user"},               // 22026.46579
		{13.8, 1e-6, "984610", "can be 984610 times as likely with as without any one user"},           // 984609.1112
		{13.9, 0, "more than a million", "can be more than a million times as likely with as without"}, // 1088161.355
		{1e6, 0, "more than a million", "can be more than a million times as likely with as without"},
		{1, 0.5, "2.72", "would, but for a probability of 0.5, be almost as likely without any one user"},
		{10, 1e-3, "22027", "can, but for a probability of 0.001, be 22027 times as likely"},
	} {
		if got := deployment.Factor(test.epsilon); got != test.factor {
			t.Errorf("ε = %v: the factor is said to be %s, and is %s", test.epsilon, got, test.factor)
		}
		if got := deployment.Meaning(test.epsilon, test.delta); !strings.HasPrefix(got, test.says) {
			t.Errorf("ε = %v, δ = %v: %q", test.epsilon, test.delta, got)
		}
	}
}

// A promise that is one in name only gets a warning, at the field that makes it so.
func TestWeakPromisesAreDoubted(t *testing.T) {
	for _, test := range []struct {
		epsilon, delta float64
		fields         []string
	}{
		{10, 9.9e-4, nil}, {10.1, 1e-6, []string{"Privacy.Epsilon"}}, {1, 1e-3, []string{"Privacy.Delta"}},
		{1000, 0.5, []string{"Privacy.Epsilon", "Privacy.Delta"}},
	} {
		cfg := deploytest.Config("localhost:1")
		cfg.Privacy.Epsilon, cfg.Privacy.Delta, cfg.Privacy.Lasts = test.epsilon, test.delta, 365*24*time.Hour
		d := must.Have(deployment.Compile(cfg))
		var fields []string
		for _, one := range deployment.Warnings(d) {
			fields = append(fields, one.Field)
		}
		if strings.Join(fields, " ") != strings.Join(test.fields, " ") {
			t.Errorf("ε = %v, δ = %v: warnings about %v", test.epsilon, test.delta, fields)
		}
	}
}
