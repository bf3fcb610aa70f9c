package dataplane

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/dataplane/packets"
	"nowake.ai/svc-lb-mux/test/product"
)

const (
	prefix = "svc-mux.nowake.ai"
	space  = "svc-mux"
	// podPort is a port that no process beside the control plane uses.
	podPort = 9000
	apps    = "app"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// world is a cluster whose pods aren't run by a kubelet, but whose packets are real.
type world struct {
	*cluster.Cluster
	client  kubernetes.Interface
	created atomic.Int64
}

func start(b *testing.B) *world {
	b.Helper()
	w := &world{Cluster: cluster.Start(b, cluster.Kwok(), cluster.WithProvider())}
	config := rest.CopyConfig(w.Config)
	config.QPS, config.Burst, config.UserAgent = -1, -1, "bench"
	client, err := kubernetes.NewForConfig(config)
	must(b, err)
	w.client = client
	for _, name := range []string{space, apps} {
		_, err := client.CoreV1().Namespaces().Create(b.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		must(b, err)
	}
	_, err = w.Add("reconciler", product.BuildForTest(b, "reconciler"), "--namespace="+space,
		"--probe-address=127.0.0.1:8081")
	must(b, err)
	return w
}

func must(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// crowd creates the pods. Each answers with its own name.
func (w *world) crowd(b *testing.B) {
	b.Helper()
	must(b, w.AddFakeNodes(b.Context(), 1))
	must(b, w.AnswerForFakePods(b.Context()))
	var manifests strings.Builder
	for i := range pods {
		fmt.Fprintf(&manifests, `
---
{apiVersion: v1, kind: Pod, metadata: {name: %[1]s, namespace: %[2]s, labels: {app: %[1]s}},
 spec: {nodeSelector: {%[3]s: "true"}, tolerations: [{key: %[3]s, operator: Exists}],
   containers: [{name: fake, image: fake}]}}`,
			podOf(i), apps, cluster.FakeNode)
	}
	w.Apply(b, manifests.String())
	cluster.Eventually(b, "the crowd is ready", func(ctx context.Context) error {
		list, err := w.client.CoreV1().Pods(apps).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
		if err == nil && len(list.Items) != pods {
			err = fmt.Errorf("%d are", len(list.Items))
		}
		return err
	})
	must(b, packets.StandIn(b.Context(), w.Cluster, podPort))
}

// podOf returns the pod behind channel number i.
func podOf(i int) string { return fmt.Sprintf("pod-%d", i%pods) }

func (w *world) mux(b *testing.B) {
	b.Helper()
	_, err := w.client.CoreV1().Services(space).Create(b.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "mux", Annotations: map[string]string{
			prefix + "/multiplexer": "true", prefix + "/port-range": "20000-29999",
		}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, AllocateLoadBalancerNodePorts: ptr.To(false),
			Ports: []corev1.ServicePort{{Name: "placeholder", Port: 101}},
		},
	}, metav1.CreateOptions{})
	must(b, err)
}

// atOnce is the number of concurrent requests that create channels.
const atOnce = 16

// create creates all channels concurrently.
func (w *world) create(b *testing.B) {
	b.Helper()
	var all sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i := range channels {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if _, err := w.client.CoreV1().Services(apps).Create(b.Context(), channel(i), metav1.CreateOptions{}); err != nil {
				b.Error(err)
			}
			w.created.Add(1)
		})
	}
	all.Wait()
}

func channel(i int) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("channel-%d", i), Annotations: map[string]string{
			prefix + "/external-ports": "http:auto", "pod": podOf(i),
		}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To(prefix + "/mux." + space),
			AllocateLoadBalancerNodePorts: ptr.To(false), Selector: map[string]string{"app": podOf(i)},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(podPort)}},
		},
	}
}
