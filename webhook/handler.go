package webhook

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"nowake.ai/svc-lb-mux/validation"
)

// Path is the URL path of reviews.
const Path = "/validate"

type handler struct {
	lang    validation.Language
	log     *zap.Logger
	metrics metrics
	budget  *budget
	// predictor is nil if predictions are off.
	predictor *predictor
	served    served
}

// NewHandler returns a handler that answers AdmissionReviews of version v1, without predictions.
func NewHandler(lang validation.Language, log *zap.Logger, registry prometheus.Registerer) http.Handler {
	return newHandler(lang, nil, nil, log, registry)
}

func newHandler(lang validation.Language, predictor *predictor, served served, log *zap.Logger,
	registry prometheus.Registerer,
) http.Handler {
	h := &handler{lang: lang, log: log, metrics: newMetrics(registry), budget: newBudget(), predictor: predictor,
		served: served}
	return h.recovering(h)
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	l := h.budget.open(senderOf(r.RemoteAddr))
	defer l.giveBack()
	req, fault := readRequest(w, r, l)
	if fault != nil {
		h.refuse(w, r, fault)
		return
	}
	answer := review(h.lang, h.predictor, h.served, req)
	h.write(w, answer)
	h.metrics.answered(req.Operation, answer, time.Since(start))
	if !answer.Response.Allowed {
		h.logDenial(req, answer, r.RemoteAddr)
	}
}

func (h *handler) write(w http.ResponseWriter, answer Answer) {
	review := admissionv1.AdmissionReview{Response: answer.Response}
	review.APIVersion, review.Kind = apiVersion, kind
	body, err := json.Marshal(review)
	if err != nil { // strings and numbers can always be encoded; a panic becomes an error for the API server
		panic(err)
	}
	w.Header().Set("Content-Type", mediaType)
	if _, err := w.Write(body); err != nil {
		h.log.Debug("the API server closed the connection before the answer", zap.Error(err))
	}
}

// logDenial logs a denial: the only line of a request at level info. It leaves values out, because an annotation may
// hold a secret. The user comes from the request's body, so a sender that is no API server can
// make it up; from is the address of the connection.
func (h *handler) logDenial(req *admissionv1.AdmissionRequest, answer Answer, from string) {
	h.log.Info("denied",
		zap.String("operation", string(req.Operation)), zap.String("kind", answer.Kind),
		zap.String("namespace", shorten(answer.Namespace, maxLogged)), zap.String("name", shorten(answer.Name, maxLogged)),
		zap.String("user", shorten(req.UserInfo.Username, maxLogged)), zap.Strings("reasons", answer.Reasons),
		zap.Bool("dryRun", req.DryRun != nil && *req.DryRun), zap.String("uid", shorten(string(req.UID), maxLogged)),
		zap.String("from", from))
}

// maxLogged limits a caller's texts in logs and refusals. No object's name is longer.
const maxLogged = 253

// refuse answers requests that aren't judged. It logs them at level debug: API servers send few of them, and at level
// info any client could fill the log. But a review that is refused for lack of memory makes an API server refuse a
// change, so the first such refusal is a warning.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, fault *fault) {
	h.metrics.refused(fault.code)
	if h.budget.shouldReport(fault) {
		h.log.Warn("refused a review: the reviews in progress use all memory set aside for them (logged once until no "+
			"review is in progress); add replicas to share the load, or use client certificates and a NetworkPolicy to keep "+
			"out senders that aren't API servers", zap.String("from", r.RemoteAddr))
	}
	h.log.Debug("refused a request", zap.String("from", r.RemoteAddr), zap.Int("code", fault.code),
		zap.String("fault", fault.text))
	if fault.code == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	http.Error(w, fault.text, fault.code)
}

// recovering turns a panic into an error for one request. The API server then applies the webhook's failurePolicy.
func (h *handler) recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			what := recover()
			if what == nil {
				return
			}
			h.metrics.refused(http.StatusInternalServerError)
			h.log.Error("a review panicked", zap.Any("panic", what), zap.Stack("stack"))
			http.Error(w, "the review failed: see the webhook's log", http.StatusInternalServerError)
		}()
		next.ServeHTTP(w, r)
	})
}
