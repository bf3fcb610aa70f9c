package validate

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	kube "k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/validation"
)

// usage returns the help, with the name by which the program was called.
func usage(program string) string {
	return strings.ReplaceAll(helpText, "svcmux validate", program+" validate")
}

const helpText = `Judge the Services in files as admission would, and warn of mistakes that admission can't see.

Usage:
  svcmux validate -f FILE|DIR|- [-f ...] [flags]

  svcmux validate -f deploy/
  helm template ./chart | svcmux validate -f -
  kustomize build overlays/prod | svcmux validate -f - -o github

Files hold YAML or JSON, with any number of documents and lists: List, ServiceList, ResourceList, and any other that
kubectl applies. Directories are read recursively: .yaml, .yml and .json. Routes of the Gateway API that ask for a
number are judged, too. Other objects are skipped.

Flags:
  -f, --filename FILE             a file, a directory, or - for standard input; may be repeated
  -o, --output FORMAT             text, json, sarif or github (workflow commands); default text
  -n, --namespace NAMESPACE       for objects without a namespace; default "default"
      --strict                    count warnings as problems; also --warnings-as-errors
      --prefix PREFIX             of annotations and classes; default $API_PREFIX, else ` + validation.DefaultPrefix + `
      --default-mux-namespace NS  for classes without a namespace; default $DEFAULT_MUX_NAMESPACE, else svc-mux

Exit codes:
  0  no problems; there may be warnings
  1  problems were found
  2  the command line has a mistake, or a file can't be read; the other files are still judged
`

// options are the flags.
type options struct {
	program, version string // of this program

	files        []string
	output       string
	namespace    string
	strict       bool
	prefix       string
	muxNamespace string
}

func newOptions(env cli.Env) options {
	return options{
		program:      env.Program,
		version:      env.Version,
		output:       "text",
		namespace:    "default",
		prefix:       cmp.Or(env.Getenv("API_PREFIX"), validation.DefaultPrefix),
		muxNamespace: cmp.Or(env.Getenv("DEFAULT_MUX_NAMESPACE"), "svc-mux"),
	}
}

// parse reads the command line. It returns flag.ErrHelp if help is asked for.
func (o *options) parse(args []string) error {
	flags := flag.NewFlagSet("validate", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller prints the error
	o.flags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q has no flag in front: write -f for each file, or name their directory", flags.Arg(0))
	}
	return nil
}

func (o *options) flags(flags *flag.FlagSet) {
	file := func(path string) error {
		o.files = append(o.files, path)
		return nil
	}
	for _, name := range []string{"f", "filename"} {
		flags.Func(name, "", file)
	}
	for _, name := range []string{"o", "output"} {
		flags.StringVar(&o.output, name, o.output, "")
	}
	for _, name := range []string{"n", "namespace"} {
		flags.StringVar(&o.namespace, name, o.namespace, "")
	}
	for _, name := range []string{"strict", "warnings-as-errors"} {
		flags.BoolVar(&o.strict, name, o.strict, "")
	}
	flags.StringVar(&o.prefix, "prefix", o.prefix, "")
	flags.StringVar(&o.muxNamespace, "default-mux-namespace", o.muxNamespace, "")
}

// check returns the language for the options, or the mistake in the options.
func (o *options) check() (validation.Language, error) {
	if len(o.files) == 0 {
		return validation.Language{}, errors.New("no files given: name a file or directory with -f, or - for standard input")
	}
	if slices.Contains(o.files, "") {
		return validation.Language{}, errors.New(`-f "": name a file or directory, or - for standard input`)
	}
	if _, known := printers()[o.output]; !known {
		return validation.Language{}, fmt.Errorf("-o %q: use text, json, sarif or github", o.output)
	}
	if wrong := kube.IsDNS1123Label(o.namespace); len(wrong) > 0 {
		return validation.Language{}, fmt.Errorf("-n %q is not the name of a namespace: %s", o.namespace,
			strings.Join(wrong, "; "))
	}
	lang, err := validation.New(o.prefix, o.muxNamespace)
	if err != nil {
		return lang, fmt.Errorf("%w: set it with --prefix or $API_PREFIX, --default-mux-namespace or "+
			"$DEFAULT_MUX_NAMESPACE", err)
	}
	return lang, nil
}
