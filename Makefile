# SluiceMQ. `make help` lists what there is; everything sets itself up on first use.
VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?=
# Processes that run the tests: one takes those on a whole stack, which mostly wait, and another the others
# (tests/sharing.py), for which two cores do. 0: no process beside pytest's own, to see output as it comes.
WORKERS ?= 2
INSTALLED := $(VENV)/.installed
JARS := $(VENV)/.jars
.DEFAULT_GOAL := help
.PHONY: help venv check audit format test conformance screenshots demo bench chaos up cluster notebooks clean

help: ## List what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(INSTALLED) $(JARS) ## Set up .venv, the Python packages and the Kafka jars

check: $(INSTALLED) ## Format, lint, types, layers, holes: what CI checks before the tests
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --ini setup.cfg --quiet --recursive
	$(BIN)/python -m pip check
	$(BIN)/python -m pytest --quiet tests/house

audit: $(INSTALLED) ## Ask a service on the network for known holes in what is installed
	$(BIN)/pip-audit --local --skip-editable --progress-spinner off

format: $(INSTALLED) ## Format the code and repair what the linter can
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

test: $(INSTALLED) $(JARS) ## Run all tests, also those on a real Kafka, Spark and MQTT clients
	$(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)

conformance: $(INSTALLED) ## Write docs/conformance.md: each statement of MQTT and the tests that show it
	$(BIN)/python -m pytest tests/conformance --write-conformance

screenshots: $(INSTALLED) ## Take the pictures of the web console that docs/console.md shows
	$(BIN)/python -m pytest tests/admin/console/test_pictures.py --write-screenshots docs/console

demo: $(INSTALLED) $(JARS) ## Replay a real data set through two gateways and check every delivery
	@$(BIN)/sluicemq demo

bench: $(INSTALLED) $(JARS) ## Measure, each figure beside its peer: table, JSON and plots
	$(BIN)/python -m bench $(BENCH_ARGS)

chaos: $(INSTALLED) $(JARS) ## Kill and stop parts at random under traffic, and look for every message
	$(BIN)/python -m bench.chaos $(CHAOS_ARGS)

up: $(INSTALLED) $(JARS) ## Keep a whole stack running on ./data (Ctrl-C stops it)
	@$(BIN)/sluicemq up --data data

cluster: $(INSTALLED) $(JARS) ## The same with the router and the sink on a Spark cluster: a master and two workers
	@$(BIN)/sluicemq up --data data-cluster --spark-workers 2

notebooks: $(INSTALLED) $(JARS) ## Open the notebooks in Jupyter, on a stack of their own (data-notebooks)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[notebooks]'
	@$(BIN)/sluicemq notebooks

clean: ## Remove what the targets above made; the shared cache of jars stays
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A Python that is new enough, tried by name; PYTHON=... names another. Java is checked before anything is downloaded.
$(BIN)/python:
	@found=; for python in "$(PYTHON)" python3.13 python3.12 python3.11 python3 python; do \
	  if [ -n "$$python" ] && "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	  then found="$$python"; break; fi; done; \
	if [ -z "$$found" ]; then echo "There is no Python 3.11 or newer on PATH: install one (Debian: apt-get install python3 python3-venv), or name it with make PYTHON=/path/to/python." >&2; exit 1; fi; \
	"$$found" -m admin.stack.java || exit 1; \
	"$$found" -m venv $(VENV) || { rm -rf $(VENV); echo "This Python cannot make a virtual environment: install its venv module (Debian: apt-get install python3-venv)." >&2; exit 1; }

$(INSTALLED): setup.cfg pyproject.toml | $(BIN)/python
	@for try in 1 2 3; do \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' && exit 0; done; \
	echo "The Python packages could not be installed: check the network or proxy, then try again." >&2; exit 1
	@touch $@

$(JARS): admin/stack/ivy.xml | $(INSTALLED)
	@$(BIN)/python -m admin.stack.jars
	@$(BIN)/python -m admin.stack.class_archives
	@touch $@
