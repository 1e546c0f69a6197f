# Everything here needs Python 3.11 or later and make; `make e2e` also needs Node.js 20 or later.
# `make PYTHON=/path/to/python3.12 test` chooses the interpreter.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory --no-builtin-rules

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

VENV := .venv
LOWEST := .venv-lowest
PYTEST_ARGS ?=
E2E_TESTS := $(wildcard tests/e2e/test_*.py)
TYPED := $(wildcard agui_bridge adapters tests examples)

# A version manager may offer a name that it then cannot run, so each candidate is asked.
find_python = for python in $(or $(PYTHON),python3.13 python3.12 python3.11 python3 python); do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
	python=; \
	done; \
	if [ -z "$$python" ]; then \
	echo 'agui-bridge needs Python 3.11 or later, and none was found$(if $(PYTHON), under PYTHON=$(PYTHON)).' >&2; \
	echo 'Install one, or name it: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)' >&2; \
	exit 1; \
	fi

.PHONY: help demo test lint format coverage e2e lowest clean

help: ## List what can be made
	@echo 'agui-bridge: make TARGET'
	@sed -nE 's/^([a-z0-9]+):.*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

demo: $(VENV)/.installed ## Run the demo (needs no model and no key)
	@$(VENV)/bin/python -m examples.demo

test: $(VENV)/.installed-dev ## Run the tests, without the end-to-end ones (PYTEST_ARGS='-k name')
	@$(VENV)/bin/python -m pytest --ignore=tests/e2e $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev ## Check style, formatting and types
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --quiet --check .
	@$(VENV)/bin/mypy --no-error-summary $(TYPED)
	@echo 'lint: no complaints'

format: $(VENV)/.installed-dev ## Format the code and sort the imports
	@$(VENV)/bin/ruff check --quiet --fix-only .
	@$(VENV)/bin/ruff format --quiet .

coverage: $(VENV)/.installed-dev ## Run the tests and report the branches that none of them takes
	@$(VENV)/bin/python -m pytest --ignore=tests/e2e --cov --cov-report=term $(PYTEST_ARGS)

ifeq ($(E2E_TESTS),)
e2e:
	@echo 'e2e: no end-to-end tests yet'
else
e2e: $(VENV)/.installed-dev ## Run real clients (Node.js) against a real server
	@if command -v npm >/dev/null; then \
		$(MAKE) tests/e2e/node_modules/.installed; \
		$(VENV)/bin/python -m pytest tests/e2e $(PYTEST_ARGS); \
	elif [ -n "$${CI:-}" ]; then \
		echo 'e2e: failed: npm is not installed, and CI must run these tests' >&2; exit 1; \
	else \
		echo 'e2e: skipped: npm is not installed (get Node.js 20 or later to run these tests)'; \
	fi
endif

lowest: $(LOWEST)/.installed-dev ## Run the quick tests with the oldest dependencies allowed
	@$(LOWEST)/bin/python -m pytest --ignore=tests/e2e -m 'not slow' -W default $(PYTEST_ARGS)

clean: ## Remove the environments, caches and builds
	@rm -rf $(VENV) $(LOWEST) build dist htmlcov .coverage .coverage.* \
		.hypothesis .mypy_cache .pytest_cache .ruff_cache tests/e2e/node_modules
	@find agui_bridge adapters tests examples benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# The environments. A stamp is written last, so that an install that was broken off starts over.

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(find_python); echo "Setting up $(VENV) with $$($$python --version)"; \
	[ -x $(VENV)/bin/python ] || { rm -rf $(VENV); "$$python" -m venv $(VENV); }
	@$(VENV)/bin/python -m pip install -qq -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo 'Installing what the tests and checks need'
	@$(VENV)/bin/python -m pip install -qq -c constraints.txt pip
	@$(VENV)/bin/python -m pip install -qq -c constraints.txt -e '.[all]' --group dev
	@touch $@

$(LOWEST)/.installed-dev: pyproject.toml constraints-lowest.txt
	@$(find_python); echo "Setting up $(LOWEST) with $$($$python --version) and the oldest dependencies"; \
	rm -rf $(LOWEST); "$$python" -m venv $(LOWEST)
	@$(LOWEST)/bin/python -m pip install -qq -c constraints-lowest.txt pip
	@$(LOWEST)/bin/python -m pip install -qq -c constraints-lowest.txt -e '.[all]' --group test
	@touch $@

tests/e2e/node_modules/.installed: tests/e2e/package.json tests/e2e/package-lock.json
	@echo 'Installing the clients that the end-to-end tests drive'
	@npm ci --prefix tests/e2e --silent
	@touch $@
