package forecast_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/forecast"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

const benchCells = 4_000_000

// benchWindows returns 4 million cells of 200,000 users in 100 windows, 4 in a sitting.
func benchWindows(keys int) *sample.Windows {
	const users, windows = 200_000, 100
	random := rand.New(rand.NewPCG(1, 2)) // fixed seed: runs of a benchmark are compared
	cells := make([][]sample.Cell, windows)
	for range benchCells / 4 {
		at, user := random.IntN(windows), random.Uint32N(users)
		for range 4 {
			key := uint32(float64(keys) * random.Float64() * random.Float64())
			cells[at] = append(cells[at], sample.Cell{User: user, Key: key, Events: 1 + random.Uint32N(5)})
		}
	}
	w := sample.NewWindows(size, 0, 1, cells)
	w.Keys = keys
	for k := range keys {
		w.Names = append(w.Names, fmt.Sprint(k))
	}
	return w
}

// BenchmarkForecast walks along 4 million cells on one path, with few counts and with many.
func BenchmarkForecast(b *testing.B) {
	for _, c := range []struct {
		keys, most int
		public     bool
	}{{20, 2, true}, {20, 2, false}, {1000, 2, false}, {1000, 10, false}, {20000, 5, false}} {
		b.Run(fmt.Sprintf("keys=%d/most=%d/public=%v", c.keys, c.most, c.public), func(b *testing.B) {
			w := benchWindows(c.keys)
			settings := demo.Settings{Epsilon: 1, MaxKeysPerUser: c.most, MaxEventsPerKey: 3, LastAtLeast: 24}
			if c.public {
				settings.PublicKeys = w.Names
			}
			d := compiled(b, settings, nil)
			b.ReportAllocs()
			for b.Loop() {
				of(b, w, d, forecast.Options{Seed: 1})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchCells, "ns/cell")
		})
	}
}

// BenchmarkGrid forecasts 150 settings of bounds on 4 million cells, with all cores over the
// settings.
func BenchmarkGrid(b *testing.B) {
	w := benchWindows(1000)
	var grid []*deployment.Deployment
	for keys := range 10 {
		for events := range 5 {
			for _, last := range []int{3, 24, 168} {
				grid = append(grid, compiled(b, demo.Settings{Epsilon: 1, MaxKeysPerUser: 1 + keys, MaxEventsPerKey: 1 + events, LastAtLeast: last}, nil))
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		slots := make(chan struct{}, runtime.GOMAXPROCS(0))
		var wait sync.WaitGroup
		for _, d := range grid {
			slots <- struct{}{}
			wait.Go(func() {
				defer func() { <-slots }()
				of(b, w, d, forecast.Options{Seed: 1})
			})
		}
		wait.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchCells/float64(len(grid)), "ns/cell")
}
