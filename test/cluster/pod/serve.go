package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// serve answers with the pod's name until it is told to end, and then completes open requests. It answers datagrams
// after a pause, if one is given.
func serve(port string, args []string) error {
	name, pause := envOr("POD_NAME", hostname()), time.Duration(0)
	if len(args) > 0 {
		var err error
		if pause, err = time.ParseDuration(args[0]); err != nil {
			return fmt.Errorf("serve: %w", err)
		}
	}
	packets, err := net.ListenPacket("udp", ":"+port)
	if err != nil {
		return err
	}
	var sent atomic.Int64
	go echo(packets, name, pause, &sent)
	server := &http.Server{Addr: ":" + port, Handler: handler(name, &sent), ReadHeaderTimeout: 10 * time.Second,
		ConnContext: unasked}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	drained := make(chan error, 1)
	go func() {
		<-ctx.Done()
		log.Print("told to end")
		drained <- server.Shutdown(context.Background())
	}()
	log.Printf("%s serves on port %s", name, port)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-drained
}

// handler answers with the pod's name (/), the client's address (/from), and the pod's readiness (/readyz), which a
// test can change: POST /unready, POST /ready. /download never ends. /sent is the number of datagrams plus the number
// of connections that asked for the name. Further requests on a kept connection don't count, because no proxy decided
// about them.
func handler(name string, sent *atomic.Int64) http.Handler {
	var unready atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		if asked, ok := r.Context().Value(askedKey{}).(*atomic.Bool); ok && !asked.Swap(true) {
			sent.Add(1)
		}
		fmt.Fprint(w, name)
	})
	mux.HandleFunc("GET /sent", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, sent.Load()) })
	mux.HandleFunc("GET /from", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RemoteAddr) })
	mux.HandleFunc("GET /download", download)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if unready.Load() {
			http.Error(w, "told to be unready", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "ok")
	})
	mux.HandleFunc("POST /unready", func(http.ResponseWriter, *http.Request) { unready.Store(true) })
	mux.HandleFunc("POST /ready", func(http.ResponseWriter, *http.Request) { unready.Store(false) })
	return mux
}

// download sends until the client goes: a little at a time, and nothing that the client must answer.
func download(w http.ResponseWriter, r *http.Request) {
	chunk := bytes.Repeat([]byte("download "), 1<<10)
	for r.Context().Err() == nil {
		if _, err := w.Write(chunk); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		time.Sleep(10 * time.Millisecond)
	}
}

// askedKey is the context key for whether a connection has asked for the name.
type askedKey struct{}

func unasked(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, askedKey{}, new(atomic.Bool))
}

// echo answers each datagram with the pod's name and the datagram's text.
func echo(conn net.PacketConn, name string, pause time.Duration, sent *atomic.Int64) {
	buffer := make([]byte, 2048)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		sent.Add(1)
		answer := append([]byte(name+" "), buffer[:n]...)
		time.AfterFunc(pause, func() { _, _ = conn.WriteTo(answer, from) })
	}
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "nameless"
	}
	return name
}
