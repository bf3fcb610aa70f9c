// Package release holds `make release` to what docs/releasing.md promises. Its folders are what a release is made with.
package release
