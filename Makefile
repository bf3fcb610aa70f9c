# `make` or `make help` lists the targets. CI runs `make verify test`.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:

# One setting for everything that compiles: a second one would fill a second build cache. test/cluster/binaries has the same one, so that Kubernetes
# shares client-go with us. For the race detector: make test CGO_ENABLED=1 TESTFLAGS=-race
export CGO_ENABLED ?= 0
# A compiler lives for seconds: with little garbage collection it takes a quarter less time, and up to a gigabyte of memory.
goflags := $(shell go env GOFLAGS 2>/dev/null)
export GOFLAGS := $(if $(findstring -toolexec,$(goflags)),$(goflags),$(goflags) -trimpath -gcflags=all=-dwarf=false '-toolexec=env GOGC=800')

VERSION ?= $(or $(shell git describe --tags --always --dirty 2>/dev/null),devel)
BIN ?= bin
DIST ?= dist
LINT := go tool -modfile=.tools/golangci-lint.mod golangci-lint

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

COMMANDS ?= webhook reconciler gateway svcmux

.PHONY: build
build: ## Build webhook, reconciler, gateway and svcmux into bin/: static, reproducible, VERSION from git
	CGO_ENABLED=0 go build -trimpath -buildvcs=false \
	  -ldflags '-s -w -X nowake.ai/svc-lb-mux/cmd/internal/version.linked=$(VERSION)' \
	  -o $(BIN)/ $(addprefix ./cmd/,$(COMMANDS))
	@chmod 0755 $(patsubst %,$(BIN)/%$$(go env GOEXE),$(COMMANDS)) # independent of the umask: an image's user isn't the builder

# The first builder found; BUILDER=podman picks another.
BUILDER ?= $(firstword $(foreach tool,buildah podman docker,$(if $(shell command -v $(tool)),$(tool))))
# "localhost" stands for "no registry": every tool keeps such a name unchanged, and none looks for it in a registry.
IMAGE ?= localhost/svc-lb-mux
COMMIT_TIME := $(or $(shell git log -1 --format=%ct 2>/dev/null),0)
REVISION := $(or $(shell git rev-parse --verify --quiet HEAD),unknown)
GOARCH ?= $(shell go env GOARCH)

.PHONY: image
image: export GOOS = linux
image: export GOARCH := $(GOARCH)
image: build ## Build the three images from bin/ with buildah, podman or docker (BUILDER), as archives in dist/
	$(if $(BUILDER),,$(error make image needs buildah, podman or docker; on Debian: apt-get install buildah))
	@mkdir -p $(DIST)
	$(call build-image,webhook)
	$(call build-image,reconciler)
	$(call build-image,gateway)

image-args = --target $(1) --platform linux/$(GOARCH) --tag $(IMAGE)/$(1):$(VERSION) \
	--build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION)
build-image = $(if $(filter docker,$(notdir $(BUILDER))),$(build-image-docker),$(build-image-store))

# buildah and podman use a temporary storage; only the archive stays. Its time is the commit's, so that a commit always
# gives the same image.
define build-image-store
@store=$$(mktemp -d); trap 'rm -rf "$$store"' EXIT; rm -f $(DIST)/$(1).tar; \
builder() { $(BUILDER) --root "$$store/root" --runroot "$$store/run" --storage-driver vfs "$$@"; }; \
builder build --quiet --isolation chroot --identity-label=false --timestamp $(COMMIT_TIME) $(call image-args,$(1)) . ; \
builder push --quiet $(IMAGE)/$(1):$(VERSION) docker-archive:$(DIST)/$(1).tar:$(IMAGE)/$(1):$(VERSION); \
echo "$(DIST)/$(1).tar: $(IMAGE)/$(1):$(VERSION)"
endef

# docker has no --timestamp; it keeps the file's own time in the layer.
define build-image-docker
@touch -d @$(COMMIT_TIME) bin/$(1); \
SOURCE_DATE_EPOCH=$(COMMIT_TIME) $(BUILDER) build $(call image-args,$(1)) . ; \
$(BUILDER) save --output $(DIST)/$(1).tar $(IMAGE)/$(1):$(VERSION); \
echo "$(DIST)/$(1).tar: $(IMAGE)/$(1):$(VERSION)"
endef

# Helm is built from its module, as for the tests; HELM=helm uses an installed one.
HELM ?= go run ./test/release/helm
IMAGE_PLATFORMS ?= linux/amd64 linux/arm64
CLI_PLATFORMS ?= $(IMAGE_PLATFORMS) darwin/amd64 darwin/arm64 windows/amd64

