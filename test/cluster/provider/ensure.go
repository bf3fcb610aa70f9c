package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ensure sets or removes the address of a Service, as the Behaviour for the Service says.
func (p *Provider) ensure(ctx context.Context, key string) error {
	object, exists, err := p.store.GetByKey(key)
	if err != nil {
		return err
	}
	service, ok := object.(*corev1.Service)
	if !exists || !ok || !ours(service) || service.DeletionTimestamp != nil {
		p.forget(key)
		return nil
	}
	p.count(key, service)
	var ingress []corev1.LoadBalancerIngress
	switch p.behaviour(key) {
	case Wait:
		return nil
	case Fail:
		return p.fail(ctx, service, "told to fail")
	case Take:
		p.pool.release(key)
	case Name:
		ingress = []corev1.LoadBalancerIngress{{Hostname: strings.ReplaceAll(key, "/", "-") + ".lb.example.com"}}
	case Give:
		if ingress, err = p.give(key, service); err != nil {
			return errors.Join(err, p.fail(ctx, service, err.Error()))
		}
	}
	if sameIngress(service.Status.LoadBalancer.Ingress, ingress) {
		return nil
	}
	updated := service.DeepCopy()
	updated.Status.LoadBalancer.Ingress = ingress
	_, err = p.client.CoreV1().Services(service.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	return err
}

func (p *Provider) give(key string, service *corev1.Service) ([]corev1.LoadBalancerIngress, error) {
	var ingress []corev1.LoadBalancerIngress
	for _, family := range service.Spec.IPFamilies {
		ip, err := p.pool.get(key, family == corev1.IPv6Protocol)
		if err != nil {
			return nil, fmt.Errorf("load balancer of %s: %w", key, err)
		}
		ingress = append(ingress, corev1.LoadBalancerIngress{IP: ip.String()})
	}
	return ingress, nil
}

func (p *Provider) fail(ctx context.Context, service *corev1.Service, why string) error {
	now := metav1.Now()
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: service.Name + ".", Namespace: service.Namespace},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: service.Namespace,
			Name: service.Name, UID: service.UID},
		Reason: "SyncLoadBalancerFailed", Message: "Error syncing load balancer: " + why,
		Type: corev1.EventTypeWarning, FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: "service-controller"},
	}
	_, err := p.client.CoreV1().Events(service.Namespace).Create(ctx, event, metav1.CreateOptions{})
	return err
}

// count records a change of a Service after which a cloud programs the load balancer.
func (p *Provider) count(key string, service *corev1.Service) {
	seen, err := json.Marshal([]any{service.UID, service.Spec, service.Annotations})
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ensured[key] != string(seen) {
		p.ensured[key] = string(seen)
		p.ensures[key]++
	}
}

func (p *Provider) forget(key string) {
	p.pool.release(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.ensured, key)
}

// sameIngress ignores ipMode, which the API server sets.
func sameIngress(have, want []corev1.LoadBalancerIngress) bool {
	plain := func(list []corev1.LoadBalancerIngress) []string {
		var all []string
		for _, ingress := range list {
			all = append(all, ingress.IP+ingress.Hostname)
		}
		return all
	}
	return equality.Semantic.DeepEqual(plain(have), plain(want))
}
