package deployment

// KeysAcross is for tests where too much passes for any promise to be stated.
var KeysAcross = keysAcross
