package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://slsa.dev/provenance/v1"
	buildType     = "https://nowake.ai/svc-lb-mux/make-release/v1" // docs/releasing.md describes it
)

// statement is an in-toto statement with SLSA provenance.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

type predicate struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType            string     `json:"buildType"`
	ExternalParameters   parameters `json:"externalParameters"`
	ResolvedDependencies []resource `json:"resolvedDependencies"`
}

// parameters are the variables of `make release` that change its result.
type parameters struct {
	Source           string   `json:"source"`
	Version          string   `json:"version"`
	ImagePlatforms   []string `json:"imagePlatforms"`
	CommandPlatforms []string `json:"commandPlatforms"`
	Downloads        string   `json:"downloads"`
	Sources          string   `json:"sources"`
	Trial            bool     `json:"trial"`
}

// runDetails have no times and no invocation: they would differ in each run, and a release is reproducible.
type runDetails struct {
	Builder builder `json:"builder"`
}

type builder struct {
	ID      string            `json:"id"`
	Version map[string]string `json:"version"`
}

// resource is in-toto's ResourceDescriptor.
type resource struct {
	Name        string            `json:"name,omitempty"`
	URI         string            `json:"uri,omitempty"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// release is the input of a statement.
type release struct {
	folder   string
	images   map[string]string // name to digest
	programs []string          // paths of all programs, those in images included
	commit   string
	settings parameters
	builder  builder
}

// state returns the same statement for the same release each time.
func state(r release) (statement, error) {
	subjects, err := files(r.folder)
	if err != nil {
		return statement{}, err
	}
	for name, digest := range r.images {
		algorithm, value, _ := strings.Cut(digest, ":")
		subjects = append(subjects, resource{Name: name, Digest: map[string]string{algorithm: value}})
	}
	slices.SortFunc(subjects, func(a, b resource) int { return strings.Compare(a.Name, b.Name) })
	modules, err := linked(r.programs)
	if err != nil {
		return statement{}, err
	}

	return statement{
		Type: statementType, Subject: subjects, PredicateType: predicateType,
		Predicate: predicate{
			BuildDefinition: buildDefinition{
				BuildType: buildType, ExternalParameters: r.settings,
				ResolvedDependencies: append([]resource{source(r)}, modules...),
			},
			RunDetails: runDetails{Builder: r.builder},
		},
	}, nil
}

// source describes the commit. A trial is made from the work tree, and nothing says how that differs from the commit.
func source(r release) resource {
	of := resource{URI: r.settings.Source}
	if r.settings.Trial {
		of.Annotations = map[string]string{"trial": "made from a work tree, which may differ from this commit"}
	} else {
		of.URI += "@refs/tags/" + r.settings.Version
	}
	if raw, err := hex.DecodeString(r.commit); err == nil && len(raw) > 0 {
		of.Digest = map[string]string{"gitCommit": r.commit}
	}

	return of
}

// files returns the files that a release's statement is about: all but the statement itself, and files written later.
func files(folder string) ([]resource, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var found []resource
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, sums) && !strings.HasSuffix(name, suffix) &&
			!strings.HasSuffix(name, bundleSuffix) {
			sum, err := hash(filepath.Join(folder, name))
			if err != nil {
				return nil, err
			}
			found = append(found, resource{Name: name, Digest: map[string]string{"sha256": sum}})
		}
	}

	return found, nil
}

func hash(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}

	return hex.EncodeToString(sum.Sum(nil)), nil
}

// linked returns the modules in the programs, each once, with the hashes that the Go command checked against go.sum.
func linked(programs []string) ([]resource, error) {
	var found []resource
	for _, path := range programs {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the modules of %s: %w", path, err)
		}
		found = append(found, resource{URI: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")})
		for _, module := range info.Deps {
			if module.Replace != nil {
				module = module.Replace
			}
			of := resource{URI: "pkg:golang/" + module.Path + "@" + strings.ReplaceAll(module.Version, "+", "%2B")}
			if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:")); err == nil && len(sum) > 0 {
				of.Digest = map[string]string{"goModuleH1": hex.EncodeToString(sum)}
			}
			found = append(found, of)
		}
	}
	slices.SortFunc(found, func(a, b resource) int { return strings.Compare(a.URI, b.URI) })

	return slices.CompactFunc(found, func(a, b resource) bool { return a.URI == b.URI }), nil
}
