package validate

import (
	"embed"
	"fmt"

	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/validation"
)

// Each reason is explained once, in rules/*.yaml. SARIF output and docs/rules.md are generated from these files. A test
// runs every example, so that the explanations stay true.
//
//go:embed rules/*.yaml
var ruleFiles embed.FS

// chapter is a file of rules.
type chapter struct {
	Title string `json:"title"`
	Intro string `json:"intro"`
	Rules []rule `json:"rules"`
}

// rule explains one reason.
type rule struct {
	Reason   validation.Reason `json:"reason"`
	Severity severity          `json:"severity"`
	About    string            `json:"about"` // one sentence: the mistake
	Why      string            `json:"why"`   // the reason for the rule
	Examples []example         `json:"examples"`
}

// example is a Service with a mistake, and the same Service corrected.
type example struct {
	Mistake string `json:"mistake"`
	Mended  string `json:"mended"`
}

// chapters returns all rules in the order of the page.
func chapters() ([]chapter, error) {
	var all []chapter
	for _, name := range []string{"both", "muxes", "channels", "routes", "warnings", "files"} {
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
