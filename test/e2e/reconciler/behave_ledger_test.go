package reconciler

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/test/cluster/provider"
)

// allotted creates a mux whose first number is free again. If numbers were assigned again from scratch, the channel
// would get another one.
func (s *scene) allotted(t *testing.T, name string) (mux, web types.NamespacedName) {
	t.Helper()
	mux = s.mux(t, name)
	gone := s.channel(t, name, "gone", mux)
	s.awaitServed(t, gone, "http:80->20000")
	web = s.channel(t, name, "web", mux)
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	s.awaitServed(t, web, "http:80->20001")
	s.delete(t, gone)
	s.awaitPublic(t, mux, "20001/TCP")
	s.awaitClaims(t, mux, "20001/TCP "+name+"/web http auto")
	s.awaitCarried(t, mux, "20001/TCP 8080: 10.0.0.1")
	return mux, web
}

// awaitFlow checks that a frozen mux still follows changes of backends and of the address.
func (s *scene) awaitFlow(t *testing.T, mux, web types.NamespacedName) {
	t.Helper()
	s.backends(t, web, "web-1", "http:8080", "10.0.0.2", "10.0.0.3")
	s.awaitCarried(t, mux, "20001/TCP 8080: 10.0.0.2 10.0.0.3")
	s.Provider.BehaveTo(mux.String(), provider.Take)
	s.awaitCondition(t, web, "Programmed", "False AddressPending")
	if shown := address(s.get(t, web)); shown != "" {
		t.Errorf("the channel shows %s, which the provider took back", shown)
	}
	s.Provider.BehaveTo(mux.String(), provider.Give)
	s.awaitServed(t, web, "http:80->20001")
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	s.awaitCarried(t, mux, "20001/TCP 8080: 10.0.0.1")
}

// brokenLedger breaks a ledger. The reconciler must not guess its content: the mux freezes until the ledger is
// repaired.
func (s cases) brokenLedger(t *testing.T) {
	mux, web := s.allotted(t, "broken")
	good := maps.Clone(s.configMap(t, ledgerOf(mux)).Data)
	s.writeLedger(t, mux, map[string]string{"allocations.json": `{"schemaVersion": 1, "portClaims": [`})
	s.awaitTold(t, mux, "Warning PortAllocationStoreInvalid ", "svc-mux/broken-port-allocations")
	late := s.channel(t, "broken", "late", mux)
	s.awaitWaiting(t, late, "broken-port-allocations")
	s.awaitFlow(t, mux, web)
	if got := s.configMap(t, ledgerOf(mux)).Data["allocations.json"]; !strings.HasSuffix(got, "[") {
		t.Errorf("the broken ledger was overwritten: %s", got)
	}

	s.writeLedger(t, mux, good)
	s.awaitServed(t, late, "http:80->20000")
	s.awaitServed(t, web, "http:80->20001")
	s.toldOnce(t, mux, "Normal MuxUnfrozen ", "broken-port-allocations")
	s.awaitClaims(t, mux, "20000/TCP broken/late http auto", "20001/TCP broken/web http auto")
}

// brokenThenDeleted deletes a broken ledger: the other remedy.
func (s cases) brokenThenDeleted(t *testing.T) {
	mux, web := s.allotted(t, "rebuilt")
	s.writeLedger(t, mux, map[string]string{"allocations.json": `broken`})
	s.awaitTold(t, mux, "Warning PortAllocationStoreInvalid ")
	s.deleteLedger(t, mux)
	s.awaitClaims(t, mux, "20001/TCP rebuilt/web http auto")
	s.awaitServed(t, web, "http:80->20001")
	late := s.channel(t, "rebuilt", "late", mux)
	s.awaitServed(t, late, "http:80->20000")
}

// lostLedger deletes or empties a ledger: it is written again, and no port moves. One port was renamed by an edit that
// was refused. It has no backends, so only the reconciler's memory tells whose it is.
func (s cases) lostLedger(t *testing.T) {
	mux, web := s.allotted(t, "lost")
	renamed := s.channel(t, "lost", "renamed", mux)
	s.awaitServed(t, renamed, "http:80->20000")
	s.update(t, renamed, func(svc *corev1.Service) {
		svc.Spec.Ports[0].Name, svc.Annotations[prefix+"/external-ports"] = "web", "web:20001"
	})
	s.awaitShown(t, renamed, "web:80->20000", "False MuxPortConflict")
	for _, lose := range []func(){
		func() { s.deleteLedger(t, mux) },
		func() { s.writeLedger(t, mux, nil) },
		func() {
			s.writeLedger(t, mux, map[string]string{"allocations.json": `{"schemaVersion":1,"portClaims":[]}`})
		},
	} {
		lose()
		s.awaitClaims(t, mux, "20000/TCP lost/renamed web auto", "20001/TCP lost/web http auto")
	}
	s.awaitServed(t, web, "http:80->20001")
	s.awaitShown(t, renamed, "web:80->20000", "False MuxPortConflict")
	s.awaitPublic(t, mux, "20000/TCP", "20001/TCP")
	s.awaitCarried(t, mux, "20001/TCP 8080: 10.0.0.1")
	s.awaitTold(t, mux, "MuxDriftCorrected ", "ledger")
}

