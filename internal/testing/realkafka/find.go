package realkafka

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Version of Apache Kafka that deploy/kafka-local fetches where VersionVariable names no other one.
const (
	Version         = "4.3.1"
	VersionVariable = "TOLLGATE_KAFKA_VERSION"
)

// DirVariable names the directory of the jars.
const DirVariable = "TOLLGATE_KAFKA_DIR"

// ErrMissing is returned if java or the jars are missing.
var ErrMissing = errors.New("a real Kafka cannot be run here")

// Missing returns nil if Start can work, else an ErrMissing that names the missing parts and how to
// get them.
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
	if jars, err = Jars(); err != nil {
		return "", "", err
	}
	return java, jars, nil
}

// Jars returns the directory that deploy/kafka-local/fetch.sh has filled: TOLLGATE_KAFKA_DIR, by
// default ${XDG_CACHE_HOME:-~/.cache}/tollgate/kafka-<version>.
func Jars() (string, error) { return complete(cmp.Or(os.Getenv(VersionVariable), Version), "", "") }

// complete returns the directory that fetch.sh has filled for a version when it was given an
// argument.
func complete(version, suffix, argument string) (string, error) {
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
		dir = filepath.Join(cache, "tollgate", "kafka-"+version)
	}
	dir += suffix
	if _, err := os.Stat(filepath.Join(dir, "complete")); err != nil {
		return "",
			fmt.Errorf("%w: %s does not hold Kafka's jars; run deploy/kafka-local/fetch.sh%s, or `.ci/run kafka`",
				ErrMissing, dir, argument)
	}
	return dir, nil
}