# The address of the folders of all versions, for the manifest of the kubectl plugin and the metadata of the chart.
# localhost stands for "none": the chart then has no such address.
DOWNLOADS ?= https://localhost/svc-lb-mux
# The address of the repository, for the metadata of the chart; none if empty.
SOURCES ?=

# The provenance names the repository, and the machine that built: give CI's runner an address of its own.
SOURCE ?= git+https://nowake.ai/svc-lb-mux
BUILDER_ID ?= https://nowake.ai/svc-lb-mux/builders/machine-of-a-maintainer

# The settings of the scripts. HELM_PUSH_FLAGS, CRANE_FLAGS and COSIGN_FLAGS are for registries that need additional flags.
# COSIGN and CRANE name installed programs; without them, both are built from their modules.
release-settings = $(foreach name,VERSION DIST COMMIT_TIME REVISION BUILDER IMAGE HELM IMAGE_PLATFORMS CLI_PLATFORMS DOWNLOADS SOURCES \
	SOURCE BUILDER_ID REGISTRY HELM_PUSH_FLAGS CRANE CRANE_FLAGS COSIGN COSIGN_FLAGS COSIGN_KEY COSIGN_PUBLIC_KEY COSIGN_IDENTITY \
	COSIGN_ISSUER,$(name)='$($(name))')

.PHONY: release
release: ## Make all files of a release from the tag at HEAD, in dist/VERSION/
	+@$(release-settings) .ci/release

.PHONY: publish
publish: ## Sign the files of `make release` with COSIGN_KEY; push images and chart to REGISTRY, and sign them
	@$(release-settings) .ci/publish

.PHONY: verify-release
verify-release: ## Check the files in dist/VERSION/, and images and chart in REGISTRY: signatures, provenance, SBOMs
	@$(release-settings) .ci/verify-release

HUGO := env CGO_ENABLED=0 go tool -modfile=.tools/hugo.mod hugo
# The folder of all versions, and where a browser finds the sources, such as https://forge.example.com/svc-lb-mux/blob/v0.2.0.
SITE ?= $(DIST)/site
BROWSE ?=

.PHONY: site
site: ## Build the website of docs/, in the folder of its version below SITE (dist/site)
	@VERSION='$(VERSION)' SITE='$(SITE)' BROWSE='$(BROWSE)' HUGO='$(HUGO)' .ci/site

.PHONY: deps
deps: ## Install the Debian packages that tests and demo use; on other systems, name the missing ones
	@test/deps.sh

TIMEOUT ?= 40m
TESTFLAGS ?=
# The retries of the last ten runs. A CI that starts from a new clone must keep this file between its runs.
AGAIN_HISTORY ?= $(BIN)/retries
# How many packages run at once, and how many tests of those with clusters. They mostly wait: with two packages and one test of each, two
# processors were idle for half of the time, with three packages for a fifth, with four never. But with four, gateways send adverts too late,
# and API servers answer after their clients' time.
PACKAGES ?= 3
PARALLEL ?= 2
# They come first, so that short ones fill the processors at the end. In an empty cache, the release, the site and the upgrade compile for minutes.
LONGEST := ./test/docs ./test/e2e/reconciler ./test/gitops ./test/dataplane ./test/release ./test/site $(addprefix ./test/e2e/,upgrade gatewayapi \
	install certs admission gateways life)

# Debug information isn't needed to show a test's failure, and costs half of the time of linking. `make verify` vets, `make check` lints.
TEST_FLAGS := -vet=off -ldflags=-w -timeout $(TIMEOUT)
TEST := go test $(TEST_FLAGS)

# Their results come from Go's cache as long as nothing changes that they read. That can't be said of the other packages: those in test/ start
# clusters, which depend on more files than Go knows of, and ./cmd builds all commands. The packages left out at the end have benchmarks only.
WITHOUT_CLUSTERS := ./test/sim ./webhook ./balancer ./test/again ./test/corpus $$(go list ./... | grep -vE '^nowake.ai/svc-lb-mux/(test/|cmd$$)')
WITH_CLUSTERS := $(LONGEST) ./cmd $$(go list ./test/... | grep -vE '/test/(sim|again|corpus|bench/(dataplane|gateways|reconciler))$$')

