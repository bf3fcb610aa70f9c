// Package top is `svcmux top`: muxes, ports, backends and changes, live in the terminal.
//
//	command.go  flags, and the terminal            feed.go    pages from the cluster
//	model.go    keys, and the state of the screen  page.go    a sortable table, and the changes between two
//	screen.go   the state as lines of text         columns.go  columns that fit the screen
//	backends.go the page of backends
package top
