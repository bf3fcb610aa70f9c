package share

import (
	"strings"
	"testing"
	"unsafe"
)

func TestEqualStringsShareMemory(t *testing.T) {
	type node string
	a, b, other := node(strings.Clone("node-1")), node(strings.Clone("node-1")), node("node-2")
	if unsafe.StringData(string(a)) == unsafe.StringData(string(b)) {
		t.Fatal("the strings share memory already")
	}
	var none *node
	empty := node("")
	Texts(&a, &b, &other, none, &empty)
	if a != "node-1" || b != "node-1" || other != "node-2" || empty != "" {
		t.Errorf("the strings are now %q, %q, %q, %q", a, b, other, empty)
	}
	if unsafe.StringData(string(a)) != unsafe.StringData(string(b)) {
		t.Error("equal strings don't share memory")
	}
}
