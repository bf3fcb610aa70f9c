// Package version knows which build this is. It reads what the linker and the Go toolchain left in the binary; nothing
// here depends on what a command does.
package version

import "runtime/debug"

// linked is set by the linker (see the Makefile); the linker can only write to a package variable.
//
//nolint:gochecknoglobals // written once, by the linker, before the program starts
var linked string

// String is the version of this build.
func String() string {
	info, _ := debug.ReadBuildInfo()

	return choose(linked, info)
}

// choose takes the linker's word first, then the module version that `go install module@version` records.
func choose(linked string, info *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	if info == nil || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}

	return info.Main.Version
}
