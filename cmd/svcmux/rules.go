package main

import (
	"embed"
	"fmt"

	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/validation"
)

// What each reason means is written down once, in rules/*.yaml: SARIF carries it to where people read results, and
// docs/rules.md is made of it. A test runs every example, so that none of it can become untrue.
//
//go:embed rules/*.yaml
var ruleFiles embed.FS

// chapter is a file of rules.
type chapter struct {
	Title string `json:"title"`
	Intro string `json:"intro"`
	Rules []rule `json:"rules"`
}

// rule is a reason, for people.
type rule struct {
	Reason   validation.Reason `json:"reason"`
	Severity severity          `json:"severity"`
	About    string            `json:"about"` // one sentence: what is wrong
	Why      string            `json:"why"`   // why that is a rule
	Examples []example         `json:"examples"`
}

// example is a Service with a mistake in it, and the same Service mended.
type example struct {
	Mistake string `json:"mistake"`
	Mended  string `json:"mended"`
}

// chapters returns all rules in the order of the page.
func chapters() ([]chapter, error) {
	var all []chapter
	for _, name := range []string{"both", "muxes", "channels", "warnings", "files"} {
		data, err := ruleFiles.ReadFile("rules/" + name + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("reading the rules: %w", err)
		}
		var c chapter
		if err := yaml.UnmarshalStrict(data, &c); err != nil {
			return nil, fmt.Errorf("reading rules/%s.yaml: %w", name, err)
		}
		all = append(all, c)
	}
	return all, nil
}
