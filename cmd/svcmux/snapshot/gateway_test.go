package snapshot

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/archive"
	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/explain"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
	"nowake.ai/svc-lb-mux/cmd/svcmux/ports"
	"nowake.ai/svc-lb-mux/cmd/svcmux/status"
	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/validation"
)

func TestListenersAndRoutesAreShownFromSnapshot(t *testing.T) {
	for name, c := range map[string]struct {
		world     string
		forbidden []string
		readers   map[string]func(cli.Env) *cobra.Command
	}{
		"listeners": {"listeners", nil, map[string]func(cli.Env) *cobra.Command{
			"infra/gateway-edge -o wide": ports.Command, "infra/gateway-edge:9092": explain.Command,
			"infra/gateway/edge/taken": explain.Command,
			"tcproute/web -n infra":    explain.Command, "udproute/nothing": explain.Command,
		}},
		"routes": {"routes", nil, map[string]func(cli.Env) *cobra.Command{
			"quay/gateway-harbour -o json": ports.Command, "quay/gateway/harbour/alpha": explain.Command,
			"quay/gateway/harbour/secure":     explain.Command,
			"shop/listenerset/lighthouse/tcp": explain.Command, "tcproute/ferry -n quay": explain.Command,
			"udproute/beacon":  explain.Command,
			"tcproute/nothing": explain.Command,
		}},
		"no CRDs": {"healthy", nil,
			map[string]func(cli.Env) *cobra.Command{"tcproute/nothing": explain.Command, "udproute/nothing": explain.Command}},
		"a tenant": {"routes", tenant(), map[string]func(cli.Env) *cobra.Command{
			"": status.Command, "udproute/beacon": explain.Command, "udproute/nothing": explain.Command,
		}},
		"no right to read ListenerSets": {"routes", []string{"listenersets", "listenersets/shop"},
			map[string]func(cli.Env) *cobra.Command{
				"quay/gateway-harbour": ports.Command, "quay/gateway/harbour/alpha": explain.Command,
				"udproute/beacon": explain.Command,
			}},
		"no right to read a Gateway": {"routes", []string{"gateways", "gateways/shop", "gateways/quay"},
			map[string]func(cli.Env) *cobra.Command{
				"quay/gateway-harbour": ports.Command, "quay/gateway/harbour/alpha": explain.Command,
				"udproute/beacon": explain.Command,
			}},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/"+c.world+".yaml").Serve(t, c.forbidden...)
			path := taken(t, kubeconfig)
			for args, command := range c.readers {
				live := looktest.RunAt(t, command, kubeconfig, "", strings.Fields(args)...)
				again := looktest.RunAt(t, command, kubeconfig, "", append(strings.Fields(args), "--snapshot", path)...)
				if diff := cmp.Diff(live, again); diff != "" {
					t.Errorf("%s (-cluster +snapshot):\n%s", args, diff)
				}
			}
		})
	}
}

// TestSnapshotHasTheGatewayAPIThatMatters counts objects by kind, and reads the remarks about the others.
func TestSnapshotHasTheGatewayAPIThatMatters(t *testing.T) {
	const all = "1 ConfigMap, 2 Gateways, 2 GatewayClasses, 2 ListenerSets, 2 Namespaces, 1 ReferenceGrant, 2 Services, " +
		"1 TCPRoute, 1 UDPRoute"
	for name, c := range map[string]struct {
		world     string
		forbidden []string
		out, err  string
	}{
		"all rights": {"routes", nil, all, ""},
		"no right to read some kinds": {"routes",
			[]string{"gatewayclasses", "udproutes", "udproutes/shop", "referencegrants"},
			"1 ConfigMap, 2 Gateways, 2 ListenerSets, 2 Namespaces, 1 ReferenceGrant, 2 Services, 1 TCPRoute",
			"You may not read the ReferenceGrants of all namespaces: only namespace shop is read.\nYou may not read " +
				"GatewayClasses, UDPRoutes: the snapshot lacks them.\n"},
		"no CRDs":                 {"several", nil, "Service", ""},
		"neither rights nor CRDs": {"several", tenant(), "Service", ""},
		"all rights but one": {"listeners", []string{"gateways"}, "1 TCPRoute",
			"You may not read the Gateways of all namespaces: only namespace shop is read.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/"+c.world+".yaml").Serve(t, c.forbidden...)
			got := looktest.RunAt(t, Command, kubeconfig, "", t.TempDir()+"/snapshot.json.gz")
			remarks := ""
			for line := range strings.Lines(got.Err) {
				if regexp.MustCompile("Gateway|ListenerSet|Route|Grant").MatchString(line) {
					remarks += line
				}
			}
			if got.Code != 0 || !strings.Contains(got.Out, c.out) || remarks != c.err {
				t.Errorf("exit code %d:\n%s%s", got.Code, got.Out, got.Err)
			}
		})
	}
}

