// Package access says who may read and write the topics of a deployment, which rights a user lacks
// for a role, and which rights others have that only a run should have.
//
// Guarantees: the rights that the configuration's user lacks are the brokers' own answer, for that
// user and from this machine, super users included. The package changes nothing.
//
// Not guaranteed: that it names all others. It knows them from the access rules of the brokers,
// which do not contain super users. A user may not be allowed to read the rules, and another
// authorizer may have no rules that can be listed.
package access
