// Package page reads the commands of a Markdown page, with the marks that CONTRIBUTING.md tells of, and compares what a page
// shows with what was printed.
package page

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// A Block is a fenced block.
type Block struct {
	Line     int    // of the fence, from 1
	Language string // after the fence, as in ```sh
	Mark     string // the comment on the line before, without <!-- and -->
	Text     string
	Output   *string // what the page shows right after it as its output
}

// Read reads a page's blocks. A block that shows another's output is part of that one.
func Read(path string) ([]Block, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	blocks, err := Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return blocks, nil
}

// Parse is Read for a page's text.
func Parse(text string) ([]Block, error) {
	fence := regexp.MustCompile("^ *(```+)([a-z]*)")
	comment := regexp.MustCompile(`^ *<!-- (.*) -->$`)
	var blocks []Block
	var open string // the fence of the block that we are in
	var before string
	for i, line := range strings.Split(text, "\n") {
		mark := fence.FindStringSubmatch(line)
		switch {
		case open != "" && strings.TrimSpace(line) == open:
			open, before = "", ""
		case open != "":
			blocks[len(blocks)-1].Text += line + "\n"
		case mark != nil:
			open = mark[1]
			blocks = append(blocks, Block{Line: i + 1, Language: mark[2]})
			if said := comment.FindStringSubmatch(before); said != nil {
				blocks[len(blocks)-1].Mark = said[1]
			}
		default:
			before = line
		}
	}
	if open != "" {
		return nil, fmt.Errorf("%d: this block has no end", blocks[len(blocks)-1].Line)
	}
	return join(blocks)
}

// join gives outputs to whom they belong.
func join(blocks []Block) ([]Block, error) {
	var joined []Block
	for _, b := range blocks {
		if b.Mark != "output" {
			joined = append(joined, b)
			continue
		}
		if len(joined) == 0 || joined[len(joined)-1].Language != "sh" || joined[len(joined)-1].Output != nil {
			return nil, fmt.Errorf("%d: this is the output of no sh block: it must come right after one", b.Line)
		}
		joined[len(joined)-1].Output = &b.Text
	}
	return joined, nil
}

// IsCommand tells of a line whether people would take it for something to type.
func IsCommand(line string) bool {
	return regexp.MustCompile(`^\s*(\$ |(kubectl|helm|make|go|git|curl|svcmux|skopeo|podman|docker|ctr|apt-get|sudo) [a-z-])`).MatchString(line)
}
