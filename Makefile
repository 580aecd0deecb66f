# Two commands do everything on a machine that has Python (3.11 or newer), Node and make:
#   make demo    record an incident, verify it in every language found, catch a regression
#   make test    the core tests (under 15 minutes on two cores)
# They make .venv by themselves, from uv.lock.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test lint types test-kills test-interpreters test-languages bench bench-check protocol docs clean check

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
RUN := $(VENV)/bin
NODE_MODULES := clients/node/node_modules
PYTEST_ARGS ?=

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 20

$(VENV)/.ready: pyproject.toml uv.lock
	@test -n "$(PYTHON)" || { echo "playhead needs Python 3.11 or newer" >&2; exit 2; }
	@test -x $(RUN)/python || $(PYTHON) -m venv $(VENV)
	@$(RUN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.5"
	@$(RUN)/uv sync --quiet --frozen --python $(RUN)/python
	@touch $@

demo: $(VENV)/.ready ## Record an incident, verify it in every language found, catch a regression
	@$(RUN)/playhead demo
	@$(RUN)/python tools/port_check.py

$(NODE_MODULES)/.ready: clients/node/package-lock.json
	@cd clients/node && npm ci --silent --no-audit --no-fund
	@touch $@

test: $(VENV)/.ready $(NODE_MODULES)/.ready lint types ## The core tests, and what must be clean before them
	$(RUN)/python -m pytest -n 2 --dist loadfile $(PYTEST_ARGS)
	cd clients/node && node --test --test-timeout=120000 test/*.test.mjs

lint: $(VENV)/.ready
	$(RUN)/ruff check .

types: $(VENV)/.ready $(NODE_MODULES)/.ready
	cd clients/node && node_modules/.bin/tsc --noEmit -p test/typescript
	$(RUN)/mypy
	cd clients/python && ../../$(RUN)/mypy --strict playhead_client

test-kills: $(VENV)/.ready ## Two web services under load, killed at 50 random moments each
	PLAYHEAD_KILLS=50 $(RUN)/python -m pytest -n 2 tests/services/test_kills.py

test-interpreters: $(VENV)/.ready $(NODE_MODULES)/.ready ## The core tests on every other Python found (3.11 and newer; the client from 3.9)
	$(RUN)/python tools/interpreters.py

test-languages: $(VENV)/.ready ## Every client library: its own tests, and the protocol's conversations
	$(RUN)/python tools/languages.py

bench-check: $(VENV)/.ready $(NODE_MODULES)/.ready ## Hold the ratios that are safe on a noisy machine
	$(RUN)/python -m bench --check

bench: $(VENV)/.ready $(NODE_MODULES)/.ready ## Measure, beside the peers; writes docs/benchmarks
	$(RUN)/python -m bench

protocol: $(VENV)/.ready ## Generate protocol/openrpc.json
	$(RUN)/python tools/openrpc.py

docs: $(VENV)/.ready ## Generate docs/reference and build docs/site
	$(RUN)/python tools/docs.py

check: test test-kills test-interpreters ## Everything that is quick enough to run before a commit

clean:
	rm -rf $(VENV) .venv-* demo dist build docs/site .pytest_cache .mypy_cache .ruff_cache