# What a change should pass before each commit.
.PHONY: check
check: export RAPID_SEED ?= 1
check: ## Run the tests without clusters, 200 simulated histories, and the linters: two minutes
	$(TEST) ./test/chart $(filter-out ./test/sim,$(WITHOUT_CLUSTERS))
	$(TEST) ./test/sim -run 'TestSim$$|TestMutantsApply$$' -args -histories=200
	$(LINT) run --allow-parallel-runners

# Property tests use the same cases each time, so that a failure comes from a change; `make properties` uses other cases. A test that failed while the
# machine stood still is retried once: see test/again.
.PHONY: test
test: export RAPID_SEED ?= 1
test: deps ## Run every test, set-up included
	@[[ $$(id -u) == 0 ]] || echo 'test: NOT COVERED without root: real nodes, and the tests that need them'
	go run ./test/cluster build -all
	(cd test/rules && $(TEST) -count=1 $(TESTFLAGS) ./...) & $(TEST) $(TESTFLAGS) -p $(PACKAGES) $(WITHOUT_CLUSTERS); wait $$!
	@go build -o $(BIN)/again ./test/again
	AGAIN_HISTORY=$(AGAIN_HISTORY) $(BIN)/again $(TEST_FLAGS) -count=1 $(TESTFLAGS) -p $(PACKAGES) -parallel $(PARALLEL) -- $(WITH_CLUSTERS)

.PHONY: demo
demo: deps ## Show everything at work, in a cluster of its own, until Ctrl-C; GATEWAYS=1 shows gateways
	@[[ -e $(BIN)/demo ]] || echo 'demo: building it; with cold caches that takes some minutes'
	@go build -o $(BIN)/demo ./test/demo
	@exec $(BIN)/demo$(if $(GATEWAYS), -gateways)

FUZZTIME ?= 30s
FUZZ ?= .

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (30s) each, or those that match FUZZ
	@targets=$$(go test -list '^Fuzz' ./... | awk '/^Fuzz/ {names[++n] = $$1} \
	  /^ok/ {for (i = 1; i <= n; i++) if (names[i] ~ /$(FUZZ)/) print $$2, names[i]; n = 0}'); \
	[[ -n $$targets ]] || echo 'fuzz: no fuzz target matches "$(FUZZ)"'; \
	while read -r package name; do \
	  [[ -z $$name ]] || go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x "$$package" </dev/null; \
	done <<<"$$targets"

KEEP ?= 5

.PHONY: fuzz-keep
fuzz-keep: ## Keep the smallest inputs that fuzzing found, KEEP (5) for each target, as seeds in testdata/fuzz.txtar
	@cache=$$(go env GOCACHE)/fuzz/$$(go list -m); \
	find "$$cache" -mindepth 1 -type d -name 'Fuzz*' -printf '%P\n' | while read -r target; do \
	  kept=$$(dirname "$$target")/testdata/fuzz.txtar; mkdir -p "$$(dirname "$$kept")"; \
	  ls -Sr "$$cache/$$target" | sed -n '1,$(KEEP)p' | while read -r input; do \
	    name="-- $${target##*/}/$$input --"; \
	    grep -qsxFe "$$name" "$$kept" || { echo "$$name"; cat "$$cache/$$target/$$input"; } >>"$$kept"; \
	  done; \
	done

HISTORIES ?= 10000
SEED ?= $(shell expr $$(date +%s) % 9000000)

.PHONY: sim
sim: ## Simulate HISTORIES (10000; 0: until stopped) of reconcilers, users and faults in virtual time, from SEED on
	go test -count=1 -timeout 0 ./test/sim -run 'TestSim$$' -v -args -histories=$(HISTORIES) -first=$(SEED) -progress

CHECKS ?= 10000

.PHONY: properties
properties: ## Check CHECKS (10000) cases of each property, from SEED on; some cases are histories of decisions
	RAPID_SEED=$(SEED) RAPID_CHECKS=$(CHECKS) go test -count=1 -timeout 0 \
	  $$(go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | awk '/pgregory.net\/rapid/ { print $$1 }')

LONG_CHANNELS ?= 100
LONG_CYCLES ?= 5
LONG_REPEATS ?= 50
LONG_LEASE ?= 1h
LONG_FAILOVERS ?= 50
# Tests with packets depend most on the load of the machine.
LONG_STORIES ?= TestPackets/.*/(a_pod.s_readiness|a_deleted_channel|no_request_is_lost)$$

.PHONY: lease
lease: ## Watch for LONG_LEASE (1h) that one of two reconcilers with the default lease stays the leader
	LEASE_WATCH=$(LONG_LEASE) go test -count=1 -timeout 0 ./test/e2e/failover -run 'TestLeaderStaysLeader$$' -v

