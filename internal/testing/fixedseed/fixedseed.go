package fixedseed

import (
	"flag"

	_ "pgregory.net/rapid" // defines the flag
)

// Seed is what rapid starts with. It means nothing.
const Seed = "20260101"

func init() { set(flag.CommandLine) }

// set gives the flag the seed unless the command line has one.
func set(flags *flag.FlagSet) {
	if f := flags.Lookup("rapid.seed"); f != nil && f.Value.String() == "0" {
		// A number is what the flag takes: there is no error.
		_ = f.Value.Set(Seed)
	}
}
