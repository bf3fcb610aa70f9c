package ledger

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

var (
	mux    = types.NamespacedName{Namespace: "svc-mux", Name: "mux"}
	keys   = testKeys()
	moment = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// nameLabel is a label that every ledger has.
const (
	nameLabel = "app.kubernetes.io/name"
	nameValue = "svc-lb-mux"
)

func testKeys() validation.Keys {
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		panic(err)
	}
	return language.Keys()
}

// claims returns n claims, each of another channel.
func claims(n int) []plan.Claim {
	all := make([]plan.Claim, 0, n)
	for i := range n {
		all = append(all, plan.Claim{
			Owner: plan.PortID{
				Channel: types.NamespacedName{Namespace: fmt.Sprintf("team-%03d", i%200), Name: fmt.Sprintf("service-%05d", i)},
				Name:    "http", Protocol: corev1.ProtocolTCP,
			},
			Port: 80, Public: int32(1 + i), Source: plan.Auto, MuxName: fmt.Sprintf("%020x", i), Since: moment,
		})
	}
	return all
}

func mustPack(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	packer := gzip.NewWriter(&b)
	if _, err := packer.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := packer.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func withNumber(public int32) []plan.Claim {
	all := claims(1)
	all[0].Public = public
	return all
}
