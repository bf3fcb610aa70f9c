package console

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"nowake.ai/svc-lb-mux/reconciler/console/view"
)

const (
	// tryPatience bounds one try, and triesAtOnce how many there are side by side.
	tryPatience = 3 * time.Second
	triesAtOnce = 4
)

// outcome is what became of a try.
type outcome struct {
	Schema    string `json:"schema"`
	Address   string `json:"address"`
	Port      int32  `json:"port"`
	Connected bool   `json:"connected"`
	Took      string `json:"took"`
	Error     string `json:"error,omitempty"`
}

// testTCP opens a connection to where traffic goes anyway, and closes it: to a mux's address and one of its ports, or to a
// backend behind one. Nothing else can be tried, so that nobody scans a network from here.
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
	if !s.fresh(w, r) {
		return
	}
	junctions, err := s.junctions(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	if !isDestination(junctions, ask.Address, ask.Port) {
		s.metrics.refused.WithLabelValues("destination").Inc()
		http.Error(w, fmt.Sprintf("%s is neither a TCP port of a mux at its address nor a backend of one: take one of those that "+
			"/api/topology has", net.JoinHostPort(ask.Address, strconv.Itoa(int(ask.Port)))), http.StatusForbidden)
		return
	}
	select {
	case s.tries <- struct{}{}:
		defer func() { <-s.tries }()
	default:
		w.Header().Set("Retry-After", "3")
		http.Error(w, "several connections are being tried already: wait a few seconds", http.StatusTooManyRequests)
		return
	}
	reply(w, s.try(r.Context(), ask.Address, ask.Port))
}

func (s *server) try(ctx context.Context, address string, port int32) outcome {
	ctx, cancel := context.WithTimeout(ctx, tryPatience)
	defer cancel()
	result, begun := outcome{Schema: view.Schema, Address: address, Port: port}, s.Now()
	conn, err := s.Dial(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(int(port))))
	result.Took = s.Now().Sub(begun).Round(time.Microsecond).String()
	if err != nil {
		result.Error = err.Error()
		return result
	}
	_ = conn.Close()
	result.Connected = true
	return result
}

// sameOrigin refuses what a page elsewhere could have had a browser send.
func (s *server) sameOrigin(w http.ResponseWriter, r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		http.Error(w, "the body must be application/json", http.StatusUnsupportedMediaType)
		return false
	}
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	from, err := url.Parse(origin)
	if site != "" && site != "same-origin" || origin != "" && (err != nil || from.Host != r.Host) {
		s.metrics.refused.WithLabelValues("origin").Inc()
		http.Error(w, "actions can be asked for by this console's own page alone", http.StatusForbidden)
		return false
	}
	return true
}

// isDestination is true for where traffic goes.
func isDestination(junctions []view.Junction, address string, port int32) bool {
	return slices.ContainsFunc(junctions, func(j view.Junction) bool {
		return slices.ContainsFunc(j.Tracks, func(t view.Track) bool {
			if t.Protocol != "TCP" {
				return false
			}
			return t.Number == port && slices.Contains(j.Addresses, address) ||
				slices.ContainsFunc(t.Backends, func(b view.Backend) bool { return b.Address == address && b.Port == port })
		})
	})
}
