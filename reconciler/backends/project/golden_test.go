package project_test

import (
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// scene is a view in YAML. By default the mux is svc-mux/mux, and the channel is app/web.
type scene struct {
	// Note describes the behaviour that the scene shows.
	Note string `json:"note"`
	// Before is a scene that was carried out before this one. Its slices are still there.
	Before *scene `json:"before"`

	Mux struct {
		Name     string            `json:"name"`
		UID      types.UID         `json:"uid"`
		Families []corev1.IPFamily `json:"families"`
		NoMux    bool              `json:"noMux"`
		Deleting bool              `json:"deleting"`
	} `json:"mux"`
	Channel struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		// Ports are the ports of the channel's Service, where a scene is about their names.
		Ports []corev1.ServicePort `json:"ports"`
	} `json:"channel"`
	Claims []struct {
		Port     string          `json:"port"`
		Protocol corev1.Protocol `json:"protocol"`
		MuxName  string          `json:"muxName"`
		// Number is the port's own number in the channel's Service.
		Number int32 `json:"number"`
	} `json:"claims"`
	ClaimsUnknown bool                        `json:"claimsUnknown"`
	Sources       []discoveryv1.EndpointSlice `json:"sources"`
	// Slices are added to the mux's namespace beside those of earlier scenes, with our labels or without. A slice with the
	// name of an earlier one is merged into that one, as if a person edited it.
	Slices []map[string]any `json:"slices"`
	// Removed are sources: users deleted the slices that carry them.
	Removed []string `json:"removed"`
}

func keys(t testing.TB) validation.Keys {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	return language.Keys()
}

// view turns a scene and the slices in the mux's namespace into a view.
func (s *scene) view(t testing.TB, stands map[string]*discoveryv1.EndpointSlice) project.View {
	t.Helper()
	v := project.View{Keys: keys(t), ClaimsKnown: !s.ClaimsUnknown, Taken: map[string]bool{}}
	v.Channel = types.NamespacedName{Namespace: or(s.Channel.Namespace, "app"), Name: or(s.Channel.Name, "web")}
	v.Ports = s.Channel.Ports
	v.Mux = project.Mux{Key: types.NamespacedName{Namespace: "svc-mux", Name: or(s.Mux.Name, "mux")},
		UID: types.UID(or(string(s.Mux.UID), "mux-uid")), IsMux: !s.Mux.NoMux, Deleting: s.Mux.Deleting,
		Families: s.Mux.Families}
	if v.Mux.Families == nil {
		v.Mux.Families = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	for _, c := range s.Claims {
		v.Claims = append(v.Claims,
			plan.Claim{MuxName: c.MuxName, Port: c.Number, Owner: plan.PortID{Channel: v.Channel, Name: c.Port,
				Protocol: corev1.Protocol(or(string(c.Protocol), "TCP"))}})
	}
	for i := range s.Sources {
		source := s.Sources[i].DeepCopy()
		source.Namespace, source.ResourceVersion = v.Channel.Namespace, versionOf(t, source)
		if source.Labels == nil {
			source.Labels = map[string]string{}
		}
		source.Labels[discoveryv1.LabelServiceName] = v.Channel.Name
		v.Sources = append(v.Sources, source)
	}
	for _, name := range slices.Sorted(maps.Keys(stands)) {
		if of, ok := project.ChannelOfSlice(v.Keys, stands[name]); ok && of == v.Channel || ours(v, stands[name]) {
			v.Carried = append(v.Carried, stands[name])
		} else {
			v.Taken[name] = true
		}
	}
	return v
}

// versionOf returns a resource version that changes with the content of a source.
func versionOf(t testing.TB, source *discoveryv1.EndpointSlice) string {
	t.Helper()
	text, err := yaml.Marshal(source)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatUint(uint64(crc32.ChecksumIEEE(text)), 10)
}

// ours is true for a slice of ours, even without our labels. It recognizes the slice by its name.
func ours(v project.View, slice *discoveryv1.EndpointSlice) bool {
	for _, source := range v.Sources {
		if slice.Name == project.SliceName(v.Mux.Key, v.Channel, source.Name, source.AddressType) {
			return project.IsOurSlice(v.Keys, slice)
		}
	}
	return false
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func TestScenes(t *testing.T) {
	stories := golden.Stories(t, "testdata/scenes/*.txtar")
	if len(stories) < 20 {
		t.Fatalf("%d scenes", len(stories))
	}
	for _, story := range stories {
		t.Run(story.Name(), func(t *testing.T) {
			var s scene
			if err := yaml.UnmarshalStrict(story.Input(), &s); err != nil {
				t.Fatal(err)
			}
			st := &stage{stands: map[string]*discoveryv1.EndpointSlice{}}
			decided := st.play(t, &s)
			st.settle(t, &s)
			story.Compare(t, "want.txt", decided.String()+"\n"+st.String(t))
		})
	}
}
