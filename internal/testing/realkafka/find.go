package realkafka

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Version is the version of Apache Kafka that deploy/kafka-local fetches, unless the environment
// variable VersionVariable names another.
const (
	Version         = "4.3.1"
	VersionVariable = "TOLLGATE_KAFKA_VERSION"
)

// DirVariable is the environment variable that names the directory of the jars.
const DirVariable = "TOLLGATE_KAFKA_DIR"

// ErrMissing is returned if java or the jars are missing.
var ErrMissing = errors.New("a real Kafka cannot be run here")

// Missing returns nil if Start can work. Otherwise it returns an ErrMissing that says what is
// missing and how to get it.
func Missing() error {
	_, _, err := find()
	return err
}

// find returns the java binary and the directory of the jars.
func find() (java, jars string, err error) {
	if java, err = exec.LookPath("java"); err != nil {
		return "", "", fmt.Errorf("%w: java is not in the path; `.ci/run kafka` installs what is missing where it can",
			ErrMissing)
	}
	if jars, err = findJars(); err != nil {
		return "", "", err
	}
	return java, jars, nil
}

// findJars returns the directory that deploy/kafka-local/fetch.sh has filled. It is the one in
// DirVariable; the default is ${XDG_CACHE_HOME:-~/.cache}/tollgate/kafka-<version>.
func findJars() (string, error) {
	dir := os.Getenv(DirVariable)
	if dir == "" {
		cache := os.Getenv("XDG_CACHE_HOME")
		if cache == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", fmt.Errorf("%w: neither %s nor a home directory is set: %w", ErrMissing, DirVariable, err)
			}
			cache = filepath.Join(home, ".cache")
		}
		dir = filepath.Join(cache, "tollgate", "kafka-"+cmp.Or(os.Getenv(VersionVariable), Version))
	}
	if _, err := os.Stat(filepath.Join(dir, "complete")); err != nil {
		return "", fmt.Errorf("%w: %s does not have Kafka's jars; run deploy/kafka-local/fetch.sh, or `.ci/run kafka`",
			ErrMissing, dir)
	}
	return dir, nil
}
