package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// row is a port of the mux.
type row struct {
	address  string
	port     int32
	protocol corev1.Protocol
	channel  string // "namespace/name"; empty if the port belongs to no channel
	ready    int    // number of ready backends
}

func (r row) number() string { return strconv.Itoa(int(r.port)) }

// topology prints which channel is behind which port of the load balancer.
func (s *show) topology(ctx context.Context) error {
	s.heading("What is on the load balancer")
	var rows []row
	err := patiently(ctx, func() (err error) { rows, err = s.settled(ctx); return err })
	if err != nil {
		return err
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "ADDRESS\tPORT\tCHANNEL\tREADY BACKENDS")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d/%s\t%s\t%d\n", r.address, r.port, r.protocol, r.channel, r.ready)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	s.text(table.String())
	return nil
}

// settled returns the rows once every pod is a backend.
func (s *show) settled(ctx context.Context) ([]row, error) {
	rows, err := s.rows(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		of, _, _ := strings.Cut(r.channel, "/")
		pods, err := s.cluster.Client.CoreV1().Pods(of).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("read the pods of %s: %w", r.channel, err)
		}
		if r.ready != len(pods.Items) {
			return nil, fmt.Errorf("%d of the %d pods of %s are backends of the mux", r.ready, len(pods.Items), r.channel)
		}
	}
	return rows, nil
}

// rows reads the mux and its EndpointSlices. The backends of a port are in the slices that have a port of its name, and
// each slice names its channel.
func (s *show) rows(ctx context.Context) ([]row, error) {
	mux, err := s.cluster.Client.CoreV1().Services(namespace).Get(ctx, "mux", metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the mux: %w", err)
	}
	list, err := s.cluster.Client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + mux.Name})
	if err != nil {
		return nil, fmt.Errorf("read the mux's EndpointSlices: %w", err)
	}
	rows, err := rowsOf(mux, list.Items)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("no channel has a port on the mux: it has %v", mux.Spec.Ports)
	}
	return rows, err
}

func rowsOf(mux *corev1.Service, carried []discoveryv1.EndpointSlice) ([]row, error) {
	language, err := validation.New(validation.DefaultPrefix, namespace)
	if err != nil {
		return nil, err
	}
	keys := language.Keys()
	var address string
	for _, ingress := range mux.Status.LoadBalancer.Ingress {
		address = cmp.Or(address, ingress.IP, ingress.Hostname)
	}
	var rows []row
	for _, port := range mux.Spec.Ports {
		r := row{address: address, port: port.Port, protocol: port.Protocol}
		for _, slice := range carried {
			if hasPort(slice, port.Name) {
				r.channel = slice.Labels[keys.ChannelNamespace] + "/" + slice.Labels[keys.ChannelName]
				r.ready += ready(slice)
			}
		}
		if r.channel != "" {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.port, b.port) })
	return rows, nil
}

func hasPort(slice discoveryv1.EndpointSlice, name string) bool {
	return slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool {
		return p.Name != nil && *p.Name == name
	})
}

func ready(slice discoveryv1.EndpointSlice) int {
	count := 0
	for _, endpoint := range slice.Endpoints {
		if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready {
			count++
		}
	}
	return count
}
