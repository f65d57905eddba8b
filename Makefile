# Everything a developer or a first-time user does with this repository. `make help` lists the targets.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
VAR ?= var
PORT ?= 1234
CLOUD_PORT ?= 5000
HOSTS ?= 8
HA_SECONDS ?= 30
SIMULATION_SECONDS ?= 60
MARKED ?= not servers
WORKERS ?= 5
PYTEST := $(BIN)/python -m pytest
PACKAGES := server nova-filter sandbox client
RUNNABLE := $(VENV)/.runnable
INSTALLED := $(VENV)/.installed
PIP := $(BIN)/pip install -q --disable-pip-version-check -c constraints.txt
NEW_ENOUGH := $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
  { echo "Blazar needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>&1): try make PYTHON=python3.12" >&2; exit 2; }
ATTACKS := $(addprefix server/tests/functional/test_,schemathesis.py hostile_users.py)
FAULTS := ha/test_mixed_versions.py $(filter-out ha/test_mixed_versions.py,$(wildcard ha/test_*.py))
NEWEST = PYTHON="$$(.ci/newest-python)" VENV=.venv-newest
TYPESCRIPT := 7.0.2
SIMULATED := server/tests/simulation
PROGRAMS := server/tests/process server/tests/functional/test_programs.py sandbox/tests/test_clients.py \
  $(addprefix client/tests/test_,documents.py kinds_of_other_distributions.py with_the_service.py)
SERVED := $(addprefix server/tests/,contract functional) sandbox/tests
QUICK := $(addprefix server/tests/,service properties unit)
SOURCES := server/src client/src nova-filter/src sandbox/src docs/examples/licence-kind/src

# The tests start many processes: they are quick only where Python keeps what it has compiled. The tests themselves
# are compiled once when they are installed, and not by all of pytest's workers at the same time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test test-quick test-newest install install-newest test-programs test-simulation test-thorough test-servers test-compat test-page pictures lab lab-status lab-down test-lab test-ha test-faults test-fairness test-storm check format bench bench-lab docs clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

run: $(RUNNABLE) ## Run the service with a sandbox cloud on this machine (PORT=1234 CLOUD_PORT=5000 HOSTS=8 VAR=var)
	@exec $(BIN)/blazar-standalone --port $(PORT) --cloud-port $(CLOUD_PORT) --hosts $(HOSTS) --var $(VAR)

test: $(INSTALLED) ## Run the tests that need nothing but Python, but for those of the next two targets
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "$(MARKED)" $(addprefix --ignore ,$(SIMULATED) $(PROGRAMS) $(LEFT_OUT)) $(EXAMPLES)

test-programs: $(INSTALLED) ## Run the tests that start the programs, and the sessions of the documents
	$(PYTEST) -n 4 --dist worksteal -m "not servers" $(PROGRAMS) $(EXAMPLES)

test-simulation: $(INSTALLED) ## Find planted defects, simulate the service with new seeds (SIMULATION_SECONDS=60), or repeat one (SEED=123)
	$(if $(SEED),,$(PYTEST) -q -n auto $(SIMULATED))
	@cd server/tests && ../../$(BIN)/python -m simulation $(if $(SEED),--seed $(SEED),--seconds $(SIMULATION_SECONDS)) $(SIMULATION)

test-quick: $(INSTALLED) ## Run the tests that take less than half a minute in all, while you write code
	BLAZAR_TEST_EFFORT=quick $(PYTEST) -q -n 2 -m "not slow and not servers and not lab" $(QUICK)

test-newest: ## Run on the newest Python that is here what of make test is quick and starts no service
	$(if $(BLAZAR_TEST_TURN),BLAZAR_TEST_SHARE=4) BLAZAR_TEST_EFFORT=quick $(MAKE) test $(NEWEST) LEFT_OUT="$(SERVED)" MARKED="not servers and not slow" WORKERS=2

install: $(INSTALLED)

install-newest:
	$(MAKE) .venv-newest/.installed $(NEWEST)

test-thorough: $(INSTALLED) ## Run the long forms of all suites, for two hours or so, before a release; needs the lab
	BLAZAR_TEST_EFFORT=thorough $(PYTEST) -n auto --dist worksteal -m "not servers" $(SIMULATED) server/tests/properties server/tests/service
	BLAZAR_TEST_EFFORT=thorough $(PYTEST) -n auto --dist loadfile $(ATTACKS)
	BLAZAR_TEST_EFFORT=quick $(MAKE) test test-programs $(NEWEST)
	BLAZAR_TEST_EFFORT=thorough $(MAKE) test-compat
	$(MAKE) test-simulation SIMULATION_SECONDS=1800
	BLAZAR_TEST_EFFORT=thorough $(MAKE) test-ha HA_SECONDS=300
	$(BIN)/python lab/suite.py --thorough