// futureLedger writes a ledger of a future version, whose content is unknown.
func (s cases) futureLedger(t *testing.T) {
	mux, web := s.allotted(t, "future")
	good := maps.Clone(s.configMap(t, ledgerOf(mux)).Data)
	s.writeLedger(t, mux, map[string]string{"allocations.json": `{"schemaVersion": 3, "allClaims": {}}`})
	s.awaitTold(t, mux, "Warning PortAllocationStoreInvalid ", "schemaVersion 3")
	late := s.channel(t, "future", "late", mux)
	s.awaitWaiting(t, late, "future-port-allocations")
	s.awaitFlow(t, mux, web)
	s.writeLedger(t, mux, good)
	s.awaitServed(t, late, "http:80->20000")
}

// restoredLedger restores an older copy. The mux has a newer stamp, so the copy must not be used.
func (s cases) restoredLedger(t *testing.T) {
	mux, web := s.allotted(t, "restored")
	older := s.configMap(t, ledgerOf(mux)).DeepCopy()
	late := s.channel(t, "restored", "late", mux)
	s.awaitServed(t, late, "http:80->20000")
	newer := s.configMap(t, ledgerOf(mux)).DeepCopy()

	s.restore(t, older)
	s.awaitTold(t, mux, "Warning PortAllocationStoreInvalid ", "older copy")
	third := s.channel(t, "restored", "third", mux)
	s.awaitWaiting(t, third, "generation")
	s.awaitFlow(t, mux, web)
	s.restore(t, newer)
	s.awaitServed(t, third, "http:80->20002")

	s.restore(t, older)
	s.awaitTold(t, mux, "Warning PortAllocationStoreInvalid ", "ports of generation 5")
	s.deleteLedger(t, mux)
	s.awaitClaims(t, mux, "20000/TCP restored/late http auto", "20001/TCP restored/web http auto",
		"20002/TCP restored/third http auto")
	s.awaitPublic(t, mux, "20000/TCP", "20001/TCP", "20002/TCP")
}

// restore restores a ConfigMap as a backup tool does.
func (s *scene) restore(t *testing.T, backup *corev1.ConfigMap) {
	t.Helper()
	cm := backup.DeepCopy()
	cm.ResourceVersion, cm.UID = "", ""
	if _, err := s.user.CoreV1().ConfigMaps(cm.Namespace).Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// sharedLedger lets two muxes name one ConfigMap. It serves the mux that its annotation names, and the other mux waits.
func (s cases) sharedLedger(t *testing.T) {
	mux, web := s.allotted(t, "shared")
	other := s.mux(t, "shared-too", annotated("allocation-configmap", "shared-port-allocations"))
	late := s.channel(t, "shared", "late", other)
	s.awaitTold(t, other, "Warning PortAllocationStoreInvalid ", "svc-mux/shared")
	s.awaitWaiting(t, late, "shared-port-allocations")
	s.awaitPublic(t, other, "101/TCP")
	s.awaitServed(t, web, "http:80->20001")
	more := s.channel(t, "shared", "more", mux)
	s.awaitServed(t, more, "http:80->20000")

	s.annotate(t, other, "allocation-configmap", "")
	s.awaitServed(t, late, "http:80->20000")
	s.awaitClaims(t, other, "20000/TCP shared/late http auto")
}

// movedLedger changes the name of a mux's ledger: its claims must move.
func (s cases) movedLedger(t *testing.T) {
	mux, web := s.allotted(t, "moved")
	s.annotate(t, mux, "allocation-configmap", "moved-elsewhere")
	elsewhere := types.NamespacedName{Namespace: muxNamespace, Name: "moved-elsewhere"}
	s.eventually(t, "the ledger has moved", func() bool {
		return s.configMap(t, elsewhere) != nil && s.configMap(t, ledgerOf(mux)) == nil
	})
	s.awaitServed(t, web, "http:80->20001")
	if text := s.configMap(t, elsewhere).Data["allocations.json"]; !strings.Contains(text, `"muxPort":20001`) {
		t.Errorf("the annotation is %s", text)
	}
}

// strangersConfigMap lets a mux name a foreign ConfigMap. It isn't a ledger, whatever its name. It must not be changed,
// and the mux waits.
func (s cases) strangersConfigMap(t *testing.T) {
	key := types.NamespacedName{Namespace: muxNamespace, Name: "stranger-port-allocations"}
	made, err := s.user.CoreV1().ConfigMaps(key.Namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Data:       map[string]string{"theirs": "precious"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mux := s.mux(t, "stranger")
	web := s.channel(t, "stranger", "web", mux)
	s.awaitTold(t, mux, "Warning PortAllocationStoreInvalid ", key.String())
	s.awaitWaiting(t, web, key.String())
	s.awaitPublic(t, mux, "101/TCP")
	if now := s.configMap(t, key); now.ResourceVersion != made.ResourceVersion {
		t.Errorf("the ConfigMap was changed: %v", now)
	}
	s.annotate(t, mux, "allocation-configmap", "stranger-ledger")
	s.awaitServed(t, web, "http:80->20000")
	if now := s.configMap(t, key); now.ResourceVersion != made.ResourceVersion {
		t.Errorf("the ConfigMap was changed: %v", now)
	}
}
