package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

func FuzzExternalPorts(f *testing.F) {
	golden.Seeds(f)
	for _, seed := range []string{
		"http:8080,grpc:auto", "http:AUTO", "http:80", "grpc:80", "http:1,http:2", "metrics:1", ":", "http:", "http:080",
		" http : 1 ,,", "dns:443", "http:443,grpc:80", "http:65536", "a:b:c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		ports := fuzzPorts()
		index := map[string]int{}
		for i, port := range ports {
			index[port.Name] = i
		}
		n, found := noteOf(value)
		parseExternalPorts(n, ports, index)
		refuseClashes(n, ports)
		want, ok := plainExternalPorts(value)
		if clean := len(found.Problems) == 0; clean != ok {
			t.Fatalf("accepted: %v, the reference says %v; problems: %v", clean, ok, found.Problems)
		}
		if len(found.Problems) > maxProblems+1 || len(found.Warnings) > maxProblems {
			t.Fatalf("%d problems, %d warnings", len(found.Problems), len(found.Warnings))
		}
		var written []string
		for _, port := range ports {
			if ok && port.Request.String() != want[port.Name] {
				t.Fatalf("%s asks for %s, the reference says %s", port.Name, port.Request, want[port.Name])
			}
			written = append(written, port.Name+":"+port.Request.String())
		}
		if ok {
			reread := fuzzPorts()
			again, problems := noteOf(strings.Join(written, ","))
			parseExternalPorts(again, reread, index)
			if len(problems.Problems) > 0 || fmt.Sprint(requestsOf(ports)) != fmt.Sprint(requestsOf(reread)) {
				t.Fatalf("%q reads as %v after being written out", written, reread)
			}
		}
	})
}

func fuzzPorts() []ChannelPort {
	ports := []ChannelPort{
		{Name: "http", Protocol: "TCP", Port: 80}, {Name: "grpc", Protocol: "TCP", Port: 443},
		{Name: "dns", Protocol: "UDP", Port: 443},
	}
	for i := range ports {
		ports[i].Request = Request{Kind: Own, Number: ports[i].Port}
	}
	return ports
}

// requestsOf returns the requests as text. A port's own number has the same text as a request for this number, which it
// becomes when the test writes it out.
func requestsOf(ports []ChannelPort) []string {
	var all []string
	for _, port := range ports {
		all = append(all, port.Name+" "+port.Request.String())
	}
	return all
}

func plainExternalPorts(value string) (map[string]string, bool) {
	requests := map[string]string{"http": "80", "grpc": "443", "dns": "443"}
	seen := map[string]bool{}
	for _, entry := range plainEntries(value) {
		parts := regexp.MustCompile(`^(http|grpc|dns)\s*:\s*((?i:auto)|[1-9][0-9]{0,4})$`).FindStringSubmatch(entry)
		if parts == nil || seen[parts[1]] {
			return nil, false
		}
		seen[parts[1]] = true
		requests[parts[1]] = strings.ToLower(parts[2])
		if _, ok := plainPort(parts[2]); !ok && requests[parts[1]] != "auto" {
			return nil, false
		}
	}
	clash := requests["http"] == requests["grpc"] && requests["http"] != "auto"
	return requests, !clash
}

func FuzzClass(f *testing.F) {
	golden.Seeds(f)
	for _, seed := range []string{
		"p.io/mux", "p.io/mux.ns", "p.io", "p.io/", "p.io/a.b.c", "p.io/Mux", "p.io.evil/x", "xp.io/x", "p.io/mux_1",
		"p.io/-a", "p.io/a.", "p.io/" + strings.Repeat("a", 64), "p.io/1",
	} {
		f.Add(seed)
	}
	lang, err := New("p.io", "home")
	if err != nil {
		f.Fatal(err)
	}
	label := `[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?`
	grammar := regexp.MustCompile(`\Ap\.io/(` + label + `)(?:\.(` + label + `))?\z`)
	f.Fuzz(func(t *testing.T, class string) {
		ref, ok := lang.ParseClass(class)
		parts := grammar.FindStringSubmatch(class)
		if ok != (parts != nil) {
			t.Fatalf("accepted: %v, the reference says %v", ok, parts != nil)
		}
		if owned := class == "p.io" || strings.HasPrefix(class, "p.io/"); lang.ownsClass(class) != owned {
			t.Fatalf("owned: %v", !owned)
		}
		if !ok {
			return
		}
		if parts[2] == "" {
			parts[2] = "home"
		}
		if ref.Name != parts[1] || ref.Namespace != parts[2] {
			t.Fatalf("read as %s, the reference says %v", ref, parts[1:])
		}
		if again, _ := lang.ParseClass(lang.FormatClass(ref)); again != ref {
			t.Fatalf("%s reads as %s after being written out", ref, again)
		}
	})
}

func FuzzHostnames(f *testing.F) {
	golden.Seeds(f)
	for _, seed := range []string{
		"app.example.com", "*.a.b", "A.b.,c", "a,A.", "10.0.0.1", "a..b", "\u212aa.com", "_a.b",
		strings.Repeat("a", 64) + ".b", "*." + strings.Repeat("a.", 125) + "a", "*." + strings.Repeat("a.", 126) + "a",
	} {
		f.Add(seed)
	}
	label := `[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?`
	grammar := regexp.MustCompile(`(?i)\A(?:\*\.)?` + label + `(?:\.` + label + `)*\.?\z`)
	f.Fuzz(func(t *testing.T, value string) {
		n, found := noteOf(value)
		names := parseHostnames(n)
		seen, ok := map[string]bool{}, true
		for _, entry := range plainEntries(value) {
			name := strings.TrimSuffix(strings.ToLower(entry), ".")
			last := name[strings.LastIndex(name, ".")+1:]
			ok = ok && isASCII(entry) && grammar.MatchString(entry) && len(name) <= 253 &&
				!seen[name] && strings.Trim(last, "0123456789") != ""
			seen[name] = true
		}
		ok = ok && len(seen) <= MaxHostnames
		if clean := len(found.Problems) == 0; clean != ok {
			t.Fatalf("accepted: %v, the reference says %v; problems: %v", clean, ok, found.Problems)
		}
		if !ok {
			return
		}
		again, _ := noteOf(FormatHostnames(names))
		if reread := parseHostnames(again); !slices.Equal(reread, names) || !slices.IsSorted(names) {
			t.Fatalf("%q reads as %q after being written out", names, reread)
		}
	})
}
