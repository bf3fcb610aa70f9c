package balancer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/keep"
	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/test/nettest"
	"nowake.ai/svc-lb-mux/validation"
)

const mebibyte = 1 << 20

// memoryLimit is GOMEMLIMIT of an agent's pod: seven tenths of 512 MiB.
const memoryLimit = 512 * mebibyte / 10 * 7

// filesAPI is an API server whose objects are lines of files, so that they take no memory of the process that is
// measured. It streams a list if it is asked to, as API servers since Kubernetes 1.34 do.
type filesAPI struct {
	directory string
	writers   map[string]*bufio.Writer
	files     []*os.File
	noStreams bool
}

// kinds are the kinds of the resources, and of their lists.
func kinds() map[string][2]string {
	return map[string][2]string{"services": {`"v1"`, "Service"}, "configmaps": {`"v1"`, "ConfigMap"},
		"endpointslices": {`"discovery.k8s.io/v1"`, "EndpointSlice"}}
}

func newFilesAPI(b *testing.B) *filesAPI {
	b.Helper()
	f := &filesAPI{directory: b.TempDir(), writers: map[string]*bufio.Writer{}}
	for resource := range kinds() {
		file, err := os.Create(filepath.Join(f.directory, resource))
		if err != nil {
			b.Fatal(err)
		}
		f.files, f.writers[resource] = append(f.files, file), bufio.NewWriter(file)
	}
	return f
}

func (f *filesAPI) add(b *testing.B, resource string, object any) {
	b.Helper()
	if err := json.NewEncoder(f.writers[resource]).Encode(object); err != nil {
		b.Fatal(err)
	}
}

