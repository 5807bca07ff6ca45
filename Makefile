# make demo   solve a real scenario and show the result
# make test   everything that must hold: lint, types, import contract, tests
# make lint   the same without the tests
# make test-services  the tests that need a PostgreSQL server; starts one of its own, or REBALANCER_TEST_POSTGRES=URL
# make format ruff's fixes and formatting
# make generate  what is generated from the code: tables in the docs, the schema
# make clean  remove the environment and everything generated
#
# PYTHON=…    which interpreter makes the environment (3.11 or newer; found by itself otherwise)
# JOBS=…      how many tests run at once

VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
DEMO := scenarios/google-a1-5/scenario.yaml
DEMO_TIME ?= 20s

# The first interpreter that is new enough and can make an environment.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	"$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$python"; break; }; \
	done)

.PHONY: demo test test-services lint format generate clean

demo: $(VENV)/installed
	$(BIN)/rebalance solve $(DEMO) --time-limit $(DEMO_TIME) -o build/demo
	@echo
	@echo "Written to build/demo: result.json, assignment.csv, moves.csv. The scenario: $(dir $(DEMO))README.md"

test: lint
	$(BIN)/pytest -n $(JOBS) --dist worksteal

test-services: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,postgres]'
	$(BIN)/python tests/services/run.py

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generate: $(VENV)/installed-dev
	$(BIN)/python docs/generate.py

# The stamps are newer than pyproject.toml when the environment has what it asks for; dev includes the rest.
$(VENV)/installed: pyproject.toml
	$(call environment)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/installed-dev: pyproject.toml
	$(call environment)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/installed

define environment
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer with the venv module was found; set PYTHON=/path/to/python" >&2; exit 1; }
	@test -x $(BIN)/python || { echo "Making $(VENV) with $$($(PYTHON) --version)"; $(PYTHON) -m venv $(VENV); }
endef

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find rebalancer tests -name __pycache__ -type d -prune -exec rm -rf {} +
