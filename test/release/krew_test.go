package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// checkKrew reads the manifest of the kubectl plugin as Krew does, and the archives that it names.
func checkKrew(t *testing.T, made string) {
	t.Helper()
	var plugin struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Version, Homepage, ShortDescription, Description string
			Platforms                                        []struct {
				Selector         struct{ MatchLabels struct{ OS, Arch string } }
				URI, SHA256, Bin string
			}
		}
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, made, "svcmux.yaml")), &plugin); err != nil {
		t.Fatal(err)
	}
	const longest = 50 // of the short description, by Krew's guide
	if spec := plugin.Spec; plugin.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" ||
		plugin.Kind != "Plugin" ||
		plugin.Metadata.Name != "svcmux" || spec.Version != version || spec.Homepage != downloads || spec.Description == "" ||
		spec.ShortDescription == "" || len(spec.ShortDescription) > longest {
		t.Errorf("the manifest is %+v", plugin)
	}
	var found []string
	for _, platform := range plugin.Spec.Platforms {
		label := platform.Selector.MatchLabels
		found = append(found, label.OS+"/"+label.Arch)
		folder, name := path.Split(platform.URI)
		if folder != downloads+"/"+version+"/" {
			t.Errorf("%s isn't in the folder of the release", platform.URI)
		}
		archive := []byte(read(t, made, name))
		if sum := sha256.Sum256(archive); hex.EncodeToString(sum[:]) != platform.SHA256 {
			t.Errorf("%s has another checksum than the manifest says", name)
		}
		program := "svcmux-" + version + "-" + label.OS + "-" + label.Arch + filepath.Ext(platform.Bin)
		files := readTar(t, bytes.NewReader(gunzip(t, archive)))
		if string(files[platform.Bin]) != read(t, made, program) || !strings.Contains(string(files["LICENSE"]), "License") ||
			len(files) != 2 {
			t.Errorf("%s doesn't have the program %s and the license alone", name, program)
		}
	}
	if diff := cmp.Diff(platforms(), found); diff != "" {
		t.Errorf("platforms: %s", diff)
	}
}
