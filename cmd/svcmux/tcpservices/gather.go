package tcpservices

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
	"nowake.ai/svc-lb-mux/cmd/svcmux/manifest"
	"nowake.ai/svc-lb-mux/cmd/svcmux/validate"
)

// UsualNamespace is where ingress-nginx's own manifests and the examples for its chart install it.
const UsualNamespace = "ingress-nginx"

// gather reads ConfigMaps, then the Services that they name, then the mux.
func (f *flags) gather(ctx context.Context, env cli.Env) (World, error) {
	world := World{Services: map[types.NamespacedName]*corev1.Service{}, Unread: map[types.NamespacedName]string{}}
	var cluster *kube.Cluster
	if !f.local && (len(f.files) == 0 || f.kube.Configured()) {
		var err error
		if cluster, err = f.kube.Cluster(env); err != nil {
			return world, err
		}
		defer env.Progress("reading from " + cluster.Server)()
	}
	configs, err := f.configMaps(ctx, env, cluster, &world)
	if err != nil {
		return world, err
	}
	if world.Configs = f.streams(configs); len(world.Configs) == 0 {
		return world, f.noConfigs()
	}
	if cluster == nil {
		fmt.Fprintln(env.Err, "No cluster is asked: Services are those of the files, and the mux's ports aren't known.")
		return world, nil
	}
	return world, f.ask(ctx, env, cluster, &world)
}

func (f *flags) configMaps(ctx context.Context, env cli.Env, cluster *kube.Cluster, world *World) ([]*corev1.ConfigMap,
	error) {
	if len(f.files) == 0 {
		namespace := cmp.Or(f.kube.NamespaceGiven(), UsualNamespace)
		if f.kube.All() || f.tcp != "" || f.udp != "" {
			namespace = namespaceOf(f.tcp, f.udp)
		}
		return cluster.ConfigMaps(ctx, namespace)
	}
	found := validate.Read(f.files, cmp.Or(f.kube.NamespaceGiven(), metav1.NamespaceDefault), env.In)
	for _, sentence := range found.Unreadable {
		fmt.Fprintln(env.Err, sentence)
	}
	if len(found.Unreadable) > 0 && len(found.ConfigMaps) == 0 {
		return nil, cli.Usagef("no ConfigMap could be read")
	}
	for _, svc := range found.Services {
		world.Services[types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}] = svc
	}
	return found.ConfigMaps, nil
}

// namespaceOf returns the namespace that two names have in common, or "" for all namespaces.
func namespaceOf(tcp, udp string) string {
	first, _, _ := strings.Cut(cmp.Or(tcp, udp), "/")
	second, _, _ := strings.Cut(cmp.Or(udp, tcp), "/")
	if first != second {
		return ""
	}
	return first
}

// streams returns the ConfigMaps of TCP and UDP services, TCP first.
func (f *flags) streams(configs []*corev1.ConfigMap) []Config {
	var all []Config
	for _, config := range configs {
		if protocol := f.protocolOf(config); protocol != "" {
			all = append(all, Config{config, protocol})
		}
	}
	slices.SortFunc(all, func(a, b Config) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// protocolOf returns the protocol of a ConfigMap's entries, or "" for another ConfigMap. If the user names ConfigMaps,
// usual names don't count.
func (f *flags) protocolOf(config *corev1.ConfigMap) corev1.Protocol {
	key := config.Namespace + "/" + config.Name
	switch {
	case key == f.tcp:
		return corev1.ProtocolTCP
	case key == f.udp:
		return corev1.ProtocolUDP
	case f.tcp != "" || f.udp != "":
		return ""
	}
	return ProtocolOf(config)
}

// ProtocolOf returns the protocol of the entries of a ConfigMap with a usual name, or "" for another ConfigMap.
func ProtocolOf(config *corev1.ConfigMap) corev1.Protocol {
	for name, protocol := range map[string]corev1.Protocol{"tcp": corev1.ProtocolTCP, "udp": corev1.ProtocolUDP} {
		if config.Name == name+"-services" || strings.HasSuffix(config.Name, "-"+name+"-services") ||
			strings.HasSuffix(config.Name, "-"+name) && strings.Contains(config.Name, "nginx") {
			return protocol
		}
	}
	return ""
}

func (f *flags) noConfigs() error {
	where := "in the files"
	switch {
	case len(f.files) > 0:
	case f.kube.All():
		where = "in any namespace"
	default:
		where = "in namespace " + cmp.Or(f.kube.NamespaceGiven(), namespaceOf(f.tcp, f.udp), UsualNamespace)
	}
	return fmt.Errorf("there is no ConfigMap with TCP or UDP services of ingress-nginx %s: name its namespace with -n, "+
		"or the ConfigMap with --tcp-services-configmap or --udp-services-configmap", where)
}

// ask reads the Services that entries name, the Services that have the channels' names, and the mux.
func (f *flags) ask(ctx context.Context, env cli.Env, cluster *kube.Cluster, world *World) error {
	var wanted []types.NamespacedName
	for _, config := range world.Configs {
		good, _ := entriesOf(config)
		for _, e := range good {
			channel := types.NamespacedName{Namespace: e.service.Namespace, Name: manifest.ChannelName(e.service.Name, f.Suffix)}
			wanted = append(wanted, e.service, channel)
		}
	}
	asked := map[types.NamespacedName]bool{}
	for _, key := range wanted {
		if asked[key] || world.Services[key] != nil {
			continue
		}
		asked[key] = true
		svc, err := cluster.Service(ctx, key)
		switch {
		case kube.IsForbidden(err):
			world.Unread[key] = err.Error()
		case err != nil:
			return err
		case svc != nil:
			world.Services[key] = svc
		}
	}
	mux, err := cluster.Service(ctx, f.Mux)
	switch {
	case kube.IsForbidden(err):
		fmt.Fprintf(env.Err, "You may not read the mux %s, so numbers that others have on it aren't known.\n", f.Mux)
	case err != nil:
		return err
	case mux == nil || !f.Lang.Classify(mux).Mux():
		fmt.Fprintf(env.Err, "There is no mux %s yet: create it, or choose another one with --mux.\n", f.Mux)
	default:
		world.Mux = mux
	}
	return nil
}
