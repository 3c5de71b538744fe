// Package layers tests that packages import each other in one direction only. It lists the module's
// layers from the bottom up, with the packages in each and the layers that they may import. Test
// files may import anything.
package layers
