package cluster

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Image is a container image of one static program. It has no base image, so nothing is pulled.
type Image struct {
	Name       string // name with tag
	Program    string // path of the program's file
	As         string // path in the image
	Entrypoint []string
	Args       []string // default arguments
}

// PodImage is the image of the test pods' program. It is also the sandbox image of each pod.
const PodImage = "svc-lb-mux.test/pod:1"

// WriteArchive writes an archive of images that `ctr images import` and other tools can read, for example for Nodes.
// Images of one program share its layer.
func WriteArchive(path string, images ...Image) error {
	var files []tarFile
	var manifest []map[string]any
	layers := map[string]string{} // program to the name of its layer
	for _, image := range images {
		name, shared := layers[image.Program]
		if !shared {
			layer, err := image.layer()
			if err != nil {
				return fmt.Errorf("image %s: %w", image.Name, err)
			}
			name = digest(layer)
			layers[image.Program] = name
			files = append(files, tarFile{name + ".tar", layer, 0o644})
		}
		config, err := image.config(name)
		if err != nil {
			return fmt.Errorf("image %s: %w", image.Name, err)
		}
		files = append(files, tarFile{digest(config) + ".json", config, 0o644})
		manifest = append(manifest, map[string]any{"Config": digest(config) + ".json",
			"RepoTags": []string{image.Name}, "Layers": []string{name + ".tar"}})
	}
	index, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	archive, err := tarOf(append(files, tarFile{"manifest.json", index, 0o644}))
	if err != nil {
		return err
	}
	return os.WriteFile(path, archive, 0o600)
}

func (i Image) config(layer string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": i.Entrypoint, "Cmd": i.Args, "User": "65532:65532", "Env": []string{"PATH=/"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + layer}},
	})
}

func (i Image) layer() ([]byte, error) {
	program, err := os.ReadFile(i.Program)
	if err != nil {
		return nil, err
	}
	return tarOf([]tarFile{{i.As[1:], program, 0o755}})
}

type tarFile struct {
	name string
	data []byte
	mode int64
}

// tarOf adds a folder entry for every file, and no times: the same input gives the same image.
func tarOf(files []tarFile) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, file := range files {
		if dir := filepath.Dir(file.name); dir != "." {
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}); err != nil {
				return nil, err
			}
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: file.name, Size: int64(len(file.data)), Mode: file.mode}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(file.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
