package versions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func deployment(name, container, image string, labels map[string]string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: name, Labels: labels}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "proxy", Image: "mesh:1"}, {Name: container, Image: image}}
	return d
}

func TestPartsOfAnInstallation(t *testing.T) {
	released := map[string]string{versionLabel: "v1.2.3"}
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	tests := map[string]struct {
		container, image string
		labels           map[string]string
		want             []part
	}{
		"a tag": {"webhook", "registry:5000/svc-lb-mux/webhook:v1.2.3", nil,
			[]part{{"webhook", "v1.2.3", "svc-mux", "d"}}},
		"a tag overrides the label": {"reconciler", "a/b:v1.0.0", released, []part{{"reconciler", "v1.0.0", "svc-mux", "d"}}},
		"a digest and a tag":        {"webhook", "a/b:v1.2.3" + digest, nil, []part{{"webhook", "v1.2.3", "svc-mux", "d"}}},
		"a digest": {"webhook", "registry:5000/a/b" + digest, released,
			[]part{{"webhook", "v1.2.3", "svc-mux", "d"}}},
		"a digest without a label": {"webhook", "registry:5000/a/b" + digest, nil,
			[]part{{"webhook", unknown, "svc-mux", "d"}}},
		"another program": {"operator", "a/b:v1", nil, []part{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want,
				partsOf([]*appsv1.Deployment{deployment("d", tc.container, tc.image, tc.labels)})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSkewIsToldForEachPart(t *testing.T) {
	parts := []part{
		{"webhook", "1.2.3", "svc-mux", "a"}, {"reconciler", "v1.2.2", "svc-mux", "b"}, {"webhook", unknown, "old", "c"},
	}
	want := []string{
		"the reconciler in svc-mux/b is v1.2.2 and this program is v1.2.3: they may judge differently: use svcmux v1.2.2",
		"the release of the webhook in old/c is unknown: its image has no tag",
	}
	if diff := cmp.Diff(want, skews("v1.2.3", parts)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
