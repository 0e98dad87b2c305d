# Two commands for a fresh clone: `make solve` and `make test`.
PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
PROBLEM ?= laplace-2d
ARGS    ?=

.DEFAULT_GOAL := help
.PHONY: help solve test test-long check browser docs format bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 10

solve: $(VENV)/.run  ## solve a problem to a tolerance: make solve PROBLEM=heat ARGS="--tol 1e-9"
	@$(BIN)/anagram solve $(PROBLEM) $(ARGS)

# What rounding may upset is tested a second time as on an old processor, which rounds otherwise.
OLD_PROCESSOR := XLA_FLAGS="--xla_cpu_max_isa=SSE4_2" OPENBLAS_CORETYPE=Prescott ANAGRAM_CACHE=$(or $(TMPDIR),/tmp)/anagram-tests-old-$(shell id -u)

test: check browser  ## formatting, lint, types and all tests
	$(BIN)/pytest
ifeq ($(shell uname -m),x86_64)
	$(OLD_PROCESSOR) $(BIN)/pytest -m rounding
endif

test-long: check browser  ## all tests, long ones too, with twenty times as many damaged files, as on an old processor, as users compile
	ANAGRAM_FUZZ=20 ANAGRAM_LONG=1 $(BIN)/pytest
	$(OLD_PROCESSOR) $(BIN)/pytest
	ANAGRAM_TESTS_AS_USERS=1 $(BIN)/pytest

check: $(VENV)/.dev  ## formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright

browser: $(VENV)/.dev  ## the browser that tests of pages need, fetched once into .venv
	@$(BIN)/python tests/showing/report/chromium.py

docs: $(VENV)/.docs  ## the site, written to site/; a wrong link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "site/index.html  (open it in a browser)"

format: $(VENV)/.dev  ## format the code and mend what lint can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.run  ## what a step costs, and what a user waits for
	$(BIN)/python bench/step_cost.py

clean:  ## remove the environment and caches
	rm -rf $(VENV) site .pytest_cache .ruff_cache

# The files .venv/.run and .venv/.dev say what is installed; they are older than what they depend on
# exactly when something must be installed again.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "anagram needs Python 3.11 or newer; say which: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@ $(VENV)/.run

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	@touch $@ $(VENV)/.run
