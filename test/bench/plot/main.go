// Command plot draws docs/performance.svg from the figures recorded in docs/performance.txt: what a change takes here,
// and what it took the Python original on such a machine.
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

//go:generate go run . ../../../docs/performance.txt ../../../docs/performance.svg

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "plot: name the file with the figures, and the picture to draw")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "plot: %v\n", err)
		os.Exit(1)
	}
}

func run(figures, picture string) error {
	text, err := os.ReadFile(figures)
	if err != nil {
		return err
	}
	found, err := read(text)
	if err != nil {
		return fmt.Errorf("%s: %w", figures, err)
	}
	drawn, err := draw(found)
	if err != nil {
		return fmt.Errorf("%s: %w", figures, err)
	}
	return os.WriteFile(picture, drawn, 0o644)
}

// read takes values from lines as package figure prints them; other lines are for people.
func read(text []byte) (map[string]float64, error) {
	found := map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 4 || !strings.HasPrefix(words[3], "ratio=") {
			continue
		}
		value, err := strconv.ParseFloat(words[1], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is no number", words[0], words[1])
		}
		if _, twice := found[words[0]]; twice {
			return nil, fmt.Errorf("%s is there twice: keep one", words[0])
		}
		found[words[0]] = value
	}
	return found, nil
}
