// Package experiment has what an experiment is, what one finds, and how that is written
// as text and as JSON. The experiments are in the packages below, one for each kind; tollgate
// experiment has the list.
//
// Guarantees: what an experiment finds depends on its Options alone, also over GOMAXPROCS, the
// machine and the time of day; a cell that could not be reproduced is empty and never filled in;
// numbers that are not finite do not reach a table, a figure or JSON (Result.check says where one
// was).
//
// Not guaranteed: privacy. Experiments draw their noise from a seed that is printed, so that
// anybody can repeat them: nothing here is for data of real people that are to be protected, and no
// package of the product's own path imports this one.
package experiment
