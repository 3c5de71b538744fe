package must

// Have returns the value of a call with two results. It panics if there is an error, because a call
// with two results cannot be passed together with a *testing.T.
func Have[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Succeed ends the test if there is an error. t is a *testing.T, a *testing.B or a *rapid.T.
func Succeed(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
