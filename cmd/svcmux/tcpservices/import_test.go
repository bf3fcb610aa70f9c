package tcpservices

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/cli/clitest"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
	"nowake.ai/svc-lb-mux/cmd/svcmux/validate"
	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/validation"
)

func imported(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, Command, stdin, args...)
}

func TestGoldenReports(t *testing.T) { looktest.Stories(t, Command) }

// input returns the path of a file that stories read.
func input(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(golden.Read(t, "testdata/stories.txtar").Extract(t, name), name)
}

func TestChannelsPassValidate(t *testing.T) {
	for _, world := range []string{"gitlab", "chart", "grown"} {
		t.Run(world, func(t *testing.T) {
			got := imported(t, "", "-f", input(t, world+".yaml"), "--local", "-o", "yaml")
			var out strings.Builder
			code := validate.Run([]string{"--strict", "-f", "-"}, cli.Env{
				In: strings.NewReader(got.Out), Out: &out, Err: &out, Getenv: func(string) string { return "" },
			})
			if code != 0 {
				t.Errorf("svcmux validate refuses the channels:\n%s", out.String())
			}
		})
	}
}

func TestMistakesInTheCommandLine(t *testing.T) {
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 1}]}\n"
	for name, tc := range map[string]struct {
		args, stdin string
		code        int
		says        string
	}{
		"an unknown format":    {"-f - -o pdf", "", 2, "-o pdf: use wide, yaml, json or name"},
		"a mux that can't be":  {"-f - --mux a/B", "", 2, "--mux a/B: write NAMESPACE/NAME"},
		"a mux in three parts": {"-f - --mux a/b/c", "", 2, "--mux a/b/c: write NAMESPACE/NAME"},
		"a bad suffix":         {"-f - --suffix _x", "", 2, "--suffix _x: write a dash"},
		"a bad prefix":         {"-f - --prefix /", "", 2, `prefix "/" is not a DNS name`},
		"local without files":  {"--local", "", 2, "--local asks no cluster: give files with -f"},
		"an empty pipe":        {"-f - --local", "", 2, "<stdin>: is empty: did the command before the pipe fail?"},
		"a file without ConfigMap": {"-f - --local", service, 1,
			"there is no ConfigMap with TCP or UDP services of ingress-nginx in the files"},
		"a broken ConfigMap": {
			"-f - --local", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tcp-services}\ndata: [1]\n", 2,
			"<stdin>:1: ConfigMap default/tcp-services can't be read: ",
		},
		"a ConfigMap without entries": {
			"-f - --local", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tcp-services}\n", 0,
			"The ConfigMaps have no entries.",
		},
		"a named ConfigMap": {
			"-f - --local --tcp-services-configmap x/streams",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: streams, namespace: x}\n", 0, "no entries",
		},
		"a missing kubeconfig": {"--kubeconfig nowhere", "", 1, "the kubeconfig can't be read: "},
	} {
		t.Run(name, func(t *testing.T) {
			got := imported(t, tc.stdin, strings.Fields(tc.args)...)
			if got.Code != tc.code || !strings.Contains(got.Out+got.Err, tc.says) {
				t.Errorf("got %+v, want code %d and %q", got, tc.code, tc.says)
			}
		})
	}
}

