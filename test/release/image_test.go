package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type descriptor struct {
	Digest      string
	Annotations map[string]string
	Platform    struct{ OS, Architecture string }
}

// image holds the fields of an OCI image's manifest and config that are checked.
type image struct {
	Created, Architecture, OS string
	Config                    struct {
		User       string
		Entrypoint []string
		Labels     map[string]string
	}
	RootFS struct {
		DiffIDs []string `json:"diff_ids"`
	}
}

// layout is an OCI layout in memory: file names to contents.
type layout map[string][]byte

// checkArchive checks a whole archive against the OCI image layout, down to the programs in it.
func checkArchive(t *testing.T, made, part string) {
	t.Helper()
	archive := readTar(t, strings.NewReader(read(t, made, "svc-lb-mux-"+part+"-"+version+".oci.tar")))
	var top, index struct{ Manifests []descriptor }
	decode(t, archive["index.json"], &top)
	if len(top.Manifests) != 1 {
		t.Fatalf("index.json has %d manifests, want one index", len(top.Manifests))
	}
	want := "localhost/svc-lb-mux/" + part + ":" + version
	if got := top.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; got != want {
		t.Errorf("the image is named %q, want %q", got, want)
	}
	decode(t, archive.blob(t, top.Manifests[0].Digest), &index)
	var platforms []string
	for _, manifest := range index.Manifests {
		platforms = append(platforms, manifest.Platform.OS+"/"+manifest.Platform.Architecture)
		checkImage(t, archive, manifest, part)
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms: %s", diff)
	}
	if tool, err := command(t, ".", "sh", "-c", "command -v buildah").Output(); err == nil {
		store := t.TempDir()
		out, err := command(t, ".", strings.TrimSpace(string(tool)), "--root", store+"/root", "--runroot", store+"/run",
			"--storage-driver", "vfs", "pull", "--quiet",
			"oci-archive:"+filepath.Join(made, "svc-lb-mux-"+part+"-"+version+".oci.tar")).CombinedOutput()
		if err != nil {
			t.Errorf("buildah can't read it: %v\n%s", err, out)
		}
	}
}

func checkImage(t *testing.T, archive layout, manifest descriptor, part string) {
	t.Helper()
	var parts struct {
		Config descriptor
		Layers []descriptor
	}
	decode(t, archive.blob(t, manifest.Digest), &parts)
	var config image
	decode(t, archive.blob(t, parts.Config.Digest), &config)
	var want image
	want.Created, want.OS, want.Architecture = madeAtIs, manifest.Platform.OS, manifest.Platform.Architecture
	want.Config.User, want.Config.Entrypoint = "65532:65532", []string{"/" + part}
	want.RootFS.DiffIDs, want.Config.Labels = config.RootFS.DiffIDs, config.Config.Labels
	if diff := cmp.Diff(want, config); diff != "" {
		t.Errorf("%s: %s", manifest.Platform.Architecture, diff)
	}
	labels := config.Config.Labels
	if labels["org.opencontainers.image.version"] != version || labels["org.opencontainers.image.revision"] != commit {
		t.Errorf("labels %v", labels)
	}
	if len(parts.Layers) != 1 || len(config.RootFS.DiffIDs) != 1 {
		t.Fatalf("layers %v, diff IDs %v: want one of each", parts.Layers, config.RootFS.DiffIDs)
	}
	layer := gunzip(t, archive.blob(t, parts.Layers[0].Digest))
	if got := digest(layer); got != config.RootFS.DiffIDs[0] {
		t.Errorf("the layer is %s, the config says %s", got, config.RootFS.DiffIDs[0])
	}
	files := readTar(t, bytes.NewReader(layer))
	program, err := elf.NewFile(bytes.NewReader(files[part]))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, and %s: %v; want that one alone", len(files), part, err)
	}
	if machine := map[string]elf.Machine{"amd64": elf.EM_X86_64,
		"arm64": elf.EM_AARCH64}[config.Architecture]; program.Machine != machine {
		t.Errorf("an image for %s has a program for %s", config.Architecture, program.Machine)
	}
}

// blob returns the contents of a digest.
func (l layout) blob(t *testing.T, name string) []byte {
	t.Helper()
	data, ok := l["blobs/"+strings.Replace(name, ":", "/", 1)]
	if !ok || digest(data) != name {
		t.Fatalf("the blob %s is missing, or doesn't match its digest", name)
	}

	return data
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)

	return "sha256:" + hex.EncodeToString(sum[:])
}

// readTar reads the files of an archive, and checks that every user may read them.
func readTar(t *testing.T, from io.Reader) layout {
	t.Helper()
	files := layout{}
	for archive := tar.NewReader(from); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Mode&0o444 != 0o444 || header.Uid != 0 ||
			!slices.Contains([]byte{tar.TypeReg, tar.TypeDir}, header.Typeflag) {
			t.Errorf("%s: mode %o, owner %d, type %c", header.Name, header.Mode, header.Uid, header.Typeflag)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

func gunzip(t *testing.T, data []byte) []byte {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}

	return plain
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%v: %.200s", err, data)
	}
}
