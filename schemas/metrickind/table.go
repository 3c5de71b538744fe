package metrickind

// kinds is the table. Kinds that a configuration can name are in the order in which texts list
// them; the first is the default.
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
