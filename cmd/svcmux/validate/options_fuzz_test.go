package validate

import (
	"slices"
	"strings"
	"testing"

	kube "k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// FuzzOptions parses any command line, one word per line, with any environment. Accepted options must be usable.
func FuzzOptions(f *testing.F) {
	golden.Seeds(f)
	f.Add("-f\na.yaml\n-o\njson", "", "")
	f.Add("--filename=-\n--strict\n--namespace=a.b", "mux.example.com", "infra")
	f.Add("-f=\n-o=xml\n--prefix\nA/b", "", "A")
	f.Add("-f\na\n--default-mux-namespace=\n--prefix=", "x", "y")
	f.Add("a.yaml\n--\n-h", "-", "-")
	f.Fuzz(func(t *testing.T, words, prefix, namespace string) {
		environment := map[string]string{"API_PREFIX": prefix, "DEFAULT_MUX_NAMESPACE": namespace}
		opts := newOptions(cli.Env{Getenv: func(name string) string { return environment[name] }})
		args := strings.Split(words, "\n")
		if opts.parse(args) != nil {
			return
		}
		language, err := opts.check()
		if err != nil {
			return
		}
		wrong := append(kube.IsDNS1123Subdomain(language.Prefix()), kube.IsDNS1123Label(language.DefaultMuxNamespace())...)
		wrong = append(wrong, kube.IsDNS1123Label(opts.namespace)...)
		if _, known := printers()[opts.output]; len(wrong) > 0 || !known || len(opts.files) == 0 ||
			slices.Contains(opts.files, "") {
			t.Errorf("%q is accepted: %+v: %q", args, opts, wrong)
		}
		for _, file := range opts.files {
			if !slices.ContainsFunc(args, func(word string) bool { return strings.HasSuffix(word, file) }) {
				t.Errorf("%q isn't an argument", file)
			}
		}
	})
}
