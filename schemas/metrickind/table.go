package metrickind

// kinds returns the table: a line for each kind, whose file has everything else. Those that a
// configuration can name stand in the order in which texts list them; the first is the default.
func kinds() []Kind {
	return []Kind{
		events(),
		distinctUsers(),
		sum(),
		mean(),
		meanOffset(),
		coverage(),
	}
}
