package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestFigures(t *testing.T) {
	lines := "goos: linux\na/b 12.5 ms ratio=1.25 target=2 ok\nBenchmarkX-2 1 1034 ns/op\na/c 1234 requests ratio=0.10 " +
		"target=1 short\n"
	found, err := read([]byte(lines))
	if err != nil || len(found) != 2 || found["a/b"] != 12.5 || found["a/c"] != 1234 {
		t.Errorf("got %v and %v", found, err)
	}
	for name, bad := range map[string]string{
		"a figure twice":     "a/b 1 ms ratio=1 target=2 ok\na/b 2 ms ratio=1 target=2 ok\n",
		"a value of letters": "a/b many ms ratio=1 target=2 ok\n",
	} {
		if _, err := read([]byte(bad)); err == nil || !strings.Contains(err.Error(), "a/b") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestDrawing(t *testing.T) {
	for missing, d := range map[string]drawing{"reconciler/drift-put-right": theOriginal(),
		"gateways/new-connection-by-kube-proxy": gateways()} {
		figures := map[string]float64{}
		for _, p := range d.panels {
			for i, r := range p.rows {
				figures[r.name], figures[r.other] = float64(i+1), float64(i+2)
			}
		}
		drawn, err := d.draw(figures)
		if err != nil {
			t.Fatal(err)
		}
		wellFormed(t, drawn)
		delete(figures, missing)
		if _, err := d.draw(figures); err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("a missing figure: got %v", err)
		}
	}
}

func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the picture isn't valid SVG: %v", err)
		}
	}
}

func TestPoints(t *testing.T) {
	points, err := readPoints([]byte("goos: linux\npoint dataplane/thousand 0 created=0 programmed=0 answered=0\n" +
		"point dataplane/thousand 2500 created=10 programmed=9 answered=8\nok=8\n"))
	if err != nil || len(points) != 2 || points[1] != (point{2500, 10, 9, 8}) {
		t.Errorf("got %v and %v", points, err)
	}
	drawn, err := drawPoints(points)
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, drawn)
	if !strings.Contains(string(drawn), ">2.5 s</text>") {
		t.Errorf("the axis doesn't reach the end:\n%s", drawn)
	}
	if _, err := readPoints([]byte("point dataplane/thousand 0 created=x")); err == nil {
		t.Error("a point with letters is accepted")
	}
}
