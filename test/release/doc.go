// Package release checks `make release` against docs/releasing.md. Its folders hold the programs that make a release.
package release
