package main

import (
	"encoding/json"
	"log"
	"net/http"
	"path/filepath"
	"time"
)

// review is the part of an admission review that this webhook reads and writes.
type review struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Request    *request  `json:"request,omitempty"`
	Response   *response `json:"response,omitempty"`
}

type request struct {
	UID    string `json:"uid"`
	Object struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	} `json:"object"`
}

type response struct {
	UID     string  `json:"uid"`
	Allowed bool    `json:"allowed"`
	Status  *status `json:"status,omitempty"`
}

type status struct {
	Message string `json:"message"`
}

func webhook(port, tlsDir string) error {
	server := &http.Server{Addr: ":" + port, Handler: http.HandlerFunc(admit), ReadHeaderTimeout: 10 * time.Second}
	log.Printf("the webhook listens on port %s", port)
	return server.ListenAndServeTLS(filepath.Join(tlsDir, "tls.crt"), filepath.Join(tlsDir, "tls.key"))
}

func admit(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/readyz" {
		return
	}
	var in review
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Request == nil {
		http.Error(w, "not an admission review", http.StatusBadRequest)
		return
	}
	answer := &response{UID: in.Request.UID, Allowed: in.Request.Object.Metadata.Labels["deny"] != "me"}
	if !answer.Allowed {
		answer.Status = &status{Message: "denied, as its label asks"}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review{APIVersion: in.APIVersion, Kind: in.Kind, Response: answer})
}
