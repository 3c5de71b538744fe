package year

import (
	"fmt"
	"slices"
)

// grid holds the possible values of each parameter of a method, in ascending order.
type grid [][]float64

// search looks for the point of the grid with the least cost. It starts in the middle. As long as a
// neighbour along one parameter costs less, it moves to the best such neighbour. All methods use
// the same search.
func (g grid) search(cost func(point []float64) (float64, error)) ([]float64, error) {
	costs := map[string]float64{}
	var point []float64
	try := func(index []int) (float64, error) {
		point = point[:0]
		for i := range g {
			point = append(point, g[i][index[i]])
		}
		name := fmt.Sprint(point)
		if c, tried := costs[name]; tried {
			return c, nil
		}
		c, err := cost(point)
		costs[name] = c
		return c, err
	}
	best := make([]int, len(g))
	for i := range g {
		best[i] = len(g[i]) / 2
	}
	least, err := try(best)
	for moved := true; moved && err == nil; {
		moved = false
		for from, n := slices.Clone(best), 0; n < 2*len(g) && err == nil; n++ {
			to := slices.Clone(from)
			if to[n/2] += 2*(n%2) - 1; to[n/2] < 0 || to[n/2] >= len(g[n/2]) {
				continue
			}
			var c float64
			if c, err = try(to); err == nil && c < least {
				best, least, moved = to, c, true
			}
		}
	}
	if err == nil {
		_, err = try(best)
	}
	return point, err
}
