package snapshot

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/archive"
)

func (h *hashing) header(header *archive.Header) {
	header.Hashed, header.Namespace = true, h.name(header.Namespace)
	for _, list := range [...][]archive.Request{header.Read, header.Absent} {
		for i := range list {
			h.request(&list[i])
		}
	}
	for i := range header.Refused {
		h.request(&header.Refused[i].Request)
		header.Refused[i].Message = h.text(header.Refused[i].Message)
	}
	for i := range header.Rights {
		header.Rights[i].Namespace = h.name(header.Rights[i].Namespace)
	}
}

func (h *hashing) request(r *archive.Request) {
	ledger, is := h.ledgers[types.NamespacedName{Namespace: r.Namespace, Name: r.Name}]
	r.Namespace = h.name(r.Namespace)
	switch {
	case r.Resource == "configmaps" && is:
		r.Name = ledger
	case slices.Contains([]string{"configmaps", "services", "gatewayclasses", "gateways", "listenersets", "tcproutes",
		"udproutes", "referencegrants"}, r.Resource):
		r.Name = h.name(r.Name)
	}
}