// TestHashesHideTheGatewayAPI looks for names in a snapshot of hashes. Commands print the same lines from it.
func TestHashesHideTheGatewayAPI(t *testing.T) {
	secrets := regexp.MustCompile(
		`(?i)ophelia|harbour|quay|crane|maritime|envoyish|unneeded|lighthouse|ferry|beacon|agora|treaty|mirage|blueprint|` +
			`longshoremen|stevedores|lamplighters|sealingwax|wharf|acme\.example|\bshop\b`)
	for user, forbidden := range map[string][]string{"admin": nil, "tenant": tenant(),
		"without Gateways":     {"gateways", "gateways/shop", "gateways/quay"},
		"without ListenerSets": {"listenersets", "listenersets/shop"}} {
		kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/routes.yaml").Serve(t, forbidden...)
		plain, hashed := taken(t, kubeconfig), taken(t, kubeconfig, "--hash-names")
		text := regexp.MustCompile(`\\?"(?:uid|muxUID)\\?":\\?"[^"]*"`).ReplaceAllString(unpacked(t, hashed), "")
		if left := secrets.FindAllString(text, -1); len(left) > 0 {
			t.Errorf("%s: names are left: %q in\n%s", user, left, text)
		}
		for args, command := range map[string]func(cli.Env) *cobra.Command{"": status.Command, "-o wide": ports.Command} {
			a := looktest.RunAt(t, command, kubeconfig, "400", append(strings.Fields(args), "--snapshot", plain)...)
			b := looktest.RunAt(t, command, kubeconfig, "400", append(strings.Fields(args), "--snapshot", hashed)...)
			if diff := cmp.Diff(lines(a.Out), lines(b.Out)); diff != "" || a.Code != b.Code {
				t.Errorf("%s, %s %s (-names +hashes):\n%s", user, a.Err, b.Err, diff)
			}
		}
	}
}

// TestMalformedObjectsDoNoHarm has objects of a future release of the Gateway API.
func TestMalformedObjectsDoNoHarm(t *testing.T) {
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	object := func(kind string, spec any) archive.Object {
		return archive.Object{"kind": kind,
			"metadata": map[string]any{"namespace": "quay", "name": "harbour", "annotations": map[string]any{
				language.Keys().PortRange: "20000-20099", language.Keys().Gateway: "quay/harbour"}}, "spec": spec,
			"status": "ophelia"}
	}
	mux := archive.Object{"kind": "Service", "metadata": map[string]any{"namespace": "quay", "name": "gateway-harbour",
		"labels":          map[string]any{language.Keys().Managed: "true"},
		"ownerReferences": []any{map[string]any{"kind": "Gateway", "name": "harbour", "controller": true}}}}
	for _, spec := range [...]any{nil, "ophelia", []any{"ophelia"},
		map[string]any{"listeners": "ophelia", "parentRefs": "ophelia", "from": "ophelia", "parentRef": "ophelia",
			"controllerName": []any{"ophelia"}}} {
		taken := &archive.Archive{Objects: []archive.Object{mux}}
		for _, kind := range [...]string{gatewayClass, gatewayKind, listenerSet, read.TCPRoute, read.UDPRoute,
			referenceGrant} {
			taken.Objects = append(taken.Objects, object(kind, spec))
		}
		trim(taken, look.NewWorld(language, func(types.NamespacedName) bool { return true }))
		hashNames(taken, language, []byte("salt"))
		if text := fmt.Sprint(taken.Objects); regexp.MustCompile("ophelia|harbour|quay").MatchString(text) {
			t.Errorf("%v: names are left in %s", spec, text)
		}
	}
}

func TestHashedSliceOfListenerHasItsOwnName(t *testing.T) {
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	keys := language.Keys()
	mux, listener := types.NamespacedName{Namespace: "quay", Name: "gateway-harbour"},
		types.NamespacedName{Namespace: "shop", Name: "listenerset/lighthouse/tcp"}
	slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
		ObjectMeta: metav1.ObjectMeta{Namespace: mux.Namespace,
			Name: project.SliceName(mux, listener, "crane-x1", discoveryv1.AddressTypeIPv4), Labels: map[string]string{
				discoveryv1.LabelServiceName: mux.Name, discoveryv1.LabelManagedBy: project.ManagedBy(keys), keys.Managed: "true",
				keys.Source:           "crane-x1",
				keys.ChannelNamespace: listener.Namespace, keys.ChannelName: project.LabelOf(listener.Name)}}}
	if !project.HasOwnName(keys, slice) {
		t.Fatal("the test's slice isn't ours")
	}
	taken := &archive.Archive{Objects: []archive.Object{fieldsOf(slice, archive.Object{"kind": "EndpointSlice"})}}
	hashNames(taken, language, []byte("salt"))
	hashed := as[discoveryv1.EndpointSlice](taken.Objects[0])
	if name := hashed.Labels[keys.ChannelName]; !regexp.MustCompile("^listenerset_x[0-9a-f]+_tcp$").MatchString(name) ||
		!project.HasOwnName(keys, hashed) {
		t.Errorf("the slice %s has the label %s", hashed.Name, name)
	}
}

// lines returns the lines of an output without names, sorted.
func lines(text string) []string {
	name := regexp.MustCompile(
		`gateway-harbour|harbour|quay|lighthouse|ferry|shop|x[0-9a-f]{4}-[0-9a-f]{8}|x[0-9a-f]{8}|-[0-9a-f]{10}\b`)
	var all []string
	text = name.ReplaceAllString(strings.ReplaceAll(text, "jane", "hidden"), "N")
	// a long name of a listener has two parts, or one if its ListenerSet is unknown
	for line := range strings.Lines(strings.ReplaceAll(text, "NN", "N")) {
		all = append(all, strings.Join(strings.Fields(line), " "))
	}
	slices.Sort(all)
	return all
}