func TestSettingsOfTheMuxAreApplied(t *testing.T) {
	const prefix = validation.DefaultPrefix + "/"
	lang := must(validation.New(validation.DefaultPrefix, "svc-mux"))
	target := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "pg"}}
	target.Spec.Selector = map[string]string{"app": "pg"}
	target.Spec.Ports = []corev1.ServicePort{{Name: "pg", Port: 5432},
		{Name: "udp", Port: 5432, Protocol: corev1.ProtocolUDP}}
	class := lang.FormatClass(types.NamespacedName{Namespace: "svc-mux", Name: "mux"})
	channel := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "pg-mux",
		Annotations: map[string]string{prefix + "ports": "pg:5432->5432"}}}
	channel.Spec.LoadBalancerClass, channel.Spec.Type = &class, corev1.ServiceTypeLoadBalancer
	channel.Spec.Ports = target.Spec.Ports[:1]
	for name, tc := range map[string]struct {
		annotations map[string]string
		ports       []corev1.ServicePort
		channel     *corev1.Service
		want        []string
	}{
		"a free mux": {},
		"a number that another channel has": {
			ports: []corev1.ServicePort{{Name: "a1b2c3d", Port: 5432}},
			want:  []string{"the number collides with port a1b2c3d of the mux svc-mux/mux: give one of them another number"},
		},
		"a number that the same channel has": {ports: []corev1.ServicePort{{Name: "a1b2c3d", Port: 5432}}, channel: channel},
		"the same number under another protocol than the same channel's": {
			ports: []corev1.ServicePort{{Name: "a1b2c3d", Port: 5432},
				{Name: "e4f5a6b", Port: 5432, Protocol: corev1.ProtocolUDP}},
			channel: channel,
			want:    []string{"the number collides with port e4f5a6b of the mux svc-mux/mux: give one of them another number"},
		},
		"a namespace that isn't allowed": {
			annotations: map[string]string{prefix + "allowed-namespaces": "shop"},
			want: []string{
				"the mux svc-mux/mux doesn't allow namespace db: its owner can, with allowed-namespaces",
				"the mux svc-mux/mux doesn't allow namespace db: its owner can, with allowed-namespaces",
			},
		},
		"a number outside of the range": {
			annotations: map[string]string{prefix + "explicit-range": "6000-7000"},
			want: []string{
				"the mux svc-mux/mux gives only the numbers 6000-7000 on request: its owner can widen explicit-range",
				"the mux svc-mux/mux gives only the numbers 6000-7000 on request: its owner can widen explicit-range",
			},
		},
		"a protocol that isn't allowed": {
			annotations: map[string]string{prefix + "allowed-protocols": "TCP"},
			want:        []string{"the mux svc-mux/mux carries TCP only: use a mux for UDP"},
		},
		"a provider with one protocol": {
			annotations: map[string]string{prefix + "provider": "gke"},
			want:        []string{"the mux svc-mux/mux carries one protocol, and TCP comes first: use another mux for UDP"},
		},
		"a full mux": {
			annotations: map[string]string{prefix + "max-ports": "1"},
			want:        []string{"the mux svc-mux/mux is full with 1 ports: use another mux with --mux"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			mux := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: "mux",
				Annotations: map[string]string{prefix + "multiplexer": "true"}}}
			mux.Spec.Type, mux.Spec.Ports = corev1.ServiceTypeLoadBalancer, tc.ports
			for key, value := range tc.annotations {
				mux.Annotations[key] = value
			}
			data := map[string]string{"5432": "db/pg:5432"}
			services := map[types.NamespacedName]*corev1.Service{{Namespace: "db", Name: "pg"}: target}
			if tc.channel != nil {
				services[types.NamespacedName{Namespace: "db", Name: "pg-mux"}] = tc.channel
			}
			got := Decide(World{
				Configs: []Config{
					{&corev1.ConfigMap{Data: data}, corev1.ProtocolTCP}, {&corev1.ConfigMap{Data: data}, corev1.ProtocolUDP},
				},
				Services: services, Mux: mux,
			}, Options{Lang: lang, Mux: types.NamespacedName{Namespace: "svc-mux", Name: "mux"}, Suffix: "-mux"})
			var why []string
			for _, left := range got.Left {
				why = append(why, left.Why)
			}
			if diff := cmp.Diff(tc.want, why); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzEntry parses any entry. An accepted one names a number, a Service and a port.
func FuzzEntry(f *testing.F) {
	golden.Seeds(f)
	for key, value := range map[string]string{"9000": "default/example-go:8080", "22": "a/b:c:PROXY:PROXY",
		"0": "a/b:1", "+1": "a/b:", "65535": "/:", "1": "a/b/c:1::x:y"} {
		f.Add(key, value)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		good, bad := entriesOf(Config{&corev1.ConfigMap{Data: map[string]string{key: value}}, corev1.ProtocolTCP})
		if len(good)+len(bad) != 1 {
			t.Fatalf("%d entries, %d mistakes", len(good), len(bad))
		}
		for _, e := range good {
			if e.number < 1 || e.number > 65535 || e.service.Name == "" || e.service.Namespace == "" || e.port == "" {
				t.Errorf("accepted: %+v", e)
			}
		}
	})
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
