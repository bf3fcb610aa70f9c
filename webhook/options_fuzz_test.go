package webhook

import (
	"flag"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// FuzzOptions gives a process any words, one per line. Words with a dash are flags, the others set environment
// variables. Accepted options must work, and each mistake must name its flag.
func FuzzOptions(f *testing.F) {
	golden.Seeds(f)
	for _, words := range []string{
		"NAMESPACE=infra", "DEFAULT_MUX_NAMESPACE=A\nAPI_PREFIX=mux.example.com\nSVC_LB_MUX_DEBUG=1", "",
		"--default-mux-namespace=a\n--address=[::1]:1\n--log-level=DEBUG", "NAMESPACE=a\n--address=:1\n--probe-address=:1",
		"NAMESPACE=a\n--cert-dir=\n--cert-name=..\n--key-name=/", "NAMESPACE=a\n--key-name=a/b", "NAMESPACE=a\n--cert-name=.",
		"NAMESPACE=a\n--key-name=..", "NAMESPACE=a\n--key-name=/",
		"NAMESPACE=a\nPREDICT=yes\nPREDICT_STRICT=1\nPREDICT_HIDE_HOLDERS=maybe", "NAMESPACE=a\n--predict-strict",
		"NAMESPACE=a\n--cert-interval=1ns\n--drain-delay=-1s\n--drain-timeout=9e9h",
	} {
		f.Add(words)
	}
	f.Fuzz(func(t *testing.T, words string) {
		options, parsed := optionsOf(words)
		if !parsed {
			return
		}
		if err := options.Check(); err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "SVC_LB_MUX_DEBUG ") {
					t.Errorf("the message doesn't name the flag: %q", line)
				}
			}
			return
		}
		language, err := options.language()
		if err != nil {
			t.Fatal(err)
		}
		wrong := append(validation.IsDNS1123Subdomain(language.Prefix()),
			validation.IsDNS1123Label(language.DefaultMuxNamespace())...)
		if len(wrong) > 0 {
			t.Errorf("%q, %q: %q", language.Prefix(), language.DefaultMuxNamespace(), wrong)
		}
		for _, address := range []string{options.Address, options.ProbeAddress} {
			_, port, err := net.SplitHostPort(address)
			if _, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil {
				t.Errorf("%q: %v, %v", address, err, wrong)
			}
		}
		for _, name := range []string{options.CertName, options.KeyName} {
			if filepath.Dir(filepath.Join("folder", name)) != "folder" {
				t.Errorf("%q is outside of the folder", name)
			}
		}
		if options.CertInterval <= 0 || options.DrainDelay < 0 || options.DrainTimeout < 0 || options.strict() &&
			!options.predict() {
			t.Errorf("accepted: %+v", options)
		}
	})
}

func optionsOf(words string) (Options, bool) {
	environment, args := map[string]string{}, []string(nil)
	for word := range strings.SplitSeq(words, "\n") {
		if name, value, found := strings.Cut(word, "="); found && !strings.HasPrefix(word, "-") {
			environment[name] = value
			continue
		}
		args = append(args, word)
	}
	options := DefaultOptions(func(name string) string { return environment[name] })
	set := flag.NewFlagSet("webhook", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	options.AddFlags(set)
	return options, set.Parse(args) == nil
}
