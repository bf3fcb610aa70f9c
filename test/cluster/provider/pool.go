package provider

import (
	"fmt"
	"net/netip"
	"sync"
)

// pool gives each owner one address per family: the lowest free one.
type pool struct {
	mu        sync.Mutex
	four, six netip.Prefix
	owners    map[netip.Addr]string
}

func newPool(four, six netip.Prefix) *pool {
	return &pool{four: four, six: six, owners: map[netip.Addr]string{}}
}

func (p *pool) get(owner string, six bool) (netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	prefix := p.four
	if six {
		prefix = p.six
	}
	if !prefix.IsValid() {
		return netip.Addr{}, fmt.Errorf("the provider has no addresses of that family (IPv6: %t)", six)
	}
	for ip, held := range p.owners {
		if held == owner && prefix.Contains(ip) {
			return ip, nil
		}
	}
	for ip := prefix.Masked().Addr().Next(); prefix.Contains(ip); ip = ip.Next() {
		if _, taken := p.owners[ip]; !taken {
			p.owners[ip] = owner
			return ip, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no address is free in %s", prefix)
}

func (p *pool) hold(owner string, ip netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owners[ip] = owner
}

func (p *pool) release(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ip, held := range p.owners {
		if held == owner {
			delete(p.owners, ip)
		}
	}
}
