package survey

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/cli/clitest"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
	"nowake.ai/svc-lb-mux/cmd/svcmux/validate"
	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/validation"
)

func survey(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, Command, "", args...)
}

func TestGoldenReports(t *testing.T) { looktest.Stories(t, Command) }

// input returns the path of a file that stories read.
func input(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(golden.Read(t, "testdata/stories.txtar").Extract(t, name), name)
}

// TestOnlyAChannelThatCarriesTakesTheLoadBalancersPlace has channels in several states beside Services with load
// balancers. Whoever changes the type of a Service while its channel carries nothing has an outage.
func TestOnlyAChannelThatCarriesTakesTheLoadBalancersPlace(t *testing.T) {
	const change = "set its type to ClusterIP"
	got := survey(t, "-f", input(t, "moved.yaml"))
	for service, says := range map[string]string{
		"shop/web":   "channel web-mux has its pods: " + change,
		"shop/twice": "channel twice-b has its pods: " + change,
		"shop/idle":  "channel idle-mux has its pods: " + change,
		"shop/api": "keep this load balancer: channel api-mux has its pods, and is refused (MuxPortConflict): port " +
			"\"https\" asks for 443/TCP",
		"shop/edit": "keep this load balancer: channel edit-mux has its pods, and is refused (OutOfRange)",
		"shop/late": "keep this load balancer: " +
			"channel late-mux has its pods, and no condition says that its ports are on the mux",
		"shop/slow": "keep this load balancer: channel slow-mux has its pods, and they aren't on the mux (BackendsRefused)",
		"chat/web":  "no other Service that it may share with has the same settings",
		"shop/gone": "no other Service that it may share with has the same settings",
	} {
		found := false
		for _, line := range strings.Split(got.Out, "\n") {
			if name, why, _ := strings.Cut(line, " "); name == service {
				found = true
				if why = strings.TrimSpace(why); !strings.HasPrefix(why, says) ||
					strings.Contains(why, change) != strings.Contains(says, change) {
					t.Errorf("%s: %q, want %q", service, why, says)
				}
			}
		}
		if !found {
			t.Errorf("nothing about %s in\n%s", service, got.Out)
		}
	}
}

func TestProposalsPassValidate(t *testing.T) {
	nothing := []string{"gke--keep-numbers", "gke--per=namespace", "aws--per=namespace"} // can be shared in these
	for _, world := range []string{"metal", "gke", "aws"} {
		for _, more := range []string{"", "--keep-numbers", "--per=namespace", "--provider=gke"} {
			t.Run(world+more, func(t *testing.T) {
				args := []string{"-f", input(t, world+".yaml"), "-o", "yaml"}
				if more != "" {
					args = append(args, more)
				}
				got := survey(t, args...)
				if empty := got.Out == ""; empty || slices.Contains(nothing, world+more) {
					if !empty || !slices.Contains(nothing, world+more) {
						t.Errorf("it proposes %q", got.Out)
					}
					return
				}
				var out strings.Builder
				code := validate.Run([]string{"--strict", "-f", "-"}, cli.Env{
					In: strings.NewReader(got.Out), Out: &out, Err: &out, Getenv: func(string) string { return "" },
				})
				if code != 0 {
					t.Errorf("svcmux validate refuses the manifests:\n%s", out.String())
				}
			})
		}
	}
}

func TestMistakesInTheCommandLine(t *testing.T) {
	for name, tc := range map[string]struct {
		args string
		says string
	}{
		"an unknown format":      {"-f - -o pdf", "-o pdf: use wide, yaml, json or name"},
		"an unknown scope":       {"-f - --per cell", "--per cell: use cluster or namespace"},
		"an unknown provider":    {"-f - --provider acme", `provider: "acme" is none of aws, azure, gke and none`},
		"a bad range":            {"-f - --port-range 9", ""},
		"a reversed range":       {"-f - --port-range 9-1", `port-range: "9-1" is backwards: write 1-9`},
		"a bad name for the mux": {"-f - --mux-name A", "--mux-name A:"},
		"an argument":            {"shop", `unexpected argument "shop"`},
		"labels and files":       {"-f - -l a=b", "-l selects in a cluster"},
		"an unreadable file":     {"-f nowhere.yaml", "nowhere.yaml: can't be read: no such file or directory"},
		"a missing kubeconfig":   {"--kubeconfig nowhere", "the kubeconfig can't be read: "},
	} {
		t.Run(name, func(t *testing.T) {
			got := survey(t, strings.Fields(tc.args)...)
			if tc.says != "" && (got.Code == 0 || !strings.Contains(got.Err, tc.says)) {
				t.Errorf("got %+v, want %q", got, tc.says)
			}
		})
	}
}

func TestManifestsAreNotOverwritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	first := survey(t, "-f", input(t, "gke.yaml"), "--manifests", dir)
	if first.Code != 0 || !strings.Contains(first.Err, "5 files written to") {
		t.Fatalf("got %+v", first)
	}
	if again := survey(t, "-f", input(t, "gke.yaml"), "--manifests", dir); again.Code != 0 {
		t.Errorf("the same files again: %+v", again)
	}
	other := survey(t, "-f", input(t, "gke.yaml"), "--manifests", dir, "--port-range", "21000-21999")
	if other.Code != 1 || !strings.Contains(other.Err, "exists with other content") {
		t.Errorf("other files: %+v", other)
	}
	if forced := survey(t, "-f", input(t, "gke.yaml"), "--manifests", dir, "--port-range", "21000-21999",
		"--force"); forced.Code != 0 {
		t.Errorf("--force: %+v", forced)
	}
}

// TestProposalIsSound checks for any Services: each load balancer is counted once, no slot of a mux is given twice, no
// mux has more ports than its limit, and every proposed Service is valid.
func TestProposalIsSound(t *testing.T) {
	lang := must(validation.New(validation.DefaultPrefix, "svc-mux"))
	rapid.Check(t, func(t *rapid.T) {
		opts := Options{
			Lang: lang, MuxNamespace: "svc-mux", MuxName: "shared",
			Range:        rapid.SampledFrom([]string{"20000-20999", "1-12", "101,443"}).Draw(t, "range"),
			Provider:     rapid.SampledFrom([]string{"", "aws", "gke", "none"}).Draw(t, "provider"),
			KeepNumbers:  rapid.Bool().Draw(t, "keep"),
			PerNamespace: rapid.Bool().Draw(t, "per namespace"),
		}
		services := rapid.SliceOfN(rapid.Custom(anyService), 0, 20).Draw(t, "services")
		for i, svc := range services {
			svc.Name = fmt.Sprintf("s%d", i)
		}
		got := Decide(services, opts)
		seen := len(got.Apart)
		for _, m := range got.Muxes {
			slots := map[slot]bool{{placeholderPort, corev1.ProtocolTCP}: !m.removesPlaceholder()}
			if m.Ports() > m.Limit || len(m.Members) < 2 {
				t.Fatalf("%s: %d ports of %d, %d members", m.Key, m.Ports(), m.Limit, len(m.Members))
			}
			for _, member := range m.Members {
				seen++
				for _, p := range member.Ports {
					at := slotOf(p.ServicePort, p.Number)
					if slots[at] {
						t.Fatalf("%s: %v is given twice", m.Key, at)
					}
					slots[at] = true
				}
				if found := lang.Check(member.Channel); len(found.Problems)+len(found.Warnings) > 0 {
					t.Fatalf("channel %s: %v", member.Channel.Name, found)
				}
			}
			if found := lang.Check(m.Service); len(found.Problems)+len(found.Warnings) > 0 {
				t.Fatalf("mux %s: %v", m.Key, found)
			}
		}
		if seen != got.Before || got.After > got.Before {
			t.Fatalf("%d of %d load balancers are told, and %d come out", seen, got.Before, got.After)
		}
	})
}

func anyService(t *rapid.T) *corev1.Service {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace")}}
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	svc.Spec.Selector = map[string]string{"app": "web"}
	svc.Spec.LoadBalancerSourceRanges = rapid.SampledFrom([][]string{nil, {"10.0.0.0/8"}}).Draw(t, "ranges")
	seen := map[slot]bool{}
	for i := range rapid.IntRange(1, 30).Draw(t, "ports") {
		port := corev1.ServicePort{
			Name:     fmt.Sprintf("p%d", i),
			Port:     rapid.SampledFrom([]int32{1, 2, 53, 101, 443, 20000, 20001, 8000 + int32(i)}).Draw(t, "port"),
			Protocol: rapid.SampledFrom([]corev1.Protocol{"", corev1.ProtocolTCP, corev1.ProtocolUDP}).Draw(t, "protocol"),
		}
		if at := slotOf(port, port.Port); !seen[at] {
			seen[at] = true
			svc.Spec.Ports = append(svc.Spec.Ports, port)
		}
	}
	return svc
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// BenchmarkDecide groups 10,000 Services that all want the same number.
func BenchmarkDecide(b *testing.B) {
	lang := must(validation.New(validation.DefaultPrefix, "svc-mux"))
	var services []*corev1.Service
	for i := range 10_000 {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("n%d", i%100),
			Name: fmt.Sprintf("s%d", i)}}
		svc.Spec.Type, svc.Spec.Selector = corev1.ServiceTypeLoadBalancer, map[string]string{"app": svc.Name}
		svc.Spec.Ports = []corev1.ServicePort{{Name: "https", Port: 443}}
		services = append(services, svc)
	}
	for _, keep := range []bool{false, true} {
		b.Run(fmt.Sprintf("keep numbers %v", keep), func(b *testing.B) {
			for b.Loop() {
				Decide(services, Options{Lang: lang, MuxNamespace: "svc-mux", MuxName: "shared", Range: "20000-29999",
					KeepNumbers: keep})
			}
		})
	}
}
