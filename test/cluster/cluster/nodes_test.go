package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodes(t *testing.T) {
	t.Parallel()
	c := Start(t, Nodes(2), WithProvider())
	c.Apply(t, web)
	c.Kubectl(t, "rollout", "status", "deployment/web", "--timeout=60s")
	pods := podsOf(t, c)
	var names, nodes []string
	for _, pod := range pods {
		names = append(names, pod.Name)
		nodes = append(nodes, pod.Spec.NodeName)
	}
	slices.Sort(names)

	t.Run("a Deployment runs on both nodes and answers on every kind of address", func(t *testing.T) {
		slices.Sort(nodes)
		if len(pods) != 3 || len(slices.Compact(nodes)) != 2 {
			t.Fatalf("%d pods on nodes %v", len(pods), nodes)
		}
		for _, pod := range pods {
			for _, ip := range pod.Status.PodIPs {
				url := "http://" + net.JoinHostPort(ip.IP, "8080")
				if name, err := get(t.Context(), c.Inside().HTTP(), url); err != nil || name != pod.Name {
					t.Errorf("%s is pod %s, but %q answers, %v", url, pod.Name, name, err)
				}
			}
		}
		service, err := c.Client.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		everyPodAnswers(t, c.Inside(), "http://"+service.Spec.ClusterIP, names)
		everyPodAnswers(t, c.On(c.Nodes()[0]), "http://"+service.Spec.ClusterIP, names)
		everyPodAnswers(t, c.Outside(), "http://"+address(t, c, "web"), names)
	})
	t.Run("a datagram from outside is answered with the pod's name", func(t *testing.T) { udpAnswers(t, c, names) })
	t.Run("connections that pass kube-proxy's rules untranslated are listed once", func(t *testing.T) {
		passedByCounts(t, c, names)
	})
	t.Run("a pod that fails readiness leaves its EndpointSlice and comes back", func(t *testing.T) {
		readinessFollows(t, c, pods[0], names)
	})
	t.Run("logs, exec and port-forward", func(t *testing.T) { kubectlReaches(t, c, pods[0].Name) })
	t.Run("drain moves pods to the other node", func(t *testing.T) { drainMoves(t, c) })
	t.Run("the cluster leaves no traces on its machine", func(t *testing.T) { nothingShows(t, c) })
}

