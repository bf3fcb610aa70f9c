package explain

import (
	"context"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
)

// chainOf returns a chain of a channel that shows this machine's address and has one port.
func chainOf(number int32, protocol string) *view.Chain {
	return &view.Chain{Whole: true, Shows: []string{"127.0.0.1"}, Channel: &view.Channel{Ports: []view.Port{
		{Name: "a", Protocol: protocol, Public: number}, {Name: "b", Protocol: protocol},
	}}}
}

func TestProbeTriesEachNumber(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	number := int32(listener.Addr().(*net.TCPAddr).Port)
	o := options{dial: (&net.Dialer{}).DialContext}
	open := chainOf(number, "TCP")
	if o.try(t.Context(), open); len(open.Links) != 1 || open.Links[0].State != "ok" || !open.Whole {
		t.Errorf("a port that accepts: %+v", open.Links)
	}
	listener.Close()
	refused := chainOf(number, "TCP")
	if o.try(t.Context(), refused); len(refused.Links) != 1 || refused.Links[0].State != "bad" || refused.Whole ||
		refused.Links[0].Mend == "" {
		t.Errorf("a port that refuses: %+v", refused.Links)
	}
	silent := chainOf(number, "TCP")
	o.dial = func(context.Context, string, string) (net.Conn, error) { return nil, os.ErrDeadlineExceeded }
	if o.try(t.Context(), silent); !strings.Contains(silent.Links[0].Text, "no answer within 3s") {
		t.Errorf("a port that doesn't answer: %+v", silent.Links)
	}
	udp := chainOf(number, "UDP")
	o.dial = func(context.Context, string, string) (net.Conn, error) { panic("UDP is tried") }
	if o.try(t.Context(), udp); udp.Links[0].State != "unread" || !udp.Whole {
		t.Errorf("UDP: %+v", udp.Links)
	}
	nowhere := &view.Chain{}
	if o.try(t.Context(), nowhere); len(nowhere.Links) != 1 || nowhere.Links[0].State != "open" {
		t.Errorf("without an address: %+v", nowhere.Links)
	}
}

// TestProbeIsPrinted tries the address that the world's mux has, which is this machine.
func TestProbeIsPrinted(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	number := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	text, err := os.ReadFile(looktest.Worlds + "/healthy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	world := strings.NewReplacer("203.0.113.7", "127.0.0.1", "port: 443,", "port: "+number+",").Replace(string(text))
	path := t.TempDir() + "/world.yaml"
	if err := os.WriteFile(path, []byte(world), 0o644); err != nil {
		t.Fatal(err)
	}
	kubeconfig, _ := looktest.Load(t, path).Serve(t)
	got := looktest.RunAt(t, Command, kubeconfig, "", "--probe", "mux:"+number)
	if got.Code != 0 || !strings.Contains(got.Out, "ok probe      127.0.0.1:"+number+" accepts connections from here\n") {
		t.Errorf("%+v", got)
	}
}
