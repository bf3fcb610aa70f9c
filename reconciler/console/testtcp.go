package console

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"nowake.ai/svc-lb-mux/reconciler/console/view"
)

const (
	// dialTimeout limits one connection attempt, and maxConcurrentTries the number of concurrent ones.
	dialTimeout        = 3 * time.Second
	maxConcurrentTries = 4
	// triesInARow connections can be tried at once, then one in tryPause, by all readers together: tenants choose the
	// backends, so faster tries would let a reader scan the cluster's network with the reconciler's rights.
	triesInARow = 10
	tryPause    = 2 * time.Second
)

// outcome is the result of a connection attempt.
type outcome struct {
	Schema    string `json:"schema"`
	Address   string `json:"address"`
	Port      int32  `json:"port"`
	Connected bool   `json:"connected"`
	Took      string `json:"took"`
	Error     string `json:"error,omitempty"`
}

// testTCP opens a connection to a known destination, and closes it. Known are a port of a mux at the mux's address, and
// a backend of such a port. testTCP refuses other destinations, so that the console can't be used to scan a network.
func (s *server) testTCP(w http.ResponseWriter, r *http.Request) {
	if !s.sameOrigin(w, r) {
		return
	}
	var ask struct {
		Address string `json:"address"`
		Port    int32  `json:"port"`
	}
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10))
	body.DisallowUnknownFields()
	if err := body.Decode(&ask); err != nil {
		http.Error(w, `write {"address": "…", "port": …}`, http.StatusBadRequest)
		return
	}
	if !s.ensureFresh(w, r) {
		return
	}
	muxes, err := s.topologies(r)
	if err != nil {
		s.internalError(w, err)
		return
	}
	if !isDestination(muxes, ask.Address, ask.Port) {
		s.metrics.refused.WithLabelValues("destination").Inc()
		http.Error(w, fmt.Sprintf("%s is neither a TCP port of a mux at its address nor a backend of one: choose one from "+
			"/api/topology", net.JoinHostPort(ask.Address, strconv.Itoa(int(ask.Port)))), http.StatusForbidden)
		return
	}
	select {
	case s.tries <- struct{}{}:
		defer func() { <-s.tries }()
	default:
		s.refuseTry(w, "several connections are being tried already")
		return
	}
	if !s.tryRate.AllowN(s.Now(), 1) {
		s.refuseTry(w, fmt.Sprintf("%d connections were tried in a row, and then one every %v", triesInARow, tryPause))
		return
	}
	reply(w, s.try(r.Context(), ask.Address, ask.Port))
}

// refuseTry refuses a connection attempt because of a limit.
func (s *server) refuseTry(w http.ResponseWriter, why string) {
	s.metrics.refused.WithLabelValues("tries").Inc()
	w.Header().Set("Retry-After", "3")
	http.Error(w, why+": wait a few seconds", http.StatusTooManyRequests)
}

func (s *server) try(ctx context.Context, address string, port int32) outcome {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	result, start := outcome{Schema: view.Schema, Address: address, Port: port}, s.Now()
	conn, err := s.Dial(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(int(port))))
	result.Took = s.Now().Sub(start).Round(time.Microsecond).String()
	if err != nil {
		result.Error = err.Error()
		return result
	}
	_ = conn.Close()
	result.Connected = true
	return result
}

// sameOrigin refuses requests that a page of another origin could have made a browser send.
func (s *server) sameOrigin(w http.ResponseWriter, r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		http.Error(w, "the body must be application/json", http.StatusUnsupportedMediaType)
		return false
	}
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	// Behind a proxy that does TLS, the console doesn't see which of both schemes the browser uses.
	isOwn := origin == "" || origin == "http://"+r.Host || origin == "https://"+r.Host
	if site != "" && site != "same-origin" || !isOwn {
		s.metrics.refused.WithLabelValues("origin").Inc()
		http.Error(w, "only this console's own page can request actions", http.StatusForbidden)
		return false
	}
	return true
}

// isDestination says that the address and port are known destinations.
func isDestination(muxes []view.MuxTopology, address string, port int32) bool {
	return slices.ContainsFunc(muxes, func(m view.MuxTopology) bool {
		return slices.ContainsFunc(m.Ports, func(p view.PublicPort) bool {
			if p.Protocol != "TCP" {
				return false
			}
			return p.Number == port && slices.Contains(m.Addresses, address) ||
				slices.ContainsFunc(p.Backends, func(b view.Backend) bool { return b.Address == address && b.Port == port })
		})
	})
}
