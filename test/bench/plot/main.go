// Command plot draws pictures of benchmark results. docs/performance.svg shows the figures of docs/performance.txt: the
// time of a change here, and in the Python original on a similar machine. docs/gateways.svg shows those of
// docs/gateways.txt. docs/dataplane.svg shows the points of docs/dataplane.txt, the output of `make bench
// BENCH=ThousandChannels`.
//
//	make bench BENCH=… >> docs/performance.txt    record, after removing the old lines of the same names
//	go generate ./test/bench/plot                 draw
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

//go:generate go run . figures ../../../docs/performance.txt ../../../docs/performance.svg
//go:generate go run . gateways ../../../docs/gateways.txt ../../../docs/gateways.svg
//go:generate go run . points ../../../docs/dataplane.txt ../../../docs/dataplane.svg

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "plot: say `figures`, `gateways` or `points`, and name the file that has them and the "+
			"picture to draw")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintf(os.Stderr, "plot: %v\n", err)
		os.Exit(1)
	}
}

func run(what, from, picture string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	drawn, err := drawingOf(what, text)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return os.WriteFile(picture, drawn, 0o644)
}

func drawingOf(what string, text []byte) ([]byte, error) {
	switch what {
	case "figures", "gateways":
		found, err := read(text)
		if err != nil {
			return nil, err
		}
		d := theOriginal()
		if what == "gateways" {
			d = gateways()
		}
		return d.draw(found)
	case "points":
		points, err := readPoints(text)
		if err != nil {
			return nil, err
		}
		return drawPoints(points)
	default:
		return nil, fmt.Errorf("can't draw %q: use `figures`, `gateways` or `points`", what)
	}
}

// read parses the lines that package figure prints. It ignores other lines, which are for people.
func read(text []byte) (map[string]float64, error) {
	found := map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 4 || !strings.HasPrefix(words[3], "ratio=") {
			continue
		}
		value, err := strconv.ParseFloat(words[1], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %q isn't a number", words[0], words[1])
		}
		if _, twice := found[words[0]]; twice {
			return nil, fmt.Errorf("%s appears twice: remove one", words[0])
		}
		found[words[0]] = value
	}
	return found, nil
}
