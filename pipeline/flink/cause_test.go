package flink

import "testing"

// The worker's error is found in the Java stack trace around it, with all of its lines.
func TestTheCauseIsWhatTheWorkerSaid(t *testing.T) {
	const (
		java = "org.apache.beam.sdk.util.UserCodeException: java.lang.RuntimeException\n\tat a.B.c(B.java:1)\n\t... " +
			"14 more\nCaused by: java.lang.RuntimeException: Error received from SDK harness for instruction 4: " +
			"process bundle failed for instruction 4 using plan 4-11 : "
		plan = "while executing Up for Plan[4-11]:\n1: DataSource[S[fn/read/n3], local_output] Out:6\n2: " +
			"DataSink[S[fn/write/n5]]\n\tcaused by:\n"
		fn   = "DoFn[UID:6, PID:e4, Name: transforms.readFn] failed:\n"
		tail = "\n\tat d.E.f(E.java:2)\n"
	)
	for name, c := range map[string]struct{ stack, want string }{
		"one line": {java + plan + fn + "opening run 74dc: a worker could not start: no file" + tail,
			"opening run 74dc: a worker could not start: no file"},
		"several lines": {
			java + plan + fn + "opening run 74dc: a worker could not start: t.yaml:26:22: no file\n  26 | keys: " +
				"{}\n     |       ^" + tail, "opening run 74dc: a worker could not start: t.yaml:26:22: no file\n  " +
				"26 | keys: {}\n     |       ^"},
		"a panic": {java + "panic: nil map Full error:\n" + plan +
			"panic: nil map goroutine 74 [running]:\nruntime/debug.Stack()\n\t/go/stack.go:26 " +
			"+0x5e\nharness.go:226 +0x1025" + tail, "panic: nil map"},
		"no cause in it": {java + "the plan is not known" + tail,
			"process bundle failed for instruction 4 using plan 4-11 : the plan is not known"},
		"Java's own": {"a.B: x\n\tat a.B.c(B.java:1)\nCaused by: d.E: no slots\n\tat d.E.f(E.java:2)\n",
			"d.E: no slots"},
		"a killed worker": {
			"a.B: x\n\tat a.B.c(B.java:1)\nCaused by: " +
				"org.apache.beam.vendor.grpc.v1p69p0.io.grpc.StatusRuntimeException: CANCELLED: client " +
				"cancelled\n\tat d.E.f(E.java:2)\n",
			"a worker's process ended or lost its connection without an error, perhaps because it was killed or ran " +
				"out of memory: read the logs of its TaskManager and its machine " +
				"(org.apache.beam.vendor.grpc.v1p69p0.io.grpc.StatusRuntimeException: CANCELLED: client cancelled)"},
		"nothing at all":  {"", "a.B"},
		"no Java at all":  {"d.E: no slots", "d.E: no slots"},
		"a worker's last": {java + "first" + tail + java + plan + fn + "second" + tail, "second"},
	} {
		if got := (&failure{Stack: c.stack, Name: "a.B"}).cause(); got != c.want {
			t.Errorf("%s: the cause is %q, want %q", name, got, c.want)
		}
	}
}
