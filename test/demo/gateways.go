package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/validation"
)

// gatewayNodes are two gateways and a node for everything else.
const gatewayNodes = 3

// makeGateways marks two nodes as gateways. Pods of apps go to the third one, which stays.
func (s *show) makeGateways(ctx context.Context) error {
	s.heading("Two nodes become gateways; apps run on the third one")
	if err := s.typed(ctx, "kubectl label node node-1 node-2 gateway=true"); err != nil {
		return err
	}
	return s.typed(ctx, "cat test/demo/gateways.yaml")
}

// reserveGateways keeps apps off the gateways. Agents run there all the same.
func (s *show) reserveGateways(ctx context.Context) error {
	_, err := s.shell(ctx, "kubectl cordon node-1 node-2")
	return err
}

// carrier returns the node whose gateway answers for the mux.
func (s *show) carrier(ctx context.Context) (string, error) {
	mux, err := s.cluster.Client.CoreV1().Services(namespace).Get(ctx, "mux", metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the mux: %w", err)
	}
	node := mux.Annotations[validation.DefaultPrefix+"/carried-by"]
	if node == "" {
		return "", fmt.Errorf("no gateway carries the mux: %v", mux.Status.Conditions)
	}
	return node, nil
}

// outage cuts the gateway that carries the mux off the network, in the middle of a download.
func (s *show) outage(ctx context.Context) error {
	s.heading("A download goes on although its gateway dies")
	if err := s.typed(ctx, "kubectl get service mux --namespace "+namespace+" --output wide"); err != nil {
		return err
	}
	node, err := s.carrier(ctx)
	if err != nil {
		return err
	}
	rows, err := s.rows(ctx)
	if err != nil {
		return err
	}
	address := net.JoinHostPort(rows[0].address, rows[0].number())
	s.text(fmt.Sprintf("%s carries %s. A client outside downloads from %s, and %s is cut off the network.", node,
		rows[0].address, address, node))
	d, err := s.startDownload(ctx, address)
	if err != nil {
		return err
	}
	defer d.body.Close()
	if err := d.read(2 * time.Second); err != nil {
		return fmt.Errorf("download before the outage: %w", err)
	}
	before := d.bytes
	if _, err := s.cluster.Run(ctx, cluster.Program{
		Args: []string{"/bin/sh", "-c", "ip link set " + node + " down"}}); err != nil {
		return err
	}
	if err := d.read(5 * time.Second); err != nil {
		return fmt.Errorf("download after the outage: %w", err)
	}
	if d.bytes == before {
		return errors.New("the download stood still after the outage")
	}
	s.text(fmt.Sprintf("The same connection brought %d KiB before and %d KiB after; its longest pause was %.1f s.",
		before>>10, (d.bytes-before)>>10,
		d.pause.Seconds()))
	return nil
}

// download is a response that the server sends bit by bit.
type download struct {
	body  io.ReadCloser
	last  time.Time
	bytes int
	pause time.Duration // the longest time between two reads
}

// startDownload connects from outside. The client's kernel asks after a second of silence whether the other side is
// there, as many clients do after a longer time: a gateway that takes over knows a connection once the client has sent
// something.
func (s *show) startDownload(ctx context.Context, address string) (*download, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			connection, err := s.cluster.Outside().Dial(ctx, network, address)
			if tcp, is := connection.(*net.TCPConn); is && err == nil {
				err = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second})
			}
			return connection, err
		}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/download", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(errors.New(strings.TrimSpace(response.Status)), response.Body.Close())
	}
	return &download{body: response.Body, last: time.Now()}, nil
}

// read reads for a while. If nothing comes for patience after that, it closes the body and returns an error.
func (d *download) read(howLong time.Duration) error {
	const patience = 15 * time.Second
	buffer := make([]byte, 64<<10)
	stop := time.AfterFunc(howLong+patience, func() { _ = d.body.Close() })
	defer stop.Stop()
	for end := time.Now().Add(howLong); time.Now().Before(end); {
		n, err := d.body.Read(buffer)
		if err != nil {
			return err
		}
		d.bytes += n
		d.pause = max(d.pause, time.Since(d.last))
		d.last = time.Now()
	}
	return nil
}
