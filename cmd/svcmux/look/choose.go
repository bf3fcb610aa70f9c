package look

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/validation"
)

// Choose returns the muxes that a user asks for: the one of the argument, or those of -n and -l.
func (x *Index) Choose(f *Flags, ask Ask, argument string) ([]types.NamespacedName, error) {
	if argument != "" {
		name, err := Name(argument)
		if err != nil {
			return nil, err
		}
		mux, err := x.One(name, f.Kube.NamespaceGiven(), ask.Namespace)
		return []types.NamespacedName{mux}, err
	}
	selector, err := labels.Parse(f.Selector)
	if err != nil {
		return nil, cli.Usagef("-l %s: %w", cli.Shown(f.Selector), err)
	}
	muxes := slices.DeleteFunc(x.Muxes(), func(mux types.NamespacedName) bool {
		svc := x.Services[mux]
		if svc == nil {
			return f.Selector != "" || !x.isOf(mux, f)
		}
		return !x.isOf(mux, f) || !selector.Matches(labels.Set(svc.Labels))
	})
	if len(muxes) == 0 {
		return nil, x.noMuxes(f)
	}
	return muxes, nil
}

// isOf is true if a mux, or one of its channels, is in the namespace of -n.
func (x *Index) isOf(mux types.NamespacedName, f *Flags) bool {
	namespace := f.Kube.NamespaceGiven()
	if namespace == "" || f.Kube.All() || mux.Namespace == namespace {
		return true
	}
	for _, channel := range x.channels[mux] {
		if channel.Namespace == namespace {
			return true
		}
	}
	return false
}

// One returns the mux of a name. If the name has no namespace, One looks in the namespace of -n, without -n in the
// context's, and then for the only mux of this name.
func (x *Index) One(name types.NamespacedName, given, usual string) (types.NamespacedName, error) {
	var alike []types.NamespacedName
	for _, mux := range x.Muxes() {
		switch {
		case mux.Name != name.Name || name.Namespace != "" && mux.Namespace != name.Namespace || given != "" &&
			name.Namespace == "" && mux.Namespace != given:
		case name.Namespace == "" && mux.Namespace == usual:
			return mux, nil
		default:
			alike = append(alike, mux)
		}
	}
	switch {
	case len(alike) == 1:
		return alike[0], nil
	case len(alike) > 1:
		return types.NamespacedName{}, cli.Usagef("%s: there are several muxes of this name: write %s or %s", name.Name,
			alike[0], alike[1])
	}
	return types.NamespacedName{}, x.notMux(name)
}

// notMux is the error about a name that no mux has.
func (x *Index) notMux(name types.NamespacedName) error {
	shown := cli.Shown(name.Name)
	if name.Namespace != "" {
		shown = cli.Shown(name.String())
	}
	if svc := x.Services[name]; svc != nil {
		if x.Language.Classify(svc).Channel() {
			return fmt.Errorf("%s is a channel and not a mux: explain %s tells about it", shown, shown)
		}
		return fmt.Errorf("%s is a plain Service and not a mux: annotation %s: \"true\" makes a mux of a Service of type "+
			"LoadBalancer", shown, x.Language.Keys().Multiplexer)
	}
	if why := x.World.Unread.Muxes[name]; why != "" {
		return fmt.Errorf("you may not read %s: ask for this right", why)
	}
	var names []string
	for _, mux := range x.Muxes() {
		names = append(names, mux.String(), mux.Name)
	}
	for _, text := range [...]string{name.String(), name.Name} {
		if near := validation.Nearest(text, names); near != "" {
			return fmt.Errorf("there is no mux %s: did you mean %s?", shown, cli.Shown(near))
		}
	}
	if len(names) == 0 {
		return x.noMuxes(nil)
	}
	return fmt.Errorf("there is no mux %s: status lists the muxes", shown)
}

// noMuxes is the error about a cluster, a namespace or a selector without a mux.
func (x *Index) noMuxes(f *Flags) error {
	switch {
	case len(x.muxes) > 0 && f != nil && f.Selector != "":
		return fmt.Errorf("no mux has labels %s: leave out -l to see all", cli.Shown(f.Selector))
	case len(x.muxes) > 0 && f != nil:
		return fmt.Errorf("no mux is in namespace %s, nor has it a channel there: leave out -n to see all",
			cli.Shown(f.Kube.NamespaceGiven()))
	case x.World.Unread.Services != "":
		return fmt.Errorf("namespace %s has neither a mux nor a channel, and others can't be read: "+
			"choose another one with -n", cli.Shown(x.World.Unread.ServicesIn))
	}
	return fmt.Errorf("there is neither a mux nor a channel with prefix %s in the cluster: install svc-lb-mux, or "+
		"choose its prefix with --prefix", cli.Shown(x.Language.Prefix()))
}
