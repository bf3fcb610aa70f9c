package packets

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Dialer opens connections from some place in a network. A cluster.Client is one.
type Dialer interface {
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// Patience is the timeout of an answer. It is long, so that an answer that a busy machine delays doesn't count as lost.
const Patience = 15 * time.Second

// HTTP sends a request to an address ("203.0.113.1:80") over a new connection, and returns the name of the pod that
// answered.
func HTTP(ctx context.Context, from Dialer, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DialContext: from.Dial, DisableKeepAlives: true}}
	return get(ctx, client, address)
}

func get(ctx context.Context, client *http.Client, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return string(body), err
}

// UDP sends a datagram from a new port, and returns the name of the pod that answered.
func UDP(ctx context.Context, from Dialer, address string) (string, error) {
	conn, err := from.Dial(ctx, "udp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return echo(conn, "hello")
}

// echo sends a word, and waits until it returns with the name of the pod. Other words are late answers.
func echo(conn net.Conn, word string) (string, error) {
	if err := conn.SetDeadline(time.Now().Add(Patience)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer := make([]byte, 2048)
	for {
		n, err := conn.Read(answer)
		if err != nil {
			return "", err
		}
		if name, said, _ := strings.Cut(string(answer[:n]), " "); said == word {
			return name, nil
		}
	}
}
