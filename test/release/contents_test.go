package release

import (
	"bytes"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// checkBills compares a program's bill of materials with the modules that the Go command lists for it.
func checkBills(t *testing.T, tree, made string) {
	t.Helper()
	for _, program := range []string{"webhook linux/amd64", "reconciler linux/arm64", "svcmux " +
		platforms()[len(platforms())-1]} {
		name, platform, _ := strings.Cut(program, " ")
		system, machine, _ := strings.Cut(platform, "/")
		var bill struct {
			BOMFormat, SpecVersion, SerialNumber string
			Metadata                             struct {
				Timestamp string
				Component struct{ Name, Version string }
			}
			Components []struct{ Name, Version, PURL string }
		}
		decode(t, []byte(read(t, made, name+"-"+version+"-"+system+"-"+machine+".cdx.json")), &bill)
		list := command(t, tree, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", "./cmd/"+name)
		list.Env = append(list.Env, "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine)
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		want := append(strings.Split(strings.TrimSpace(string(out)), "\n"),
			"std "+strings.TrimPrefix(runtime.Version(), "go"))
		slices.Sort(want)
		want = slices.DeleteFunc(slices.Compact(want), func(m string) bool {
			return strings.TrimSpace(m) == "nowake.ai/svc-lb-mux"
		})
		var got []string
		for _, c := range bill.Components {
			got = append(got, c.Name+" "+c.Version)
			if purl := "pkg:golang/" + c.Name + "@" + strings.ReplaceAll(c.Version, "+", "%2B"); c.PURL != purl {
				t.Errorf("%s has the package URL %s", c.Name, c.PURL)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", program, diff)
		}
		if of := bill.Metadata.Component; bill.BOMFormat != "CycloneDX" || of.Name != name || of.Version != version ||
			bill.Metadata.Timestamp != madeAtIs || !strings.HasPrefix(bill.SerialNumber, "urn:uuid:") {
			t.Errorf("%s: the bill is a %s of %v", program, bill.BOMFormat, bill.Metadata)
		}
	}
}

// checkChart reads the chart package with Helm.
func checkChart(t *testing.T, tree, made string) {
	t.Helper()
	chart := filepath.Join(made, "svc-lb-mux-"+strings.TrimPrefix(version, "v")+".tgz")
	helm := func(args ...string) string {
		out, err := command(t, tree, append([]string{"go", "run", "./test/release/helm"}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("helm %v: %v\n%s", args, err, out)
		}

		return string(out)
	}
	about := helm("show", "chart", chart)
	for _, line := range []string{"version: " + strings.TrimPrefix(version, "v"), "appVersion: " + version} {
		if !strings.Contains(about, line+"\n") {
			t.Errorf("the package's description lacks %q:\n%s", line, about)
		}
	}
	helm("lint", "--strict", chart)
	checkMetadata(t, about)
	const pools = `gateways.pools=[{"name":"p","addresses":["192.0.2.0/24"],"routerIDs":[51]}]`
	objects := helm("template", "release", chart, "--namespace", "svc-lb-mux", "--set-json", pools)
	for _, part := range []string{"webhook", "reconciler", "gateway"} {
		var top struct{ Manifests []descriptor }
		decode(t, readTar(t, strings.NewReader(read(t, made, "svc-lb-mux-"+part+"-"+version+".oci.tar")))["index.json"], &top)
		if image := "/svc-lb-mux/" + part + "@" +
			top.Manifests[0].Digest; !strings.Contains(strings.ReplaceAll(objects, `"`, ""), image+"\n") {
			t.Errorf("no pod uses the image %s of the archive", image)
		}
		bare := helm("template", "release", chart, "--namespace", "svc-lb-mux", "--set-json", pools, "--set",
			"images."+part+".digest=")
		if image := "/svc-lb-mux/" + part + ":" + version; !strings.Contains(strings.ReplaceAll(bare, `"`, ""), image+"\n") {
			t.Errorf("with an empty digest no pod uses the image %s", image)
		}
	}
	files := readTar(t, bytes.NewReader(gunzip(t, []byte(read(t, chart)))))
	for name := range files {
		if !strings.HasPrefix(name, "svc-lb-mux/") {
			t.Errorf("the package has a file outside of its folder: %s", name)
		}
	}
}

// checkMetadata checks what a release adds to Chart.yaml, and that the rest of it is there.
func checkMetadata(t *testing.T, about string) {
	t.Helper()
	var chart struct {
		Home, Icon  string
		Sources     []string
		Maintainers []struct{ Name string }
		Annotations map[string]string
	}
	if err := yaml.Unmarshal([]byte(about), &chart); err != nil {
		t.Fatal(err)
	}
	if chart.Home != downloads || !slices.Equal(chart.Sources, []string{sources}) || len(chart.Maintainers) != 1 ||
		!strings.HasPrefix(chart.Icon, "data:image/svg+xml;base64,") {
		t.Errorf("the package's description is %+v", chart)
	}
	for key, part := range map[string]string{
		"category": "networking", "license": "Apache-2.0", "prerelease": "true", "containsSecurityUpdates": "false",
		"links": downloads + "/" + version + "/release-notes.md", "changes": "kind: added",
	} {
		if got := chart.Annotations["artifacthub.io/"+key]; !strings.Contains(got, part) {
			t.Errorf("the annotation %s is %.200q, want %q in it", key, got, part)
		}
	}
}
