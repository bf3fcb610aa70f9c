package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// Output are the flags of a command that proposes Services.
type Output struct {
	Format string // "", wide, yaml, json or name
	Dir    string // a folder for the manifests; "" for none
	force  bool
}

// Bind adds the flags to a command.
func (o *Output) Bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.Format, "output", "o", "",
		"wide, for more columns; or yaml, json or name, for the Services instead of the report")
	flags.StringVar(&o.Dir, "manifests", "", "write the Services into this folder, one file for each namespace")
	flags.BoolVar(&o.force, "force", false, "with --manifests, replace files that differ")
	_ = cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions([]string{"wide", "yaml", "json", "name"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagDirname("manifests")
}

// Check returns the mistake in the flags.
func (o *Output) Check() error {
	if !slices.Contains([]string{"", "wide", "yaml", "json", "name"}, o.Format) {
		return cli.Usagef("-o %s: use wide, yaml, json or name", cli.Shown(o.Format))
	}
	return nil
}

// Objects says that standard output is for Services, and not for the report.
func (o *Output) Objects() bool { return o.Format != "" && o.Format != "wide" }

// Print writes Services in the format of the flag -o.
func (o *Output) Print(to io.Writer, services []*corev1.Service) error {
	var b bytes.Buffer
	var printer printers.ResourcePrinter
	switch o.Format {
	case "yaml":
		printer = &printers.YAMLPrinter{}
	case "name":
		printer = &printers.NamePrinter{}
	case "json":
		list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
		for _, svc := range services {
			list.Items = append(list.Items, *bare(svc))
		}
		return errors.Join((&printers.JSONPrinter{}).PrintObj(list, &b), write(to, b.Bytes()))
	}
	for _, svc := range services {
		if err := printer.PrintObj(bare(svc), &b); err != nil {
			return err
		}
	}
	return write(to, b.Bytes())
}

func write(to io.Writer, data []byte) error {
	if _, err := to.Write(data); err != nil {
		return fmt.Errorf("the output couldn't be written: %w", err)
	}
	return nil
}

// bare returns a Service with the fields that a user would write.
func bare(svc *corev1.Service) *unstructured.Unstructured {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(svc)
	if err != nil {
		panic(err) // a Service is always convertible
	}
	delete(fields, "status")
	object := &unstructured.Unstructured{Object: fields}
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	ports, _, _ := unstructured.NestedSlice(fields, "spec", "ports")
	for _, port := range ports {
		if port, isMap := port.(map[string]any); isMap && port["targetPort"] == int64(0) {
			delete(port, "targetPort") // not set: the API server takes the port
		}
	}
	_ = unstructured.SetNestedSlice(fields, ports, "spec", "ports")
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
	return object
}

// Save writes the Services into the folder of the flag --manifests: first a file of muxes, then one file for each
// namespace. kubectl apply reads the files in that order. No file is written if another file would be lost.
func (o *Output) Save(isMux func(metav1.Object) bool, services []*corev1.Service) (files []string, err error) {
	texts := map[string]*bytes.Buffer{}
	for _, svc := range services {
		name := svc.Namespace + ".yaml"
		if isMux(svc) {
			name = "00-muxes.yaml"
		}
		if texts[name] == nil {
			texts[name] = &bytes.Buffer{}
			files = append(files, name)
		}
		text, err := yamlOf(svc)
		if err != nil {
			return nil, err
		}
		if texts[name].Len() > 0 {
			texts[name].WriteString("---\n")
		}
		texts[name].WriteString(text)
	}
	slices.Sort(files)
	for _, name := range files {
		if err := o.mayReplace(filepath.Join(o.Dir, name), texts[name].Bytes()); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return nil, fmt.Errorf("--manifests: %w", err)
	}
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(o.Dir, name), texts[name].Bytes(), 0o666); err != nil {
			return nil, fmt.Errorf("--manifests: %w", err)
		}
	}
	return files, nil
}

func yamlOf(svc *corev1.Service) (string, error) {
	var b strings.Builder
	err := (&printers.YAMLPrinter{}).PrintObj(bare(svc), &b)
	return b.String(), err
}

// mayReplace returns an error if the file exists with another content.
func (o *Output) mayReplace(path string, data []byte) error {
	there, err := os.ReadFile(path)
	if o.force || errors.Is(err, os.ErrNotExist) || err == nil && bytes.Equal(there, data) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--manifests: %w", err)
	}
	return fmt.Errorf("%s exists with other content: choose another folder, or replace it with --force", cli.Shown(path))
}
