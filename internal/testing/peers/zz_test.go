package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

func TestZZ(t *testing.T) {
	silence()
	beam.Init()
	c := comparison{ctx: context.Background(), data: newValueData(), dir: t.TempDir()}
	for _, s := range []productSetting{{keysAtMost, eventsAtMost, valueWindows, 511, 0}, {keysAtMost, eventsAtMost, valueWindows, 2000, 0}, {2, 1, 6, 700, 0}, {2, 1, 4, 1000, 0}, {2, 1, 5, 511, 0}, {2, 1, 5, 700, 0}, {2, 1, 4, 700, 0}, {2, 2, 4, 700, 0}, {2, 1, 3, 1000, 0}, {2, 1, 3, 700, 0}} {
		if err := c.product("quantiles", "x", s); err != nil {
			t.Fatal(err)
		}
		for _, r := range c.table.rows[len(c.table.rows)-3:] {
			fmt.Println(r...)
		}
	}
}
