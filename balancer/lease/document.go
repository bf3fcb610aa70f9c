package lease

import (
	"cmp"
	"net/netip"
	"slices"
)

// factsJSON is the JSON of facts.
type factsJSON struct {
	Node            string   `json:"node,omitempty"`
	Zone            string   `json:"zone,omitempty"`
	Addresses       []string `json:"addresses,omitempty"`
	Capacity        int      `json:"capacity"`
	BackendNetworks []string `json:"backendNetworks,omitempty"`
	Version         string   `json:"version,omitempty"`
}

// reportJSON is the JSON of a report.
type reportJSON struct {
	Claims  versionJSON   `json:"claims"`
	Holds   []int         `json:"holds,omitempty"`
	Muxes   []muxJSON     `json:"muxes,omitempty"`
	Omitted int           `json:"omitted,omitempty"`
	Probes  *probesJSON   `json:"probes,omitempty"`
	Adverts *advertsJSON  `json:"adverts,omitempty"`
	Faults  []refusalJSON `json:"faults,omitempty"`
}

type probesJSON struct {
	Settled bool     `json:"settled"`
	Failing []string `json:"failing,omitempty"`
}

type advertsJSON struct {
	Sends    string `json:"sends"`
	Believes string `json:"believes"`
}

type versionJSON struct {
	UID             string `json:"uid,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

type muxJSON struct {
	UID         string        `json:"uid"`
	Programmed  []string      `json:"programmed,omitempty"`
	Refused     []refusalJSON `json:"refused,omitempty"`
	MoreRefused int           `json:"moreRefused,omitempty"`
}

type refusalJSON struct {
	Port    string `json:"port,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

func (f *Facts) document() *factsJSON {
	doc := &factsJSON{Node: f.Node, Zone: f.Zone, Addresses: texts(sorted(f.Addresses)), Capacity: f.Capacity,
		Version: f.Version}
	networks := slices.Clone(f.BackendNetworks)
	sortNetworks(networks)
	for _, n := range slices.Compact(networks) {
		doc.BackendNetworks = append(doc.BackendNetworks, n.String())
	}
	return doc
}

func (r *Report) document() *reportJSON {
	doc := &reportJSON{
		Claims:  versionJSON{short(string(r.Claims.UID), maxText), short(r.Claims.ResourceVersion, maxText)},
		Omitted: r.Omitted,
	}
	doc.Faults, _ = refusals(r.Faults, maxFaults)
	if r.Probes != nil {
		doc.Probes = &probesJSON{Settled: r.Probes.Settled}
		for _, backend := range r.Probes.Failing[:min(len(r.Probes.Failing), maxFailing)] {
			doc.Probes.Failing = append(doc.Probes.Failing, backend.String())
		}
	}
	if r.Adverts != nil {
		doc.Adverts = &advertsJSON{r.Adverts.Sends.String(), r.Adverts.Believes.String()}
	}
	holds := slices.Clone(r.Holds)
	slices.Sort(holds)
	for _, id := range slices.Compact(holds) {
		if id > 0 {
			doc.Holds = append(doc.Holds, int(id))
		}
	}
	for i := range r.Muxes {
		m := &r.Muxes[i]
		mux := muxJSON{UID: short(string(m.UID), maxText), Programmed: texts(sorted(m.Programmed))}
		mux.Refused, mux.MoreRefused = refusals(m.Refused, maxRefused)
		mux.MoreRefused += m.MoreRefused
		doc.Muxes = append(doc.Muxes, mux)
	}
	slices.SortStableFunc(doc.Muxes, func(a, b muxJSON) int { return cmp.Compare(a.UID, b.UID) })
	doc.Muxes = slices.CompactFunc(doc.Muxes, func(a, b muxJSON) bool { return a.UID == b.UID })
	return doc
}

// refusals returns the first refusals, and how many are left over.
func refusals(list []Refusal, most int) ([]refusalJSON, int) {
	var docs []refusalJSON
	for _, r := range list[:min(len(list), most)] {
		docs = append(docs, refusalJSON{short(r.Port, maxText), short(r.Reason, maxText), short(r.Message, maxMessage)})
	}
	return docs, max(0, len(list)-most)
}

func texts(list []netip.Addr) []string {
	var all []string
	for _, a := range list {
		all = append(all, a.String())
	}
	return all
}
