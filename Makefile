# The two commands: `make demo` and `make test`. Each sets up what it needs first.
# Everything lives in .venv and var/ of this folder; `make clean` removes both.

PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=
BIN     = $(VENV)/bin
READY   = $(VENV)/.ready
PLUGINS = storage-sqlite storage-rdf auth-claims auth-api resource-types events-mqtt events-nats events-kafka
EDITABLE = $(foreach plugin,$(PLUGINS),-e plugins/$(plugin))
PACKAGES = src $(foreach plugin,$(PLUGINS),plugins/$(plugin)/src)
WORKERS ?= 4
ENGINE ?= evaluator

.PHONY: help setup demo test soak test-crash test-import test-sparql test-events test-deploy test-samples test-mcp test-fuzz reliability reliability-smoke check format lint types contracts docs bench tck dtdl-cases clean

help:
	@echo 'make demo    set up, start the service with a sample building, query it, keep serving (ARGS=--once: end there)'
	@echo 'make test    set up and run every test'
	@echo 'make test-crash  provisioners killed 50 times at each step; 10,000 random steps of the resource API'
	@echo 'make test-deploy  the commands of the image, run anew; ten stops and ten reloads under load'
	@echo 'make test-events  writers, a failing receiver, servers killed ten times; real brokers'
	@echo 'make test-sparql  writers in several processes race for SPARQL servers, 200 rounds each'
	@echo 'make test-rdf-crash  the store process of triples and its workers killed 300 times; 600 losses of power'
	@echo 'make test-rdf    the tests of whole services and of all use cases over triples on disk alone'
	@echo 'make test-import  an import of 300,000 twins killed three times; a million twins imported, exported twice'
	@echo 'make test-samples  the samples of the vendor'"'"'s SDK, unchanged (gets them with pip, once)'
	@echo 'make test-mcp  the official MCP conformance suite and inspector (gets them with npm, once)'
	@echo 'make test-fuzz  some 20,000 odd requests to the operations of twins, relationships and models'
	@echo 'make soak    half an hour of mixed load: memory and times as they went (ARGS="--minutes 5")'
	@echo 'make reliability  the goals R1 to R24, each with a fault that must break it (ONLY=R1,R6; reliability-r07)'
	@echo 'make check   format, lint, types, import contracts, docs, make test, a smoke of reliability: what CI runs'
	@echo 'make bench   comparisons against floors, as ratios (ARGS=--quick: fewer rounds)'
	@echo 'make tck     the openCypher TCK, all of it (ENGINE=evaluator, sqlite or rdf; ARGS=--help: more)'
	@echo 'make dtdl-cases  the reference cases of the modelling language, all of them'
	@echo 'make docs    write the generated reference pages anew'
	@echo 'make format  format the code'
	@echo 'make clean   remove .venv and var'

setup: $(READY)

$(READY): pyproject.toml constraints.txt $(wildcard plugins/*/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "twinframe needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12")'
	@echo 'Setting up $(VENV) (a minute or two, once) ...'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=24'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt -e '.[dev]' $(EDITABLE)
	@touch $@

demo: setup
	@$(BIN)/twinframe demo $(ARGS)

test: setup
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q $(ARGS)

test-crash: setup
	@TWINFRAME_ROUNDS=50 TWINFRAME_STEPS=10000 $(BIN)/python -m pytest -q tests/e2e/test_provisioner_crash.py tests/unit/control/test_resource_machine.py $(ARGS)

test-events: setup
	@TWINFRAME_KILLS=10 $(BIN)/python -m pytest -q tests/e2e/test_event_delivery.py plugins/events-mqtt plugins/events-nats plugins/events-kafka $(ARGS)

test-sparql: setup
	@TWINFRAME_ROUNDS=200 $(BIN)/python -m pytest -q -s plugins/storage-rdf/tests/test_races.py plugins/storage-rdf/tests/test_real_servers.py $(ARGS)

test-rdf-crash: setup
	@TWINFRAME_ROUNDS=300 $(BIN)/python -m pytest -q -s plugins/storage-rdf/tests/test_rdf_crash.py plugins/storage-rdf/tests/test_rdf_power_loss.py $(ARGS)

test-rdf: setup
	@TWINFRAME_STORAGES=oxigraph $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q tests/e2e tests/unit/graph $(ARGS)

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

test-mcp: setup
	@$(BIN)/python -m tests.mcp

test-deploy: setup
	@TWINFRAME_DEPLOY=1 TWINFRAME_ROUNDS=10 $(BIN)/python -m pytest -q tests/deploy tests/e2e/test_stopping.py $(ARGS)

test-fuzz: setup
	@TWINFRAME_EXAMPLES=6000 $(BIN)/python -m pytest -q tests/unit/web/test_hostile_writes.py $(ARGS)

soak: setup
	@$(BIN)/python -m tests.reliability.soak $(ARGS)

reliability: setup
	@$(BIN)/python -m tests.reliability $(if $(ONLY),--only $(ONLY)) $(ARGS)

reliability-smoke: setup
	@$(BIN)/python -m tests.reliability --smoke --at-once 2 $(ARGS)

reliability-r%: setup
	@$(BIN)/python -m tests.reliability --only R$(patsubst 0%,%,$*) $(ARGS)

check: setup
	@$(MAKE) --no-print-directory lint types contracts
	@$(BIN)/python -m tests.house.generated --check
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory reliability-smoke

lint: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: setup
	@$(BIN)/mypy $(PACKAGES)

contracts: setup
	@$(BIN)/lint-imports --no-cache

docs: setup
	@$(BIN)/python -m tests.house.generated --write

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
	rm -rf $(VENV) var
