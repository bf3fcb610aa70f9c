package golden

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// Seeds adds the inputs that `make fuzz-keep` keeps in testdata/fuzz.txtar for a fuzz target. They have Go's format.
func Seeds(f *testing.F) {
	f.Helper()
	const path = "testdata/fuzz.txtar"
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return
	}
	archive := Read(f, path)
	for _, name := range archive.Sections() {
		if !strings.HasPrefix(name, f.Name()+"/") {
			continue
		}
		var values []any
		for _, line := range strings.Split(strings.TrimSpace(archive.Section(name)), "\n")[1:] {
			values = append(values, parse(f, line))
		}
		f.Add(values...)
	}
}

// parse reads a value such as string("a") or uint16(7).
func parse(f *testing.F, line string) any {
	f.Helper()
	kind, literal, _ := strings.Cut(strings.TrimSuffix(line, ")"), "(")
	text, noText := strconv.Unquote(literal)
	number, noNumber := strconv.ParseInt(literal, 10, 64)
	if noText != nil && noNumber != nil && kind != "bool" {
		f.Fatalf("%s isn't a value", line)
	}
	switch kind {
	case "bool":
		return literal == "true"
	case "string":
		return text
	case "[]byte":
		return []byte(text)
	case "byte":
		return byte([]rune(text)[0])
	case "rune":
		return []rune(text)[0]
	case "int16":
		return int16(number)
	case "int32":
		return int32(number)
	case "int64":
		return number
	case "uint16":
		return uint16(number)
	case "uint32":
		return uint32(number)
	}
	f.Fatalf("%s: add the type %s here", line, kind)
	return nil
}
