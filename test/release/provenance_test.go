package release

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checkProvenance compares the provenance with the folder and with the SBOMs, which another test compares with the
// modules that the Go command lists.
func checkProvenance(t *testing.T, made string) {
	t.Helper()
	type resource struct {
		Name, URI string
		Digest    map[string]string
	}
	var stated struct {
		Subject       []resource
		PredicateType string
		Predicate     struct {
			BuildDefinition struct {
				ExternalParameters struct {
					Version        string
					ImagePlatforms []string
					Trial          bool
				}
				ResolvedDependencies []resource
			}
			RunDetails struct {
				Builder struct {
					ID      string
					Version map[string]string
				}
			}
		}
	}
	decode(t, []byte(read(t, made, "svc-lb-mux-"+version+".provenance.json")), &stated)
	var files, want []string
	images := 0
	for _, subject := range stated.Subject {
		if strings.Contains(subject.Name, ":") {
			images++

			continue
		}
		files = append(files, subject.Digest["sha256"]+"  "+subject.Name)
	}
	for line := range strings.Lines(sums(t, made)) {
		if !strings.HasSuffix(line, ".provenance.json\n") {
			want = append(want, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff(want, files); diff != "" || images != 3 {
		t.Errorf("%d images; the files: %s", images, diff)
	}
	about := stated.Predicate.BuildDefinition
	if stated.PredicateType != "https://slsa.dev/provenance/v1" || about.ExternalParameters.Version != version ||
		!about.ExternalParameters.Trial ||
		len(about.ExternalParameters.ImagePlatforms) != 2 {
		t.Errorf("the statement is a %s of %+v", stated.PredicateType, about.ExternalParameters)
	}
	built := stated.Predicate.RunDetails.Builder
	if built.ID == "" || built.Version["go"] != runtime.Version() ||
		built.Version["buildah"]+built.Version["podman"] == "" {
		t.Errorf("the builder is %+v", built)
	}
	if got := about.ResolvedDependencies[0]; got.Digest["gitCommit"] != commit {
		t.Errorf("the source is %+v", got)
	}
	var modules []string
	for _, dependency := range about.ResolvedDependencies[1:] {
		modules = append(modules, dependency.URI)
		if len(dependency.Digest["goModuleH1"]) != 64 && !strings.HasPrefix(dependency.URI, "pkg:golang/std@") {
			t.Errorf("%s has the digest %v", dependency.URI, dependency.Digest)
		}
	}
	if diff := cmp.Diff(purls(t, made), modules); diff != "" {
		t.Errorf("modules: %s", diff)
	}
}

// purls returns the modules of all SBOMs in the folder, each once.
func purls(t *testing.T, made string) []string {
	t.Helper()
	bills, err := filepath.Glob(filepath.Join(made, "*.cdx.json"))
	if err != nil || len(bills) == 0 {
		t.Fatalf("SBOMs: %v, %v", bills, err)
	}
	var all []string
	for _, path := range bills {
		var bill struct{ Components []struct{ PURL string } }
		decode(t, []byte(read(t, path)), &bill)
		for _, component := range bill.Components {
			all = append(all, component.PURL)
		}
	}
	slices.Sort(all)

	return slices.Compact(all)
}