# Each part has a short form in `make test`. CONTRIBUTING.md has the durations.
.PHONY: long
long: deps ## Run the long forms of tests, for hours: upgrades, simulations, properties, the lease, tests with packets
	go run ./test/cluster build -all
	go test -count=1 -timeout 0 ./test/e2e/upgrade -v -args -channels=$(LONG_CHANNELS) -cycles=$(LONG_CYCLES)
	go test -count=1 -timeout 0 ./test/e2e/upgrade -v -args -certs=certManager
	go test -count=1 -timeout 0 ./balancer -run 'TestConnectionsLiveOnAfterFailovers$$' -v -args -failovers=$(LONG_FAILOVERS)
	LONG=1 go test -count=1 -timeout 0 ./balancer -run 'TestAgentIsKilledAfterEachWrite$$' -v
	LONG=1 go test -count=1 -timeout 0 ./test/bench/webhook
	LONG=1 go test -count=1 -timeout 0 -p $(PACKAGES) -parallel $(PARALLEL) ./test/cluster/cluster ./test/dataplane ./test/demo ./test/e2e/... ./test/gitops ./test/release ./test/site
	go test -count=1 -timeout 0 ./test/sim/api -args -sequences=200
	$(MAKE) -j3 sim properties lease # concurrently, to watch the lease on a busy machine
	LONG=1 go test -count=$(LONG_REPEATS) -timeout 0 -parallel 1 ./test/dataplane -run '$(LONG_STORIES)'
	go test -run '^$$' -bench . -benchtime 1x -timeout 0 -p 1 ./... # that each benchmark still runs

.PHONY: sim-mutants
sim-mutants: ## Break the code on purpose, once for each patch in a folder of mutants, and check that histories fail
	@test/sim/mutants.sh
	@test/sim/mutants.sh reconciler/addresses/mutants
	@test/sim/mutants.sh reconciler/gatewayapi/line/mutants
	@test/sim/mutants.sh reconciler/gatewayapi/allocate/mutants

.PHONY: race
race: export CGO_ENABLED = 1
race: ## Run every test with the race detector, which needs a C compiler
	@command -v $(firstword $(shell go env CC)) >/dev/null || { echo 'race: needs a C compiler; on Debian: apt-get install gcc libc6-dev'; exit 1; }
	$(MAKE) test TESTFLAGS='-race $(TESTFLAGS)'

BENCH ?= .

.PHONY: bench
bench: ## Run the benchmarks that match BENCH, one package at a time
	go test -run '^$$' -bench '$(BENCH)' -benchmem -timeout $(TIMEOUT) -p 1 ./...

.PHONY: fmt
fmt: ## Format every Go file
	gofmt -s -w .

.PHONY: lint
lint: ## Run the linters, which also check the import directions and the purity of the pure packages
	$(LINT) run --allow-parallel-runners

VULN := go tool -modfile=.tools/govulncheck.mod govulncheck
VULNDB ?= https://vuln.go.dev

# govulncheck exits with 3 if it found something, and with another code if it couldn't check.
.PHONY: vuln
vuln: ## Check the programs for known vulnerabilities, in Go and in modules, by the database VULNDB
	@status=0; $(VULN) -db $(VULNDB) ./cmd/... || status=$$?; \
	case $$status in \
	  0) ;; \
	  3) echo 'vuln: see above: update the module, or Go (go mod edit -toolchain=…), to the version under "Fixed in"'; exit 1 ;; \
	  *) echo 'vuln: NOTHING WAS CHECKED: see above. If $(VULNDB) is out of reach, name a copy: make vuln VULNDB=file:///path'; exit 1 ;; \
	esac

# Generated files are generated again and must not change. In CI the working tree is clean, so they are compared with
# the commit; on a developer's machine, uncommitted edits are no failure.
.PHONY: verify
verify: ## Check what CI checks besides tests: generated files, go.mod, gofmt, vet, lint
	@state() { git status --porcelain; git diff | git hash-object --stdin; }; before=$$(state); \
	go generate ./...; \
	[[ $$(state) == "$$before" ]] || { git --no-pager diff --stat; echo 'verify: generated files were out of date'; exit 1; }
	go mod tidy -diff
	@unformatted=$$(gofmt -s -l .); \
	[[ -z $$unformatted ]] || { echo "$$unformatted"; echo 'verify: these files want make fmt'; exit 1; }
	go vet ./...
	cd test/rules && go vet ./...
	$(LINT) run --allow-parallel-runners