test-servers: $(INSTALLED) ## Run the tests that need PostgreSQL and MariaDB (see CONTRIBUTING.md)
	$(PYTEST) -n 3 --dist worksteal -m servers server/tests $(EXAMPLES)

test-page: $(INSTALLED) ## Run the tests of the calendar page in a browser; needs Chromium
	$(PYTEST) -q -n 2 -p playwright page
	! command -v npx >/dev/null || npx --yes -p typescript@$(TYPESCRIPT) tsc -p page/jsconfig.json

pictures: $(INSTALLED) ## Take the pictures of the calendar page in the documents anew; needs Chromium
	PATH="$(abspath $(BIN)):$$PATH" PYTHONPATH=.:server/tests $(BIN)/python -m page.pictures

test-compat: $(INSTALLED) ## Run what needs the package index: client 4.6, Heat, Horizon; the wheels
	$(PYTEST) -n 6 --dist worksteal client/compat deploy/tests

lab: ## Run a real OpenStack with the service in it on this machine (NCOMPUTE=4 LAB_INFRA=auto LAB_DIR=var/lab)
	@$(NEW_ENOUGH)
	@$(PYTHON) lab/lab.py up

lab-status: ## Tell what of the lab runs
	@$(PYTHON) lab/lab.py status

lab-down: ## Stop what make lab started; its data are kept
	@$(PYTHON) lab/lab.py down

test-lab: $(INSTALLED) ## Run the tests that need the lab, on the lab that runs
	@$(BIN)/python lab/suite.py

test-ha: $(INSTALLED) ## Break everything under load, on PostgreSQL, MariaDB and RabbitMQ (HA_SECONDS=30, for each database)
	@failed=0; \
	$(MAKE) test-faults || failed=1; \
	$(MAKE) test-fairness || failed=1; \
	$(MAKE) test-storm || failed=1; \
	exit $$failed

# The longest file first, for the others fill the time beside it.
test-faults: $(INSTALLED)
	HA_SECONDS=$(HA_SECONDS) $(PYTEST) -q -n 3 --dist loadfile --no-loadscope-reorder -m "not storm and not fairness" $(FAULTS)

test-fairness: $(INSTALLED)
	HA_SECONDS=$(HA_SECONDS) $(PYTEST) -q -m fairness ha

test-storm: $(INSTALLED)
	HA_SECONDS=$(HA_SECONDS) $(PYTEST) -q -m storm ha

check: $(INSTALLED) ## Lint, types, layers, words and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(SOURCES)
	PYTHONPATH=lab $(BIN)/lint-imports
	$(BIN)/python .ci/words
	$(BIN)/codespell README.md CONTRIBUTING.md docs releasenotes $(SOURCES)

format: $(INSTALLED) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(INSTALLED) ## Measure speed, also of upstream beside us, and write tables and plots to var/bench (BENCH="requests beside")
	$(BIN)/python bench/run.py $(BENCH)

bench-lab: $(INSTALLED) ## Measure speed on the lab, and write the table to var/bench
	$(BIN)/python lab/bench.py

docs: $(INSTALLED) ## Build the documentation into docs/_build
	$(BIN)/sphinx-build -W -q -b html docs docs/_build

clean: ## Remove what was built or installed, and the state of make run and make lab
	@test ! -e $(VAR)/lab/record.json || $(PYTHON) lab/lab.py wipe
	rm -rf $(VENV) .venv-newest $(VAR) docs/_build

$(RUNNABLE): constraints.txt $(PACKAGES:%=%/pyproject.toml)
	@$(NEW_ENOUGH)
	@echo "Installing into $(VENV), which takes about a minute the first time"
	@$(PYTHON) -m venv $(VENV) || { echo "Python's venv module is missing: on Debian, apt install python3-venv" >&2; exit 2; }
	@$(PIP) $(PACKAGES:%=-e ./%)
	@touch $@

$(INSTALLED): $(RUNNABLE) requirements-dev.txt
	@echo "Installing what the tests and checks need"
	@$(PIP) -r requirements-dev.txt
	@$(PYTEST) -q --collect-only >/dev/null || $(PYTEST) -q --collect-only
	@touch $@
