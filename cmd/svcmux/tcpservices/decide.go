package tcpservices

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/manifest"
	"nowake.ai/svc-lb-mux/validation"
)

// World is what the import knows: the ConfigMaps, the Services that they name, and the mux if it exists.
type World struct {
	Configs  []Config
	Services map[types.NamespacedName]*corev1.Service
	Unread   map[types.NamespacedName]string // Services that can't be read, and why
	Mux      *corev1.Service                 // nil if it doesn't exist, or can't be read
}

// Options are what a user chooses.
type Options struct {
	Lang   validation.Language
	Mux    types.NamespacedName
	Suffix string // of the names of channels
}

// Result is the import.
type Result struct {
	Channels []*corev1.Service
	Rows     []Row
	Notes    []Note // what a user should look at, though the entry is converted
	Left     []Left // entries that aren't converted
}

// Row is an entry that is converted.
type Row struct {
	Slot, Service, Port, Channel, ConfigMap string
}

// Note is a remark about an entry that is converted.
type Note struct{ Slot, Text string }

// Left is an entry that isn't converted.
type Left struct{ Slot, Value, Why string }

// Decide makes channels of entries: one for each Service, with all its numbers.
func Decide(world World, opts Options) Result {
	var result Result
	rules := rulesOf(world, opts)
	byService := map[types.NamespacedName][]entry{}
	for _, config := range world.Configs {
		good, bad := entriesOf(config)
		result.Left = append(result.Left, bad...)
		for _, e := range good {
			if why := rules.refuses(e); why != "" {
				result.Left = append(result.Left, Left{e.slot(), e.value, why})
				continue
			}
			rules.take(e)
			byService[e.service] = append(byService[e.service], e)
		}
	}
	services := slices.SortedFunc(maps.Keys(byService), func(a, b types.NamespacedName) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, key := range services {
		result.add(world.Services[key], byService[key], opts)
	}
	return result
}

// add makes the channel of one Service.
func (r *Result) add(svc *corev1.Service, entries []entry, opts Options) {
	name := manifest.ChannelName(svc.Name, opts.Suffix)
	var ports []manifest.Port
	for _, e := range entries {
		port, _ := e.portOf(svc)
		if port.Name == "" {
			r.Notes = append(r.Notes, Note{e.slot(), fmt.Sprintf("port %d of %s has no name: the channel calls it %s", port.Port,
				cli.Shown(e.service.String()), manifest.PortName(port))})
		}
		if e.decode {
			r.Notes = append(r.Notes, Note{e.slot(),
				"its pods would get the PROXY header that the load balancer sends to ingress-nginx: turn it off on the mux"})
		}
		r.Rows = append(r.Rows, Row{e.slot(), e.service.String(), e.port, name, e.config})
		ports = append(ports, portFor(port, e, ports))
	}
	r.Channels = append(r.Channels, manifest.Channel(opts.Lang, svc, name, opts.Mux, ports))
}

// portFor returns the channel's port for an entry. If the Service's port has several numbers, the channel has a port
// for each, and the number itself tells them apart.
func portFor(port corev1.ServicePort, e entry, others []manifest.Port) manifest.Port {
	target := port.TargetPort
	if target.IntValue() == 0 && target.StrVal == "" {
		target.IntVal = port.Port
	}
	one := manifest.Port{ServicePort: port, Number: e.number}
	one.Protocol, one.TargetPort, one.Name = e.protocol, target, manifest.PortName(port)
	isThere := func(same func(corev1.ServicePort) bool) bool {
		return slices.ContainsFunc(others, func(other manifest.Port) bool { return same(other.ServicePort) })
	}
	if isThere(func(other corev1.ServicePort) bool { return other.Port == one.Port && other.Protocol == one.Protocol }) {
		one.Port = e.number
	}
	if isThere(func(other corev1.ServicePort) bool { return other.Name == one.Name }) {
		one.Name = manifest.NameFor(e.protocol, e.number)
	}
	return one
}
