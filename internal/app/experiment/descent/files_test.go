package descent

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
)

// idxFile returns a file in the IDX format.
func idxFile(magic uint32, sizes []uint32, content ...byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, magic)
	for _, s := range sizes {
		out = binary.BigEndian.AppendUint32(out, s)
	}
	return append(out, content...)
}

func compressed(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func pixels(n int, value byte) []byte { return bytes.Repeat([]byte{value}, n*side*side) }

func TestMNISTIsRead(t *testing.T) {
	o := experiment.Options{Data: t.TempDir()}
	if d, err := mnist(o); d != nil || err != nil {
		t.Fatalf("nothing there: %v, %v", d, err)
	}
	write(t, o.Data, mnistData.Files[0], idxFile(0x803, []uint32{2, 28, 28}, append(pixels(1, 255),
		pixels(1, 0)...)...))
	if _, err := mnist(o); err == nil || !strings.Contains(err.Error(), "of MNIST, but not train-labels-idx1-ubyte "+
		"and t10k") {
		t.Fatalf("three files are missing: %v", err)
	}
	write(t, o.Data, mnistData.Files[1]+".gz", compressed(t, idxFile(0x801, []uint32{2}, 7, 0)))
	write(t, o.Data, mnistData.Files[2]+".gz", compressed(t, idxFile(0x803, []uint32{1, 28, 28}, pixels(1, 51)...)))
	write(t, o.Data, mnistData.Files[3], idxFile(0x801, []uint32{1}, 9))
	d, err := mnist(o)
	if err != nil {
		t.Fatal(err)
	}
	if got := row(d.train.x, 0); d.train.classes[0] != 7 || math.Abs(got[5]-(1-0.1307)/0.3081) > 1e-12 {
		t.Errorf("the first image is of %d, %v", d.train.classes[0], got[5])
	}
	if got := row(d.test.x, 0); d.test.classes[0] != 9 || math.Abs(got[195]-(0.2-0.1307)/0.3081) > 1e-12 {
		t.Errorf("the image to test is of %d, %v", d.test.classes[0], got[195])
	}
}

const anAdult = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, " +
	"0, 40, United-States, <=50K\n"

func TestAdultIsRead(t *testing.T) {
	o := experiment.Options{Data: t.TempDir()}
	unknown := strings.NewReplacer("State-gov", "?", "<=50K", ">50K.").Replace(anAdult)
	write(t, o.Data, "adult.data", []byte(anAdult+anAdult+"\n"))
	write(t, o.Data, "adult.test", []byte("|1x3 Cross validator\n"+unknown))
	d, err := adult(o)
	if err != nil {
		t.Fatal(err)
	}
	if d.inputs != 105 || len(d.train.classes) != 2 || d.train.classes[0] != 0 || len(d.test.classes) != 1 ||
		d.test.classes[0] != 1 {
		t.Fatalf("%d inputs, classes %v and %v", d.inputs, d.train.classes, d.test.classes)
	}
	ones := func(x []float64) (n int) {
		for _, v := range x {
			if v == 1 {
				n++
			}
		}
		return n
	}
	if a, b := row(d.train.x, 1), row(d.test.x, 0); a[0] != 0.39 || a[6] != 1 || b[6] != 0 || ones(a) != 8 ||
		ones(b) != 7 {
		t.Errorf("%v\n%v", a, b)
	}
}

func FuzzDigits(f *testing.F) {
	f.Add(idxFile(0x803, []uint32{1, 28, 28}, pixels(1, 1)...), idxFile(0x801, []uint32{1}, 1))
	f.Fuzz(func(t *testing.T, images, labels []byte) {
		p, err := digitsOf(images, labels)
		if err == nil && (len(p.classes) == 0 || len(p.x.Data) != len(p.classes)*p.x.Cols) {
			t.Errorf("%d inputs of %d images", len(p.x.Data), len(p.classes))
		}
	})
}

func FuzzIncomes(f *testing.F) {
	f.Add([]byte(anAdult))
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := incomesOf(content)
		if err != nil {
			return
		}
		for i, v := range p.x.Data {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("input %d is %v", i, v)
			}
		}
	})
}
