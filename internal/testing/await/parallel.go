package await

import (
	"flag"
	"strconv"
)

// AtOnce sets how many parallel tests of a package run at the same time, unless the command line
// sets it. A TestMain calls AtOnce if its tests mostly wait for brokers and processes. It is then
// faster to run more tests than there are processors.
func AtOnce(tests int) error {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(tests))
}
