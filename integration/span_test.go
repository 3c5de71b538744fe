package integration

// backlog returns a small workload for mixed deployments: every one of these tests runs it several
// times.
func backlog(seed uint64) workload {
	w := shoppers(seed)
	w.Windows, w.Events = 14, 80
	return w
}