func podsOf(t *testing.T, c *Cluster) []corev1.Pod {
	t.Helper()
	list, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func passedByCounts(t *testing.T, c *Cluster, names []string) {
	ip := address(t, c, "web")
	passedBy, err := c.CountPassedBy(t.Context(), "80", "81")
	if err != nil {
		t.Fatal(err)
	}
	everyPodAnswers(t, c.Outside(), "http://"+ip, names)
	if passed, err := passedBy.Take(t.Context()); err != nil || len(passed) != 0 {
		t.Errorf("%d answered connections are listed as untranslated, %v", len(passed), err)
	}
	began := time.Now()
	for range 2 { // no Service has that port; the kernel sends the first packet several times
		if conn, err := c.Outside().Dial(t.Context(), "tcp", net.JoinHostPort(ip, "81")); err == nil {
			t.Errorf("a connection to %s was accepted", conn.RemoteAddr())
		} else if !strings.HasSuffix(err.Error(), NoRoute) {
			t.Errorf("the error is %v, want %q", err, NoRoute)
		}
	}
	passed, err := passedBy.Take(t.Context())
	if err != nil || len(passed) != 2 {
		t.Errorf("2 connections passed untranslated, but %d are listed, %v", len(passed), err)
	}
	if !passed.Excuse(began) || passed.Excuse(began.Add(-time.Minute)) || passed.Excuse(time.Now().Add(time.Minute)) {
		t.Errorf("connections from %s on have allowances of %s", began, passed)
	}
	if passed, err := passedBy.Take(t.Context()); err != nil || len(passed) != 0 {
		t.Errorf("%d connections are listed again, %v", len(passed), err)
	}
	c.Apply(
		t, `{apiVersion: v1, kind: Service, metadata: {name: nobody}, spec: {type: LoadBalancer, selector: {app: nobody},
		ports: [{port: 80}]}}`)
	Eventually(t, "a Service without backends refuses", func(ctx context.Context) error {
		_, err := c.Outside().Dial(ctx, "tcp", net.JoinHostPort(address(t, c, "nobody"), "80"))
		if err == nil || !strings.HasSuffix(err.Error(), "connection refused") {
			return fmt.Errorf("the error is %w", err)
		}
		_, err = passedBy.Take(ctx) // drop connections from before kube-proxy knew the Service
		return err
	})
	if conn, err := c.Outside().Dial(t.Context(), "tcp", net.JoinHostPort(address(t, c, "nobody"), "80")); err == nil {
		t.Errorf("a connection to %s was accepted", conn.RemoteAddr())
	}
	if passed, err := passedBy.Take(t.Context()); err != nil || len(passed) != 0 {
		t.Errorf("%d connections that kube-proxy refused are listed as untranslated, %v", len(passed), err)
	}
	if err := passedBy.End(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := passedBy.Take(t.Context()); err == nil {
		t.Error("the list still exists after its end")
	}
}

func udpAnswers(t *testing.T, c *Cluster, names []string) {
	c.Apply(t, `{apiVersion: v1, kind: Service, metadata: {name: web-udp}, spec: {type: LoadBalancer,
		selector: {app: web}, ports: [{name: echo, port: 5000, targetPort: 8080, protocol: UDP}]}}`)
	ip := address(t, c, "web-udp")
	Eventually(t, "a datagram is answered", func(ctx context.Context) error {
		conn, err := c.Outside().Dial(ctx, "udp", net.JoinHostPort(ip, "5000"))
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(200 * time.Millisecond))
		if _, err := fmt.Fprint(conn, "hello"); err != nil {
			return err
		}
		answer := make([]byte, 100)
		n, err := conn.Read(answer)
		if err != nil {
			return err
		}
		name, word, _ := strings.Cut(string(answer[:n]), " ")
		if !slices.Contains(names, name) || word != "hello" {
			t.Fatalf("the answer was %q", answer[:n])
		}
		return nil
	})
}

func readinessFollows(t *testing.T, c *Cluster, pod corev1.Pod, names []string) {
	tell := func(what string) {
		t.Helper()
		url := "http://" + net.JoinHostPort(pod.Status.PodIP, "8080") + what
		response, err := c.Inside().HTTP().Post(url, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	readyAre := func(want []string) {
		t.Helper()
		Eventually(t, fmt.Sprintf("ready are %v", want), func(ctx context.Context) error {
			got, err := ready(ctx, c, "web")
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("ready pods: %v", got)
			}
			return err
		})
	}
	readyAre(names)
	tell("/unready")
	readyAre(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == pod.Name }))
	tell("/ready")
	readyAre(names)
}

func kubectlReaches(t *testing.T, c *Cluster, pod string) {
	if logs := c.Kubectl(t, "logs", pod); !strings.Contains(logs, pod+" serves on port 8080") {
		t.Errorf("logs: %q", logs)
	}
	if said := c.Kubectl(t, "exec", pod, "--", "/pod", "say", "hello"); said != "hello\n" {
		t.Errorf("exec: %q", said)
	}
	c.Forward(t, "pod/"+pod, "18080:8080")
	Eventually(t, "the forwarded port answers", func(ctx context.Context) error {
		name, err := get(ctx, c.Inside().HTTP(), "http://127.0.0.1:18080")
		if err == nil && name != pod {
			t.Fatalf("port-forward: %q answers", name)
		}
		return err
	})
}

func drainMoves(t *testing.T, c *Cluster) {
	c.Kubectl(t, "drain", "node-1", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s")
	Eventually(t, "three pods are ready on node-2", func(ctx context.Context) error {
		got, err := ready(ctx, c, "web")
		if err != nil {
			return err
		}
		if len(got) != 3 {
			return fmt.Errorf("ready pods: %v", got)
		}
		for _, name := range got {
			pod, err := c.Client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if pod.Spec.NodeName != "node-2" {
				return fmt.Errorf("%s is on %s", name, pod.Spec.NodeName)
			}
		}
		return nil
	})
	c.Kubectl(t, "uncordon", "node-1")
}

// nothingShows checks the cluster's machine: its network, and the usual leftovers of containers.
func nothingShows(t *testing.T, c *Cluster) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), "/run/node-1") || strings.Contains(string(mounts), c.Host.Dir) {
		t.Errorf("a mount of the cluster is visible here:\n%s", mounts)
	}
	if _, err := net.InterfaceByName("lan0"); err == nil {
		t.Error("the cluster's bridge is visible here")
	}
	for _, path := range []string{"/run/netns/node-1", "/var/log/containers", "/var/log/pods", "/var/lib/cni/results"} {
		if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 {
			t.Errorf("%s: %v", path, entries)
		}
	}
	routes, err := os.ReadFile("/proc/net/route")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(routes), "lan0") {
		t.Errorf("a route of the cluster is visible here:\n%s", routes)
	}
}
