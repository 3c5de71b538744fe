package demo

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/schemas"
)

const maxKeyFile = 64 << 20

// readPublicKeys reads --public-keys: a file of that name with a key per line where there is
// one, else a list with commas. A key that is given twice counts once.
func readPublicKeys(value string) ([]string, error) {
	keys := strings.Split(value, ",")
	where := "--public-keys"
	inFile := false
	if len(keys) == 1 {
		_, err := os.Stat(value)
		isPath := strings.ContainsAny(value, `/\`) || strings.HasSuffix(value, ".txt")
		if err == nil || isPath {
			text, err := config.ReadSmall(value, maxKeyFile)
			if err != nil {
				return nil, fmt.Errorf("reading --public-keys: %w. If %s is a key, not a file, write it into a file "+
					"with one key per line", err, value)
			}
			keys, inFile = config.Lines(text), true
			where = "reading --public-keys " + value
		}
	}
	var out []string
	for i, key := range keys {
		if key == "" && inFile {
			continue
		}
		if err := checkKey(key); err != nil {
			err = fmt.Errorf("%s: key %d: %w", where, i+1, err)
			if inFile {
				return nil, command.Contents(err)
			}
			return nil, command.Usage(err)
		}
		out = append(out, key)
	}
	if len(out) == 0 {
		return nil, command.Contents(fmt.Errorf("%s: there is no key in it", where))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func checkKey(key string) error {
	if key == "" {
		return errors.New("it is empty: is there one comma too many?")
	}
	return schemas.ValidateKey([]byte(key))
}
