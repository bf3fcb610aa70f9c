package console

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// FuzzTestTCP asks for any connection from any page. Only a connection of the topology, requested by the console's own
// page, is tried. Little of a long body is read.
func FuzzTestTCP(f *testing.F) {
	golden.Seeds(f)
	const body, kind, host = `{"address":"192.0.2.7","port":80}`, "application/json", "mux.example.com"
	f.Add([]byte(body), kind, "", "", host)
	f.Add([]byte(`{"address":"10.0.0.1","port":8080}`), kind+"; charset=utf-8", "https://"+host, "same-origin", host)
	f.Add([]byte(`{"address":"10.0.0.1","port":22}`), kind, "http://"+host+":8080", "same-origin", host+":8080")
	f.Add([]byte(`{"address":"192.0.2.7","port":8080}`), kind, "", "", host)
	f.Add([]byte(`{"address":"169.254.169.254","port":80}`), kind, "", "none", host)
	f.Add([]byte(body), kind, "null", "", host)
	f.Add([]byte(body), kind, "http://evil.example.com", "", host)
	f.Add([]byte(body), kind, "", "same-site", host)
	f.Add([]byte(body), "text/plain", "", "", host)
	f.Add([]byte(`{"Address":"192.0.2.7","PORT":8e1}`), kind, "", "", host)
	f.Add([]byte(`{"address":"192.0.2.7","port":4294967376}{`), kind, "//"+host, "", host)
	f.Add([]byte(`[]`), kind, "file://", "", "")
	p := newPlayed(f, withToken)
	f.Fuzz(func(t *testing.T, text []byte, kind, origin, site, host string) {
		read := &counter{from: bytes.NewReader(text)}
		r := httptest.NewRequest(http.MethodPost, "http://here/api/test-tcp", read)
		r.Host = host
		for name, value := range map[string]string{"Content-Type": kind, "Origin": origin, "Sec-Fetch-Site": site} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		basic("", "open sesame")(r)
		w := p.serve(t, r)
		if read.bytes > 1<<10+1 {
			t.Errorf("%d bytes are read", read.bytes)
		}
		want := []int{http.StatusOK}
		if len(p.dialled) == 0 {
			want = []int{http.StatusBadRequest, http.StatusForbidden, http.StatusUnsupportedMediaType}
		}
		if !slices.Contains(want, w.Code) {
			t.Errorf("status %d, but %q is dialled: %s", w.Code, p.dialled, w.Body)
		}
		var ask struct {
			Address string
			Port    int32
		}
		plain := kind == "application/json" && origin == "" && (site == "" || site == "same-origin") && len(text) <= 1<<10
		if plain && json.Unmarshal(text, &ask) == nil && len(p.dialled) == 0 && w.Code != http.StatusBadRequest &&
			slices.Contains(p.destinations(t), net.JoinHostPort(ask.Address, strconv.Itoa(int(ask.Port)))) {
			t.Errorf("%+v isn't tried: %d: %s", ask, w.Code, w.Body)
		}
	})
}

// counter counts the bytes that are read.
type counter struct {
	from  io.Reader
	bytes int
}

func (c *counter) Read(into []byte) (int, error) {
	n, err := c.from.Read(into)
	c.bytes += n
	return n, err
}
