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
PYTEST := $(BIN)/python -m pytest
SERVICE := server nova-filter sandbox
PACKAGES := $(SERVICE) client
RUNNABLE := $(VENV)/.runnable
INSTALLED := $(VENV)/.installed
PIP := $(BIN)/pip install -q --disable-pip-version-check -c constraints.txt
NEW_ENOUGH := $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
  { echo "Blazar needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>&1): try make PYTHON=python3.12" >&2; exit 2; }
SOURCES := server/src client/src nova-filter/src sandbox/src

.DEFAULT_GOAL := help
.PHONY: help run test test-servers test-compat lab lab-status lab-down test-lab test-ha check format bench bench-lab docs clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

run: $(RUNNABLE) ## Run the service with a sandbox cloud on this machine (PORT=1234 CLOUD_PORT=5000 HOSTS=8 VAR=var)
	@exec $(BIN)/blazar-standalone --port $(PORT) --cloud-port $(CLOUD_PORT) --hosts $(HOSTS) --var $(VAR)

test: $(INSTALLED) ## Run the tests that need nothing but Python
	$(PYTEST) -n auto -m "not servers"

test-servers: $(INSTALLED) ## Run the tests that need PostgreSQL and MariaDB (see CONTRIBUTING.md)
	$(PYTEST) -n auto -m servers server/tests

test-compat: $(INSTALLED) ## Hold the client against client 4.6, Heat and Horizon, which come from the package index
	$(PYTEST) -n auto --dist loadfile client/compat

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
	HA_SECONDS=$(HA_SECONDS) $(PYTEST) -q ha

check: $(INSTALLED) ## Lint, types, layers and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(SOURCES)
	$(BIN)/lint-imports
	$(BIN)/codespell README.md CONTRIBUTING.md docs releasenotes $(SOURCES)

format: $(INSTALLED) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(INSTALLED) ## Measure speed, and write the tables to var/bench
	$(BIN)/python bench/run.py

bench-lab: $(INSTALLED) ## Measure speed on the lab, and write the table to var/bench
	$(BIN)/python lab/bench.py

docs: $(INSTALLED) ## Build the documentation into docs/_build
	$(BIN)/sphinx-build -W -q -b html docs docs/_build

clean: ## Remove what was built or installed, and the state of make run and make lab
	@test ! -e $(VAR)/lab/record.json || $(PYTHON) lab/lab.py wipe
	rm -rf $(VENV) $(VAR) docs/_build

$(RUNNABLE): constraints.txt $(SERVICE:%=%/pyproject.toml)
	@$(NEW_ENOUGH)
	@echo "Installing into $(VENV), which takes about a minute the first time"
	@$(PYTHON) -m venv $(VENV) || { echo "Python's venv module is missing: on Debian, apt install python3-venv" >&2; exit 2; }
	@$(PIP) $(SERVICE:%=-e ./%)
	@touch $@

$(INSTALLED): $(RUNNABLE) requirements-dev.txt $(PACKAGES:%=%/pyproject.toml)
	@echo "Installing what the tests and checks need"
	@$(PIP) -r requirements-dev.txt $(PACKAGES:%=-e ./%)
	@touch $@
