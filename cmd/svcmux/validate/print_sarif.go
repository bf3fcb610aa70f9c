package validate

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"nowake.ai/svc-lb-mux/validation"
)

// The part of SARIF 2.1.0 that we write. Names are the standard's.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      validation.Reason `json:"id"`
		Short   sarifText         `json:"shortDescription"`
		Full    sarifText         `json:"fullDescription"`
		Help    sarifText         `json:"help"`
		Default struct {
			Level string `json:"level"`
		} `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifResult struct {
		RuleID    validation.Reason `json:"ruleId"`
		RuleIndex int               `json:"ruleIndex"`
		Level     string            `json:"level"`
		Message   sarifText         `json:"message"`
		Locations []sarifLocation   `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

// printSARIF writes SARIF, the format of code scanning tools.
func printSARIF(rep *report, to io.Writer) error {
	all, err := chapters()
	if err != nil {
		return err
	}
	return encode(to, sarifOf(rep, all))
}

func sarifOf(rep *report, all []chapter) sarifLog {
	rules, index := sarifRules(all)
	run := sarifRun{
		Tool: sarifTool{sarifDriver{Name: "svcmux", Version: rep.version, Rules: rules}},
		Invocations: []sarifInvocation{{
			Successful:    len(rep.Unreadable) == 0,
			Notifications: append(notifications("error", rep.Unreadable), notifications("note", rep.Skipped)...),
		}},
		Results: []sarifResult{},
	}
	for _, f := range rep.Findings {
		at := locate(remark{File: f.File, Line: f.Line})
		at.Logical = []sarifLogical{{objectName(f.Namespace, f.Name), "object"}}
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Reason, RuleIndex: index[f.Reason], Level: sarifLevel(f.Severity),
			Message: sarifText{Text: objectName(f.Namespace, f.Name) + ": " + withField(f)}, Locations: []sarifLocation{at},
		})
	}
	return sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

func sarifRules(all []chapter) ([]sarifRule, map[validation.Reason]int) {
	var rules []sarifRule
	index := map[validation.Reason]int{}
	for _, c := range all {
		for _, r := range c.Rules {
			described := sarifRule{
				ID: r.Reason, Short: sarifText{Text: r.About}, Full: sarifText{Text: r.Why}, Help: help(r),
			}
			described.Default.Level = sarifLevel(r.Severity)
			index[r.Reason] = len(rules)
			rules = append(rules, described)
		}
	}
	return rules, index
}

// help explains a rule with an example: the mistake, and the corrected Service.
func help(r rule) sarifText {
	first := r.Examples[0]
	return sarifText{
		Text: strings.Join([]string{r.About, r.Why, "Mistaken:", first.Mistake, "Mended:", first.Mended}, "\n\n"),
		Markdown: r.About + "\n\n" + r.Why + "\n\nMistaken:\n\n```yaml\n" + first.Mistake + "```\n\nMended:\n\n```yaml\n" +
			first.Mended + "```\n",
	}
}

func notifications(level string, remarks []remark) []sarifNotification {
	list := []sarifNotification{}
	for _, m := range remarks {
		list = append(list, sarifNotification{level, sarifText{Text: m.Message}, []sarifLocation{locate(m)}})
	}
	return list
}

func locate(at remark) sarifLocation {
	var location sarifLocation
	location.Physical.Artifact.URI = uri(at.File)
	if at.Line > 0 {
		location.Physical.Region = &sarifRegion{at.Line}
	}
	return location
}

// uri returns the SARIF reference for a path. A relative path stays relative to the repository's root.
func uri(path string) string {
	switch {
	case path == stdinName:
		return "stdin"
	case filepath.IsAbs(path):
		return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
	}
	return (&url.URL{Path: filepath.ToSlash(path)}).String()
}

func sarifLevel(s severity) string {
	if s == problem {
		return "error"
	}
	return "warning"
}
