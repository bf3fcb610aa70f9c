package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Names of files in a release's folder.
const (
	sums         = "SHA256SUMS"
	suffix       = ".provenance.json"
	bundleSuffix = ".sigstore.json" // signatures, which cosign writes
)

// images returns the subjects that are images. Only their names have a colon.
func (s statement) images() []resource {
	var found []resource
	for _, subject := range s.Subject {
		if strings.Contains(subject.Name, ":") {
			found = append(found, subject)
		}
	}

	return found
}

// check compares a folder with its statement. The error names each difference, and what to do about it.
func check(folder string, stated statement) error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if stated.Type != statementType || stated.PredicateType != predicateType ||
		stated.Predicate.BuildDefinition.BuildType != buildType {
		problem("the provenance is a %q of type %q for builds of type %q, and a release has %q, %q, %q: "+
			"get the release's files again",
			stated.Type, stated.PredicateType, stated.Predicate.BuildDefinition.BuildType, statementType,
			predicateType, buildType)
	}
	want := map[string]string{}
	for _, subject := range stated.Subject {
		want[subject.Name] = subject.Digest["sha256"]
	}
	found, err := files(folder)
	if err != nil {
		return err
	}
	for _, file := range found {
		got := file.Digest["sha256"]
		switch stated, ok := want[file.Name]; {
		case !ok:
			problem("the provenance doesn't name %s: nothing says how that file was made; don't use it", file.Name)
		case stated != got:
			problem("%s has the checksum %s, and the provenance says %s: one of both was changed; get both again", file.Name,
				got, stated)
		}
		delete(want, file.Name)
	}
	for _, image := range stated.images() {
		if err := checkArchive(folder, image); err != nil {
			problems = append(problems, err)
		}
		delete(want, image.Name)
	}
	for _, subject := range stated.Subject {
		if _, missing := want[subject.Name]; missing {
			problem("%s is missing, and the provenance names it: get the release's files again", subject.Name)
		}
	}
	if err := checkBundle(folder); err != nil {
		problems = append(problems, err)
	}

	return errors.Join(problems...)
}

// checkArchive compares an image's digest with its archive. An image without an archive is only in the registry.
func checkArchive(folder string, image resource) error {
	name, version, _ := strings.Cut(strings.ReplaceAll(image.Name, "/", "-"), ":")
	archive := name + "-" + version + ".oci.tar"
	data, err := fromTar(filepath.Join(folder, archive), "index.json")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s isn't the archive of an image: %w: get it again", archive, err)
	}
	var index struct{ Manifests []struct{ Digest string } }
	if err := json.Unmarshal(data, &index); err != nil || len(index.Manifests) != 1 {
		return fmt.Errorf("%s doesn't hold one image (index.json lists %d): get it again", archive, len(index.Manifests))
	}
	if got, want := index.Manifests[0].Digest, "sha256:"+image.Digest["sha256"]; got != want {
		return fmt.Errorf("%s holds the image %s, and the provenance says that %s is %s: one of both was changed; "+
			"get both again",
			archive, got, image.Name, want)
	}

	return nil
}

func fromTar(path, name string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for archive := tar.NewReader(file); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("it has no %s", name)
		}
		if err != nil {
			return nil, err
		}
		if header.Name == name {
			return io.ReadAll(archive)
		}
	}
}

// checkBundle compares the signed statement with the plain one. cosign checks the signature.
func checkBundle(folder string) error {
	plain, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
	if err != nil || len(plain) != 1 {
		return err
	}
	signed := strings.TrimSuffix(plain[0], ".json") + bundleSuffix
	data, err := os.ReadFile(signed)
	if errors.Is(err, os.ErrNotExist) {
		return nil // not signed; the caller decides whether it must be
	}
	if err != nil {
		return err
	}
	var bundle struct{ DSSEEnvelope struct{ Payload []byte } }
	if err := json.Unmarshal(data, &bundle); err != nil {
		return fmt.Errorf("%s isn't a signature of cosign: %w: get it again", filepath.Base(signed), err)
	}
	want, err := os.ReadFile(plain[0])
	if err != nil {
		return err
	}
	if !bytes.Equal(bundle.DSSEEnvelope.Payload, want) {
		return fmt.Errorf("%s signs another text than %s has: one of both was changed; get both again",
			filepath.Base(signed), filepath.Base(plain[0]))
	}

	return nil
}
