package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// web is a Deployment of three pods that answer with their names, and a load balancer for them.
const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway,
          labelSelector: {matchLabels: {app: web}}}
      containers:
      - name: web
        image: ` + PodImage + `
        args: [serve]
        readinessProbe: {httpGet: {path: /readyz, port: 8080}, periodSeconds: 1, failureThreshold: 1}
        securityContext: {runAsNonRoot: true, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false,
          capabilities: {drop: [ALL]}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: LoadBalancer
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}]
`

// get fetches a page, and returns an error unless the status is 200.
func get(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, response.Status, body)
	}
	return string(body), err
}

// ready returns the names of a Service's ready pods, sorted, from its EndpointSlices.
func ready(ctx context.Context, c *Cluster, service string) ([]string, error) {
	slicesOf, err := c.Client.DiscoveryV1().EndpointSlices("default").List(ctx,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, slice := range slicesOf.Items {
		for _, endpoint := range slice.Endpoints {
			if *endpoint.Conditions.Ready {
				names = append(names, endpoint.TargetRef.Name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// address waits for a load balancer's address.
func address(t *testing.T, c *Cluster, service string) string {
	t.Helper()
	var ip string
	Eventually(t, "Service "+service+" has an address", func(ctx context.Context) error {
		got, err := c.Client.CoreV1().Services("default").Get(ctx, service, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(got.Status.LoadBalancer.Ingress) == 0 {
			return fmt.Errorf("status: %v", got.Status.LoadBalancer)
		}
		ip = got.Status.LoadBalancer.Ingress[0].IP
		return nil
	})
	return ip
}

// everyPodAnswers sends requests to an address until each pod has answered.
func everyPodAnswers(t *testing.T, from Client, url string, pods []string) {
	t.Helper()
	heard := map[string]bool{}
	Eventually(t, url+" is answered by each of "+strings.Join(pods, ", "), func(ctx context.Context) error {
		name, err := get(ctx, from.HTTP(), url)
		if err != nil {
			return err
		}
		if !slices.Contains(pods, name) {
			t.Fatalf("at %s, %q answers, want one of %v", url, name, pods)
		}
		heard[name] = true
		if len(heard) < len(pods) {
			return fmt.Errorf("only %v answered", heard)
		}
		return nil
	})
}

func createService(t *testing.T, c *Cluster, name string) *corev1.Service {
	t.Helper()
	service, err := c.Client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return service
}
