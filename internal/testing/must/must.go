package must

// Have returns the value of a call with two results. It panics if the error is not nil: Go does not
// let a caller pass a *testing.T together with the two results.
func Have[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Succeed fails and ends the test if err is not nil. t is a *testing.T, a *testing.B or a *rapid.T.
func Succeed(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
