# The three images, one target each. They hold only the binary that `make build` wrote to bin/. So any builder can build
# them: there is no base image to pull and no command to run. `make image` does all of it.

FROM scratch AS webhook
ARG VERSION=devel
ARG REVISION=unknown
LABEL org.opencontainers.image.title="svc-lb-mux webhook" \
      org.opencontainers.image.description="Refuses mux and channel Services that could never work" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY bin/webhook /webhook
# Numeric, so that runAsNonRoot can check the user without a user database.
USER 65532:65532
ENTRYPOINT ["/webhook"]

FROM scratch AS reconciler
ARG VERSION=devel
ARG REVISION=unknown
LABEL org.opencontainers.image.title="svc-lb-mux reconciler" \
      org.opencontainers.image.description="Gives channel Services their ports on a mux Service" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY bin/reconciler /reconciler
USER 65532:65532
ENTRYPOINT ["/reconciler"]

FROM scratch AS gateway
ARG VERSION=devel
ARG REVISION=unknown
LABEL org.opencontainers.image.title="svc-lb-mux gateway" \
      org.opencontainers.image.description="Carries addresses of mux Services on Linux machines, without a cloud's load balancer" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY bin/gateway /gateway
# The chart runs agents as root with two capabilities, and the controller as this user.
USER 65532:65532
ENTRYPOINT ["/gateway"]
