package line

import (
	"context"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
)

// templateEvery is how often the template of a GatewayClass is read again: no watch shows its changes.
const templateEvery = 30 * time.Second

// reconcileClass reads the template of a GatewayClass, and writes into its status whether the class is accepted.
func (l *serving) reconcileClass(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	class := &gatewayv1.GatewayClass{}
	if err := l.cache.Get(ctx, request.NamespacedName, class); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if class.Spec.ControllerName != read.ControllerName(&l.keys) {
		return reconcile.Result{}, nil
	}
	now, refused, err := l.readTemplate(ctx, class)
	if err != nil {
		return reconcile.Result{}, err
	}
	l.setTemplate(class.Name, template{now, refused})
	condition := metav1.Condition{Type: string(gatewayv1.GatewayClassConditionStatusAccepted),
		Status: metav1.ConditionTrue,
		Reason: string(gatewayv1.GatewayClassReasonAccepted), ObservedGeneration: class.Generation,
		LastTransitionTime: metav1.NewTime(l.Now())}
	if refused != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, refused.Reason, refused.Message
	}
	before := class.DeepCopy()
	meta.SetStatusCondition(&class.Status.Conditions, condition)
	result := reconcile.Result{}
	if class.Spec.ParametersRef != nil {
		result.RequeueAfter = templateEvery
	}
	if equality.Semantic.DeepEqual(before.Status, class.Status) {
		return result, nil
	}
	return result, l.write.Status().Patch(ctx, class,
		client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// readTemplate returns the template of a GatewayClass, or why it can't be used. It returns an error if reading again
// may help.
func (l *serving) readTemplate(ctx context.Context, class *gatewayv1.GatewayClass) (read.Template, *read.Refusal,
	error) {
	ref := class.Spec.ParametersRef
	if ref == nil {
		return read.Template{}, nil, nil
	}
	refuse := func(message string) (read.Template, *read.Refusal, error) {
		return read.Template{},
			&read.Refusal{Reason: string(gatewayv1.GatewayClassReasonInvalidParameters), Message: message}, nil
	}
	if ref.Group != "" || ref.Kind != "ConfigMap" || ptr.Deref(ref.Namespace, "") == "" {
		return refuse("spec.parametersRef: name a ConfigMap with its namespace")
	}
	var cm corev1.ConfigMap
	key := types.NamespacedName{Namespace: string(*ref.Namespace), Name: ref.Name}
	err := l.live.Get(ctx, key, &cm)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return read.Template{}, nil, err
	}
	if err != nil {
		return refuse(fmt.Sprintf("spec.parametersRef: ConfigMap %s: %s", key, err))
	}
	template, err := parseTemplate(&cm)
	if err != nil {
		return refuse("spec.parametersRef: " + err.Error())
	}
	return template, nil, nil
}

// setTemplate notes a template, and wakes the Gateways of the class if it changed.
func (l *serving) setTemplate(class string, now template) {
	l.mu.Lock()
	before, known := l.templates[class]
	l.templates[class] = now
	l.mu.Unlock()
	if !known || !reflect.DeepEqual(before, now) {
		l.wakeClass(class)
	}
}

// templateOf returns the template of a GatewayClass; nil if it wasn't read yet.
func (l *serving) templateOf(class string) *template {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t, known := l.templates[class]; known {
		return &t
	}
	return nil
}
