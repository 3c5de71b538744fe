package config

import (
	"strconv"

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

// source says where a secret stands that is not in the file: in another file, or in an
// environment variable.
type source struct{ file, env string }

func metricPath(i int) string { return "metrics[" + strconv.Itoa(i) + "]" }
