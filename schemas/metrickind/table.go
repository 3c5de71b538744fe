package metrickind

// kinds has all kinds, in the order of messages; the first is the default. For a new kind, add an
// entry here, its computation in internal/app/audit/reference, and a row in docs/guarantee.md.
var kinds = [...]Kind{
	events(),
	distinctUsers(),
	sum(),
	mean(),
	variance(),
	standardDeviation(),
	quantiles(),
	histogram(),
	meanOffset(),
	meanSquare(),
	meanEvents(),
	quantileNodes(),
	logNodes(),
	buckets(),
	quantile(),
	share(),
	alsoEvents(),
	also(mean()),
	also(variance()),
	alsoDeviation(),
	counted(),
}
