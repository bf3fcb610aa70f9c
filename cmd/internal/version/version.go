// Package version returns the version of this build. It reads what the linker and the Go toolchain stored in the
// binary.
package version

import "runtime/debug"

// linked is set by the linker (see the Makefile), which can write only to a package variable.
//
//nolint:gochecknoglobals // written once, by the linker, before the program starts
var linked string

// String returns the version of this build.
func String() string {
	info, _ := debug.ReadBuildInfo()

	return choose(linked, info)
}

// choose prefers the linker's version to the module version, which `go install module@version` records.
func choose(linked string, info *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	if info == nil || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}

	return info.Main.Version
}
