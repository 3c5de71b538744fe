package metrickind

// kinds is the table of all kinds. Kinds that a configuration can name are in the order in which
// messages list them. The first kind is the default.
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
