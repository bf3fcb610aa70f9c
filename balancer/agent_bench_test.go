package balancer_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/balancer"
	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/keep"
	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/test/nettest"
	"nowake.ai/svc-lb-mux/validation"
)

// noting tells of each transaction in which the kernel took new elements.
type noting struct {
	*table.Kernel
	applied chan table.Applied
}

func (n *noting) Apply(t *want.Tables) (table.Applied, error) {
	done, err := n.Kernel.Apply(t)
	if done.Added > 0 {
		n.applied <- done
	}
	return done, err
}

// manyPorts is a mux with ports that each have a slice with three backends.
func manyPorts(b *testing.B, ports int) balancer.News {
	b.Helper()
	n := world(b, map[string][]uint16{"m": nil})
	svc := n.Muxes.Items[0]
	for i := range ports {
		name, number, protocol := fmt.Sprint("p", i), int32(8080), corev1.ProtocolTCP
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: name, Port: int32(i + 1), Protocol: protocol})
		n.Slices.Items = append(n.Slices.Items,
			want.ReadSlice(&discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
				ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: "s" + name,
					Labels: map[string]string{discoveryv1.LabelServiceName: "m"},
					Annotations: map[string]string{validation.DefaultPrefix + "/managed": "true",
						validation.DefaultPrefix + "/source-ranges": ""},
					OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "m", UID: "m"}}},
				Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &number, Protocol: &protocol}},
				Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}}, {Addresses: []string{"10.1.0.2"}},
					{Addresses: []string{"10.1.0.3"}}}}))
	}
	return n
}

// BenchmarkOneSliceChanges measures the time from the news of a changed slice to the kernel, on a mux with so many
// ports.
func BenchmarkOneSliceChanges(b *testing.B) {
	for _, ports := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprint(ports, " ports"), func(b *testing.B) {
			language, err := validation.New(validation.DefaultPrefix, "edge")
			if err != nil {
				b.Fatal(err)
			}
			news, board := manyPorts(b, ports), balancer.NewBoard()
			kernel := &noting{table.Open(nettest.New(b).FD), make(chan table.Applied, 16)}
			a := balancer.New(balancer.Config{Name: "a", Pool: "p", Keys: language.Keys(), ReturnPath: want.ViaRouted,
				News:   board,
				Tables: kernel,
				Seats:  newFakeKernel(), State: keep.Directory(b.TempDir()), Addresses: func() ([]announce.Assigned, error) {
					return nil, nil
				}})
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan struct{})
			go func() { defer close(done); _ = a.Run(ctx) }()
			board.Post(news)
			<-kernel.applied
			time.Sleep(time.Second)
			b.ResetTimer()
			for i := range b.N {
				next := news
				next.Slices.Items = slices.Clone(news.Slices.Items)
				changed := *next.Slices.Items[0]
				changed.Endpoints = slices.Clone(changed.Endpoints)
				changed.Endpoints[0].Address = netip.AddrFrom4([4]byte{10, 2, byte(i / 250 % 250), byte(1 + i%250)})
				next.Slices.Items[0] = &changed
				board.Post(next)
				<-kernel.applied
			}
			b.StopTimer()
			cancel()
			<-done
		})
	}
}
