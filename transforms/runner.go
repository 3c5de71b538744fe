package transforms

import "fmt"

// LocalRunner resolves the name of a runner that runs in this process. It takes
// "local", "prism" and "direct"; all of them are prism, Beam's local runner.
// note, where not empty, is a line to show: the SDK's older direct runner has
// neither keyed state nor an unbounded source, and cannot run this pipeline.
func LocalRunner(name string) (resolved, note string, err error) {
	const prism = "prism"
	switch name {
	case "", "local", prism:
		return prism, "", nil
	case "direct":
		return prism, "runner direct: running on prism, Beam's local runner; the SDK's older direct runner has no keyed state", nil
	}
	return "", "", fmt.Errorf("choosing a runner: %q: must be local, prism or direct, which all are Beam's local runner, prism", name)
}
