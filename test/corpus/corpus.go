// Package corpus loads the Services of validation/testdata/corpus: each with a sentence about it and the expected
// findings. This package, the webhook in a real API server, and an admission policy are tested on the same Services, so
// that differences show. Only tests use it.
//
// A case is a YAML document:
//
//	about: a number above 65535 is no port      # unique
//	like: channel                               # the base: a good channel, mux or stranger
//	service:                                    # a JSON merge patch of the base
//	  metadata: {annotations: {svc-mux.nowake.ai/external-ports: "http:65536"}}
//	deny: [InvalidPortMapping @ external-ports] # the exact problems; a bare name is an annotation of ours
//	warn: []                                    # the exact warnings; "x3" at the end: three of them
//	old: {}                                     # makes it an update: the old Service, also a patch of the base
//	tolerated: []                               # problems that the old Service had, so that they don't deny
//	apiserver: refuses                          # Kubernetes itself refuses it
//	fill: {NAME: {text: "x", times: 1000}}      # the text for ${NAME} in annotations, see Fill
//	ports: {from: 1000, to: 1999}               # spec.ports, p1000 to p1999
//
// A Service without a name gets one from its file and its position, so that the whole corpus can be applied at once. A
// Service without a namespace gets Namespace.
package corpus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// The namespaces of the corpus.
const (
	// Namespace is the namespace of every Service without one.
	Namespace = "team-a"
	// MuxNamespace is the default namespace of muxes.
	MuxNamespace = "svc-mux"
)

// Case is one Service of the corpus.
type Case struct {
	File  string // without its directory and extension
	About string
	// Service is the new object; Old is nil unless the case is an update.
	Service, Old *corev1.Service
	// Deny, Tolerated and Warn are the expected findings, sorted.
	Deny, Tolerated, Warn []Expect
	// Impossible says that Kubernetes itself refuses the Service: only a file can hold it.
	Impossible bool
}

// Name returns a name for a subtest.
func (c Case) Name() string { return c.File + "/" + c.About }

// Expect is one expected problem or warning.
type Expect struct {
	Reason validation.Reason
	Field  string
}

func (e Expect) String() string { return string(e.Reason) + " @ " + e.Field }

// Compare sorts by field, then by reason.
func (e Expect) Compare(other Expect) int {
	return strings.Compare(e.Field+" "+string(e.Reason), other.Field+" "+string(other.Reason))
}

// Language returns the language of the corpus.
func Language() (validation.Language, error) {
	return validation.New(validation.DefaultPrefix, MuxNamespace)
}

// Of returns the reasons and fields of problems, sorted, for comparison with a Case.
func Of(problems []validation.Problem) []Expect {
	var all []Expect
	for _, p := range problems {
		all = append(all, Expect{p.Reason, p.Field})
	}
	slices.SortFunc(all, Expect.Compare)
	return all
}

// Load reads the corpus. The working directory must be inside the module.
func Load() ([]Case, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(root, "validation", "testdata", "corpus", "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no corpus in %s: %w", root, errors.Join(err, os.ErrNotExist))
	}
	var cases []Case
	for _, file := range files {
		more, err := loadFile(file)
		if err != nil {
			return nil, err
		}
		cases = append(cases, more...)
	}
	return cases, unique(cases)
}

func loadFile(file string) ([]Case, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the corpus: %w", err)
	}
	name := strings.TrimSuffix(filepath.Base(file), ".yaml")
	var cases []Case
	for i, text := range strings.Split("\n"+string(data), "\n---\n") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		c, err := parse(text, name, fmt.Sprintf("%s-%03d", name, i))
		if err != nil {
			return nil, fmt.Errorf("%s, document %d: %w", file, i, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func unique(cases []Case) error {
	seen := map[string]bool{}
	for _, c := range cases {
		if seen[c.About] {
			return fmt.Errorf("%s: %q is there twice", c.File, c.About)
		}
		seen[c.About] = true
	}
	return nil
}

// moduleRoot searches for go.mod in the parent directories: tests run in their package's directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the corpus: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding the corpus: not inside a Go module")
		}
		dir = parent
	}
}
