package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// change is an entry of the annotation artifacthub.io/changes.
type change struct {
	Kind        string `json:"kind"`
	Description string `json:"description"`
}

// kinds are the kinds of changes that Artifact Hub knows. They are the headings of Keep a Changelog.
func kinds() []string {
	return []string{"added", "changed", "deprecated", "removed", "fixed", "security"}
}

// parseChanges returns the bullets of a changelog's section, without Markdown: Artifact Hub shows plain text.
func parseChanges(section string) ([]change, error) {
	var all []change
	kind, inBullet := "changed", false
	for line := range strings.Lines(section) {
		line = strings.TrimRight(line, "\r\n")
		switch heading, text := strings.TrimPrefix(line, "### "), strings.TrimSpace(line); {
		case heading != line:
			kind, inBullet = strings.ToLower(strings.TrimSpace(heading)), false
			if !slices.Contains(kinds(), kind) {
				return nil, fmt.Errorf("the heading %q of CHANGELOG.md isn't a kind of change: write one of %s", line,
					strings.Join(kinds(), ", "))
			}
		case strings.HasPrefix(line, "- "):
			all, inBullet = append(all, change{kind, strings.TrimPrefix(line, "- ")}), true
		case inBullet && strings.HasPrefix(line, "  ") && text != "":
			all[len(all)-1].Description += " " + text
		default:
			inBullet = false
		}
	}
	for i := range all {
		all[i].Description = plain(all[i].Description)
	}

	return all, nil
}

// plain removes the Markdown of emphasis, code and links.
func plain(text string) string {
	text = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(text, "$1")

	return strings.NewReplacer("**", "", "`", "").Replace(text)
}

func hasSecurity(changes []change) bool {
	return slices.ContainsFunc(changes, func(c change) bool { return c.Kind == "security" })
}
