package serve

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tollgate-dp/tollgate/internal/app/monitor/process"
)

// metrics holds the Prometheus metrics of this process. Labels contain only the route and the
// status of a request.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	values   prometheus.Gauge
	turn     prometheus.Gauge
}

// newMetrics returns new metrics. brokerResponse returns the Unix time of Kafka's last response.
func newMetrics(brokerResponse func() float64) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tollgate_serve_requests_total", Help: "Responses, by route and status code.",
		}, []string{"route", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tollgate_serve_request_duration_seconds", Help: "Time from the header of a request until the " +
				"response was written, by route.",
			Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30},
		}, []string{"route"}),
		values: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tollgate_serve_values", Help: "Number of published values that are kept.",
		}),
		turn: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tollgate_serve_last_turn_timestamp_seconds", Help: "End of the last turn whose values were " +
				"read, in event time as Unix seconds; 0 before the first.",
		}),
	}
	m.registry.MustRegister(m.requests, m.duration, m.values, m.turn, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tollgate_serve_broker_answered_timestamp_seconds", Help: "Time of Kafka's last response to this " +
			"process, as Unix seconds.",
	}, brokerResponse))
	return m
}

// handler returns a handler that serves the metrics to Prometheus.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(process.Gatherer(m.registry), promhttp.HandlerOpts{DisableCompression: true,
		MaxRequestsInFlight: 4})
}

// counted wraps a handler so that the responses of its route are counted and timed.
func (m *metrics) counted(route string, h http.Handler) http.Handler {
	labels := prometheus.Labels{"route": route}
	return promhttp.InstrumentHandlerDuration(m.duration.MustCurryWith(labels),
		promhttp.InstrumentHandlerCounter(m.requests.MustCurryWith(labels), h))
}
