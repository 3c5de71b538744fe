package generate

import (
	"math"
	"time"
)

// pieces is the number of slices of the stream. Arrivals are uniform within a slice.
const pieces = 2880

// daily returns the traffic at a time of day as a multiple of the mean traffic. It is always above
// 0: low at four in the morning, with a shoulder at noon and a peak in the evening.
func daily(t time.Time) float64 {
	day := float64(t.UnixMilli()%86_400_000) / 86_400_000
	return 1 - 0.55*math.Cos(2*math.Pi*(day-5.0/24)) - 0.18*math.Cos(4*math.Pi*(day-1.5/24))
}

// arrivals distributes events over slices in proportion to daily. The numbers of events in all
// slices add up to the exact number of events.
type arrivals struct {
	start, span float64 // Unix milliseconds
	upTo        []int   // number of events up to the end of each slice
}

func newArrivals(c Config) arrivals {
	a := arrivals{
		start: float64(c.Start.UnixMilli()),
		span:  float64(c.End().UnixMilli() - c.Start.UnixMilli()),
		upTo:  make([]int, pieces),
	}
	weights := make([]float64, pieces)
	sum := 0.0
	for i := range weights {
		middle := a.start + a.span*(float64(i)+0.5)/pieces
		sum += daily(time.UnixMilli(int64(middle)))
		weights[i] = sum
	}
	for i, w := range weights {
		a.upTo[i] = int(math.Round(w / sum * float64(c.Events)))
	}
	return a
}

// millis returns the Unix milliseconds at a fraction of a slice.
func (a arrivals) millis(slice int, fraction float64) int64 {
	return int64(math.Floor(a.start + a.span*(float64(slice)+fraction)/pieces))
}
