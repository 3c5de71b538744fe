package config

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// draft is what a file says, before the files it names are read.
type draft struct {
	cfg deployment.Config

	noiseID                        string
	noise, userHash, record        source
	saslPassword, registryPassword source
	countsPassword                 source // of outputs.registry
	schemaFile                     string
	keyFields, timeFields          []string
	metric                         *deployment.Metric // the metric that is being read
	at                             int                // its index
	listFiles                      []string           // by metric
}

// beginMetric goes on with one of count metrics.
func (d *draft) beginMetric(index, count int) {
	if d.cfg.Metrics == nil {
		d.cfg.Metrics, d.listFiles = make([]deployment.Metric, count), make([]string, count)
	}
	d.metric, d.at = &d.cfg.Metrics[index], index
}

// field returns the field of deployment.Config that a path like Kafka.TLS.CAFile names; Metrics is
// the metric that is being read. Pointers on the way are not nil.
func (d *draft) field(path string) reflect.Value {
	v := reflect.ValueOf(&d.cfg).Elem()
	for i, name := range strings.Split(path, ".") {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v = v.FieldByName(name); i == 0 && name == "Metrics" {
			v = reflect.ValueOf(d.metric).Elem()
		}
	}
	return v
}

// source says where a secret stands that is not in the file: in another file, or in an
// environment variable.
type source struct{ file, env string }

func metricPath(i int) string { return "metrics[" + strconv.Itoa(i) + "]" }
