package report

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/golden"
)

// coarse is how many pixels, in both directions, one pixel of a compared picture covers: fonts may
// differ between machines, the layout may not.
const coarse = 8

// picture takes a picture of what is on the screen.
func (b *tab) picture() image.Image {
	b.t.Helper()
	var shot struct{ Data []byte }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	img, err := png.Decode(bytes.NewReader(shot.Data))
	if err != nil {
		b.t.Fatal(err)
	}
	return img
}

// reduced averages the pixels of each block.
func reduced(img image.Image) *image.Gray {
	size := img.Bounds().Size().Div(coarse)
	out := image.NewGray(image.Rectangle{Max: size})
	for block := range size.X * size.Y {
		x, y, sum := block%size.X, block/size.X, 0
		for i := range coarse * coarse {
			sum += int(color.GrayModel.Convert(img.At(x*coarse+i%coarse, y*coarse+i/coarse)).(color.Gray).Y)
		}
		out.SetGray(x, y, color.Gray{Y: uint8(sum / coarse / coarse)})
	}
	return out
}

// looksLike compares a picture with a file, which -update writes. Both are compared as they look
// from afar: by blocks. Few blocks may differ much.
func looksLike(t *testing.T, path string, got image.Image) {
	t.Helper()
	if golden.Updating() {
		var b bytes.Buffer
		encoder := png.Encoder{CompressionLevel: png.BestCompression}
		if err := encoder.Encode(&b, got); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (write it with -update)", err)
	}
	want, err := png.Decode(bytes.NewReader(text))
	if err != nil || want.Bounds() != got.Bounds() {
		t.Fatalf("%s: %v, %v; want %v", path, err, got.Bounds(), want.Bounds())
	}
	if len(text) > 150_000 {
		t.Errorf("%s has %d bytes", path, len(text))
	}
	if _, ok := got.(*image.Gray); !ok {
		want, got = reduced(want), reduced(got)
	}
	far, a, b := 0, want.(*image.Gray).Pix, got.(*image.Gray).Pix
	for i := range a {
		if max(a[i], b[i])-min(a[i], b[i]) > 24 {
			far++
		}
	}
	if share := float64(far) / float64(len(a)); share > 0.03 {
		t.Errorf("%.1f%% of %s look different; write it with -update, and look at it", 100*share, path)
	}
}

// shop is a server of the sample's last hours, asked minutes after its newest window was due.
func shop(t *testing.T, s sample, late time.Duration) (address, clock string) {
	t.Helper()
	end := time.UnixMilli(monday + 24*hour)
	l := &liveServer{t: t, sample: s, kept: "The newest windows of each metric, at most 500.",
		due: &Due{Slide: time.Hour, Wait: time.Minute, Grid: time.Second, Since: end}}
	if s.releases != nil {
		l.settled.Add(1, time.UnixMilli(monday+hour), time.UnixMilli(monday+hour))
		l.settled.Add(1, end, end)
	}
	l.publish()
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	return server.URL + "/", fmt.Sprintf("Date.now = () => %d;", end.Add(late).UnixMilli())
}

// The pictures of README and of other states: -update makes them.
func TestPictures(t *testing.T) {
	browser(t)
	for _, tc := range []struct {
		path   string
		sample sample
		late   time.Duration // negative: a file
		screen screen
		scheme string
	}{
		{"../../../docs/img/live.png", pages(), 75 * time.Second, screen{1120, 690, 1, false}, "light"},
		{"testdata/live-late.png", pages(), 3 * time.Hour, desktop, "dark"},
		{"testdata/live-empty.png", sample{promise: pages().promise}, 0, desktop, "light"},
		{"testdata/live-phone.png", mixed(), 75 * time.Second, phone, "light"},
		{"testdata/histogram.png", shares(12, []string{"a", "b"}, fiveBuckets...), -1, desktop, "light"},
		{"testdata/quantiles.png", ranked(24, 500, []string{"a", "b"}, fiveRanks...), -1, phone, "dark"},
	} {
		t.Run(filepath.Base(tc.path), func(t *testing.T) {
			var b *tab
			if tc.late < 0 {
				b = browse(t, render(t, tc.sample, MaxPoints, written), tc.screen, tc.scheme)
			} else {
				address, clock := shop(t, tc.sample, tc.late)
				b = visit(t, address, tc.screen, tc.scheme, clock)
			}
			img := b.picture()
			if filepath.Dir(tc.path) == "testdata" {
				img = reduced(img)
			}
			looksLike(t, tc.path, img)
		})
	}
}
