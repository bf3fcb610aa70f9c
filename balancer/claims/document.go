package claims

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"
)

// document is the JSON of claims. A new field needs a new schemaVersion: a version that doesn't know the field must not
// drop it.
type document struct {
	SchemaVersion int           `json:"schemaVersion"`
	Pool          string        `json:"pool"`
	Muxes         []muxJSON     `json:"muxes,omitempty"`
	Seats         []seatJSON    `json:"seats,omitempty"`
	Gateways      []gatewayJSON `json:"gateways,omitempty"`
	Down          []string      `json:"down,omitempty"`
	Adverts       *advertsJSON  `json:"adverts,omitempty"`
	Pools         []string      `json:"pools,omitempty"`
}

type advertsJSON struct {
	Interval string `json:"interval"`
	Believed string `json:"believed"`
}

type muxJSON struct {
	Namespace  string   `json:"namespace"`
	Name       string   `json:"name"`
	UID        string   `json:"uid"`
	Addresses  []string `json:"addresses"`
	Seat       int      `json:"seat,omitempty"`
	ReleasedAt string   `json:"releasedAt,omitempty"`
}

type seatJSON struct {
	RouterID int      `json:"routerID"`
	Order    []string `json:"order,omitempty"`
}

type gatewayJSON struct {
	Name      string   `json:"name"`
	Addresses []string `json:"addresses,omitempty"`
}

// parse reads a text of a version that it knows.
func parse(text []byte) (document, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return document{}, errors.New("it is missing or empty")
	}
	var version struct {
		SchemaVersion *int `json:"schemaVersion"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return document{}, plain(err)
	}
	switch v := version.SchemaVersion; {
	case v == nil:
		return document{}, errors.New("schemaVersion is missing")
	case *v > schemaVersion:
		return document{}, fmt.Errorf("%w: schemaVersion %d, and this version knows up to %d: nothing is changed; run the "+
			"newer version again",
			ErrNewer, *v, schemaVersion)
	case *v < schemaVersion:
		return document{}, fmt.Errorf("schemaVersion %d doesn't exist", *v)
	}
	if err := refuseRepeated(json.NewDecoder(bytes.NewReader(text))); err != nil {
		return document{}, err
	}
	var doc document
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	return doc, plain(strict.Decode(&doc))
}

// plain turns an error of the decoder into words about JSON instead of Go.
func plain(err error) error {
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mismatch) && mismatch.Field != "":
		return fmt.Errorf("%s can't be a JSON %s", mismatch.Field, mismatch.Value)
	case errors.As(err, &mismatch):
		return fmt.Errorf("claims can't be a JSON %s", mismatch.Value)
	}
	if field, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return fmt.Errorf("field %s is unknown in schemaVersion %d", field, schemaVersion)
	}
	return fmt.Errorf("it isn't JSON: %w", err)
}

// refuseRepeated refuses an object that has a field twice, as after a careless merge by hand: the decoder would drop
// the first one.
func refuseRepeated(from *json.Decoder) error {
	var open []map[string]bool // fields of the open objects; nil for an array
	isName := false
	for {
		token, err := from.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return plain(err)
		}
		switch token {
		case json.Delim('{'):
			open = append(open, map[string]bool{})
		case json.Delim('['):
			open = append(open, nil)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		default:
			if !isName {
				break
			}
			name, _ := token.(string)
			name = strings.ToLower(name) // the decoder ignores case
			if fields := open[len(open)-1]; fields[name] {
				return fmt.Errorf("field %q is there twice", name)
			}
			open[len(open)-1][name] = true
			isName = false
			continue
		}
		isName = len(open) > 0 && open[len(open)-1] != nil
	}
}

func toDocument(c *Claims) document {
	doc := document{SchemaVersion: schemaVersion, Pool: c.Pool}
	if c.Adverts != (Adverts{}) {
		doc.Adverts = &advertsJSON{c.Adverts.Interval.String(), c.Adverts.Believed.String()}
	}
	for _, m := range c.Muxes {
		released := ""
		if !m.IsHeld() {
			released = m.ReleasedAt.UTC().Format(time.RFC3339)
		}
		doc.Muxes = append(doc.Muxes,
			muxJSON{m.Key.Namespace, m.Key.Name, string(m.UID), texts(m.Addresses), int(m.Seat), released})
	}
	for _, s := range c.Seats {
		doc.Seats = append(doc.Seats, seatJSON{int(s.RouterID), s.Order})
	}
	for _, g := range c.Gateways {
		doc.Gateways = append(doc.Gateways, gatewayJSON{g.Name, texts(g.Addresses)})
	}
	for _, backend := range c.Down {
		doc.Down = append(doc.Down, backend.String())
	}
	for _, r := range c.Pools {
		doc.Pools = append(doc.Pools, r.String())
	}
	return doc
}

func texts(addresses []netip.Addr) []string {
	list := make([]string, len(addresses))
	for i, a := range addresses {
		list[i] = a.String()
	}
	return list
}
