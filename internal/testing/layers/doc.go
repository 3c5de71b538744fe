// Package layers tests that packages import in one direction. It lists the layers of the module
// from the bottom up, with the packages of each and the layers that they may import. Test files may
// import anything.
package layers
