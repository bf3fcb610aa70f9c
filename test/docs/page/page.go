// Package page reads the commands of a Markdown page and their marks (CONTRIBUTING.md describes them), and compares the
// output that a page shows with the printed output.
package page

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Block is a fenced block.
type Block struct {
	Line     int    // line of the fence, from 1
	Language string // the word after the fence, as in ```sh
	Mark     string // the comment on the line before, without <!-- and -->
	Text     string
	Output   *string // the output that the page shows right after the block
}

// Read reads the blocks of a page. A block that shows an output is stored with the block of its command.
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

// Parse does the same as Read, for the text of a page.
func Parse(text string) ([]Block, error) {
	fence := regexp.MustCompile("^ *(```+)([a-z]*)")
	comment := regexp.MustCompile(`^ *<!-- (.*) -->$`)
	var blocks []Block
	var open string // the fence of the current block
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

// join stores each output with the block of its command.
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

// IsCommand returns whether a line looks like a command to type.
func IsCommand(line string) bool {
	return regexp.MustCompile(
		`^\s*(\$ |(kubectl|helm|make|go|git|curl|svcmux|skopeo|podman|docker|ctr|apt-get|sudo) [a-z-])`).MatchString(line)
}
