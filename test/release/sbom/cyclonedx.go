package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bom is the part of CycloneDX 1.6 that a bill uses.
type bom struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	SerialNumber string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licenses   []licensed `json:"licenses,omitempty"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licensed struct {
	License license `json:"license"`
}

type license struct {
	ID string `json:"id"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// program is the described program.
type program struct {
	data    []byte
	info    *debug.BuildInfo
	version string
	commit  time.Time
}

// describe returns the same bill for the same program each time: its time is the commit's, and its serial number is a
// hash of the program. The program doesn't record which module needs which, so all modules are direct dependencies.
func describe(p program) bom {
	sum := sha256.Sum256(p.data)
	main := component{
		Type: "application", Name: path.Base(p.info.Path), Version: p.version,
		PURL:     packageURL(p.info.Main.Path, p.version) + "#" + strings.TrimPrefix(p.info.Path, p.info.Main.Path+"/"),
		Hashes:   []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
		Licenses: []licensed{{license{"Apache-2.0"}}}, Properties: settings(p.info.Settings),
	}
	main.Ref = main.PURL
	// The bill lists the standard library, too: scanners look up its vulnerabilities by this name.
	list := []component{library("std", strings.TrimPrefix(p.info.GoVersion, "go"), "")}
	for _, module := range p.info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		list = append(list, library(module.Path, module.Version, module.Sum))
	}
	slices.SortFunc(list, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	root := dependency{Ref: main.Ref}
	all := []dependency{}
	for _, c := range list {
		root.DependsOn = append(root.DependsOn, c.Ref)
		all = append(all, dependency{Ref: c.Ref})
	}

	return bom{
		Format: "CycloneDX", SpecVersion: "1.6", SerialNumber: uuid(sum), Version: 1,
		Metadata:   metadata{p.commit.Format(time.RFC3339), main},
		Components: list, Dependencies: append([]dependency{root}, all...),
	}
}

func library(name, version, sum string) component {
	c := component{Type: "library", Name: name, Version: version, PURL: packageURL(name, version)}
	c.Ref = c.PURL
	if sum != "" { // a hash of go.sum, which other tools can't compare with a file's hash
		c.Properties = []property{{"go:sum", sum}}
	}

	return c
}

// packageURL returns the name that scanners use for a module. It escapes the + of v2.0.0+incompatible, which would mean
// a blank.
func packageURL(name, version string) string {
	return "pkg:golang/" + name + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// settings returns the build settings that distinguish several builds of a program.
func settings(all []debug.BuildSetting) []property {
	var told []property
	for _, s := range all {
		if slices.Contains([]string{"GOOS", "GOARCH", "CGO_ENABLED", "-trimpath"}, s.Key) {
			told = append(told, property{"go:build:" + s.Key, s.Value})
		}
	}

	return told
}

// uuid returns a UUID of version 8, whose bits applications may choose.
func uuid(sum [sha256.Size]byte) string {
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80

	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