func (f *filesAPI) start(b *testing.B) *httptest.Server {
	b.Helper()
	for _, w := range f.writers {
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	for _, file := range f.files {
		file.Close()
	}
	server := httptest.NewServer(f)
	b.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server
}

func (f *filesAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource := filepath.Base(r.URL.Path)
	kind, query := kinds()[resource], r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	streams := query.Get("sendInitialEvents") != ""
	if streams && f.noStreams {
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(
			w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,`+
				`"message":"no initial events here"}`)
		return
	}
	if watches := query.Get("watch") != ""; streams || !watches {
		file, err := os.Open(filepath.Join(f.directory, resource))
		if err != nil {
			return
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, mebibyte)
		before, between, after, end := fmt.Sprintf(
			`{"apiVersion":%s,"kind":"%sList","metadata":{"resourceVersion":"9"},"items":[`, kind[0], kind[1]),
			",", "", "]}"
		if streams {
			before, between, after = `{"type":"ADDED","object":`, `{"type":"ADDED","object":`, "}"
			end = fmt.Sprintf(
				`{"type":"BOOKMARK","object":{"apiVersion":%s,"kind":%q,"metadata":{"resourceVersion":"9",`+
					`"annotations":{%q:"true"}}}}`,
				kind[0], kind[1], metav1.InitialEventsAnnotationKey)
		}
		for i := 0; lines.Scan(); i++ {
			if i == 0 {
				fmt.Fprint(w, before)
			} else {
				fmt.Fprint(w, between)
			}
			_, _ = w.Write(lines.Bytes())
			fmt.Fprint(w, after)
		}
		fmt.Fprint(w, end)
		if !watches {
			return
		}
	}
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// addWorstMux adds a mux with as much as the reconciler gives a mux with 5,000 ports and addresses of both families: 8
// channels with as many endpoints as a port may have use up the shared endpoints, and all other ports have the free
// ones. 16 channels use up a namespace's source ranges.
func (f *filesAPI) addWorstMux(b *testing.B, c claims.Claims, number int) claims.Claims {
	b.Helper()
	name := fmt.Sprint("mux-", number)
	addresses := []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(number)}),
		netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", number))}
	svc, keys := muxOfTest(b, name, "p"), languageOfTest(b).Keys()
	svc.Spec.Ports = nil
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: addresses[0].String()},
		{IP: addresses[1].String()}}
	for port := range validation.DefaultMaxPorts {
		portName := fmt.Sprintf("team-%d--http", port)
		svc.Spec.Ports = append(svc.Spec.Ports,
			corev1.ServicePort{Name: portName, Port: int32(1000 + port), Protocol: corev1.ProtocolTCP})
		endpoints, ranges := project.FreeEndpoints, []string(nil)
		if port < 8 {
			endpoints = project.MaxEndpoints
		}
		if port < 16 {
			for i := range 128 {
				ranges = append(ranges, fmt.Sprintf("172.%d.%d.%d/31", number, port, 2*i),
					fmt.Sprintf("2001:db8:%x:%x::/64", number<<8|port, i))
			}
		}
		for family, format := range map[discoveryv1.AddressType]string{"IPv4": "10.%d.%d.%d", "IPv6": "fd00::%x:%x:%x"} {
			for first := 0; first < endpoints; first += 100 {
				slice := sliceOfTest(b, fmt.Sprintf("%s-%d-%s-%d", name, port, family, first), name, name+"-uid")
				slice.AddressType, slice.Ports[0].Name = family, &portName
				slice.Annotations[keys.SourceRanges] = strings.Join(ranges, ",")
				one := slice.Endpoints[0]
				slice.Endpoints = nil
				for i := first; i < min(first+100, endpoints); i++ {
					e := *one.DeepCopy()
					at := number<<20 | port<<2 | i
					if port < 8 {
						at = number<<20 | 1<<19 | port<<10 | i
					}
					e.Addresses = []string{fmt.Sprintf(format, at>>16, at>>8&255, at&255)}
					slice.Endpoints = append(slice.Endpoints, e)
				}
				f.add(b, "endpointslices", slice)
			}
		}
	}
	f.add(b, "services", svc)
	return c.Hold(claims.Mux{Key: types.NamespacedName{Namespace: svc.Namespace, Name: name}, UID: svc.UID,
		Addresses: addresses})
}

func (f *filesAPI) addClaims(b *testing.B, c claims.Claims) {
	b.Helper()
	text, err := claims.Encode(c)
	if err != nil {
		b.Fatal(err)
	}
	f.add(b, "configmaps", &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lb", Name: claims.Name("p"), UID: "c", ResourceVersion: "1"},
		Data:       map[string]string{claims.Key: text}})
}

func sourceOfBenchmark(b *testing.B, server *httptest.Server) *KubeSource {
	b.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		b.Fatal(err)
	}
	k, err := NewKubeSource(client, Watched{Language: languageOfTest(b), Namespace: "lb", Pool: "p"}, zap.NewNop().Sugar())
	if err != nil {
		b.Fatal(err)
	}
	return k
}

// noSeats announces nothing.
type noSeats struct{}

func (noSeats) Set(context.Context, []want.Seat) error { return nil }
func (noSeats) Status() announce.Status                { return announce.Status{} }
func (noSeats) Changed() <-chan struct{}               { return nil }

// timedKernel measures transactions.
type timedKernel struct {
	*table.Kernel
	mu      sync.Mutex
	longest time.Duration
	slots   int
}

func (k *timedKernel) Apply(t *want.Tables) (table.Applied, error) {
	begin := time.Now()
	done, err := k.Kernel.Apply(t)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.longest = max(k.longest, time.Since(begin))
	if k.slots = 0; err == nil {
		for i := range t.Services {
			k.slots += len(t.Services[i].Slots)
		}
	}
	return done, err
}

// used returns the memory that counts against GOMEMLIMIT.
func used() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// peak samples the used memory until the returned function is called, which returns the highest.
func peak() func() uint64 {
	var highest uint64
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			highest = max(highest, used())
			select {
			case <-end:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(end); <-ended; return highest }
}

// BenchmarkWorstMuxes starts an agent with muxes that have as much as a mux with 5,000 ports may have, and the real
// kernel. It prints the memory that the agent keeps (MiB-kept), the highest that it used (MiB-peak), the longest
// transaction, and the slots.
//
// Target: with one mux, 200 MiB at the peak; with ten, 400 MiB.
func BenchmarkWorstMuxes(b *testing.B) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit))
	defer debug.SetGCPercent(debug.SetGCPercent(GCPercent))
	for _, c := range []struct {
		name      string
		muxes     int
		noStreams bool
	}{{"one", 1, false}, {"ten", 10, false}, {"ten from an old API server", 10, true}} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				api, held := newFilesAPI(b), claims.Claims{Pool: "p"}
				api.noStreams = c.noStreams
				for i := range c.muxes {
					held = api.addWorstMux(b, held, i)
				}
				api.addClaims(b, held)
				server := api.start(b)
				debug.FreeOSMemory()
				before, highest := used(), peak()
				source, kernel := sourceOfBenchmark(b, server), &timedKernel{Kernel: table.Open(nettest.New(b).FD)}
				a := New(Config{Name: "a", Pool: "p", Keys: languageOfTest(b).Keys(), ReturnPath: want.ViaGateway, News: source,
					Tables: kernel,
					Seats:  noSeats{}, State: keep.Directory(b.TempDir()), Addresses: func() ([]announce.Assigned, error) {
						return nil, nil
					}})
				ctx, cancel := context.WithCancel(b.Context())
				var running sync.WaitGroup
				b.StartTimer()
				running.Go(func() { source.Run(ctx) })
				running.Go(func() { _ = a.Run(ctx) })
				for programmed := 0; programmed == 0; time.Sleep(10 * time.Millisecond) {
					kernel.mu.Lock()
					programmed = kernel.slots
					kernel.mu.Unlock()
				}
				b.StopTimer()
				time.Sleep(3 * time.Second) // the state is saved
				b.ReportMetric(float64(highest()-before)/mebibyte, "MiB-peak")
				debug.FreeOSMemory()
				b.ReportMetric(float64(used()-before)/mebibyte, "MiB-kept")
				kernel.mu.Lock()
				b.ReportMetric(kernel.longest.Seconds()*1000, "ms/transaction")
				b.ReportMetric(float64(kernel.slots), "slots")
				kernel.mu.Unlock()
				cancel()
				running.Wait()
				runtime.KeepAlive(a)
			}
		})
	}
}

// BenchmarkWorstForgedSlices measures a pass, from the news to the decision, beside 20,000 slices that look like ours
// and that no mux owns. It prints the memory that is kept of them.
//
// Target: 1 ms.
func BenchmarkWorstForgedSlices(b *testing.B) {
	api, c := newFilesAPI(b), claims.Claims{Pool: "p"}
	svc := muxOfTest(b, "web", "p")
	c = c.Hold(claims.Mux{Key: types.NamespacedName{Namespace: "edge", Name: "web"}, UID: svc.UID,
		Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")}})
	api.add(b, "services", svc)
	api.addClaims(b, c)
	api.add(b, "endpointslices", sliceOfTest(b, "ours", "web", "web-uid"))
	forged := sliceOfTest(b, "", "web", "00000000-0000-0000-0000-000000000000")
	for len(forged.Endpoints) < 10 {
		forged.Endpoints = append(forged.Endpoints, forged.Endpoints[0])
	}
	const count = 20_000
	for i := range count {
		forged.Name = fmt.Sprint("forged-", i)
		forged.UID = types.UID(fmt.Sprint("uid-", i))
		api.add(b, "endpointslices", forged)
	}
	server := api.start(b)
	debug.FreeOSMemory()
	before := used()
	source := sourceOfBenchmark(b, server)
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { source.Run(ctx) })
	defer func() { cancel(); running.Wait() }()
	for n := source.Latest(); !n.Slices.IsRead || n.Claims == nil; n = source.Latest() {
		time.Sleep(10 * time.Millisecond)
	}
	debug.FreeOSMemory()
	kept := float64(used()-before) / mebibyte
	decide := func() want.Decision {
		n := source.Latest()
		return want.Decide(&want.World{Keys: languageOfTest(b).Keys(), Claims: n.Claims, Muxes: n.Muxes, Slices: n.Slices,
			Settings: want.Settings{Gateway: "a", ReturnPath: want.ViaRouted}})
	}
	if d := decide(); d.Wanted == nil || len(d.Wanted.Tables.Services) != 1 ||
		len(d.Wanted.Tables.Services[0].Slots) != 1 {
		b.Fatalf("decided: %+v", d)
	}
	b.ResetTimer()
	for range b.N {
		decide()
	}
	b.ReportMetric(kept, "MiB-kept")
}
