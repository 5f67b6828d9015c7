# Two commands matter: `make run` and `make test`. Both install by themselves when the lock file has changed.
VENV := .venv
PYTHON := $(VENV)/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Dozens of processes start in a run of the tests: what one has compiled the next need not.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install install-dev run test test-services lint validate bench bench-bills bench-peers schema long chaos lock clean

help:
	@echo "make install    .venv with the locked packages"
	@echo "make run        serve on 127.0.0.1:8000 (AFORO_PORT) with a worker; Ctrl-C stops"
	@echo "make test       the tests, in under five minutes"
	@echo "make test-services   those on real PostgreSQL and Redis"
	@echo "make lint       style, types, import contracts, missing migrations"
	@echo "make validate   the accuracy table against published measurements"
	@echo "make bench      how fast the service itself is"
	@echo "make bench-bills   five bill tools on the same usages, in an environment of their own (docs/bill-tools.md)"
	@echo "make bench-peers   other planners on published measurements, in an environment of their own (docs/benchmarks.md)"
	@echo "make chaos      the fault campaign: 100 reports while everything breaks (own PostgreSQL and Redis)"
	@echo "make schema     docs/openapi.yaml anew"
	@echo "make long       tests too slow for CI"
	@echo "make lock       requirements/*.txt anew from pyproject.toml"

install:
	@./.ci/install base

install-dev:
	@./.ci/install dev

run: install
	@exec $(PYTHON) -m config.supervisor

test: install-dev
	@$(PYTHON) -m pytest -n 2 --dist loadgroup -m "not long and not bench and not services and not browser" $(ARGS)

test-services: install-dev
	@./.ci/test-services $(ARGS)

lint: install-dev
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports
	@$(PYTHON) manage.py makemigrations --check --dry-run

validate: install
	@$(PYTHON) manage.py validate

bench: install-dev
	@$(PYTHON) -m pytest -m bench -s tests $(ARGS)

BILL_TOOLS := var/bench-bills
bench-bills: install-dev
	@mkdir -p var && $(PYTHON) -m venv $(BILL_TOOLS)
	@$(BILL_TOOLS)/bin/python -m pip install --quiet --no-input -r tests/bench/bills/requirements.txt
	@$(PYTHON) -m tests.bench.bills $(BILL_TOOLS)/bin/python $(ARGS)

PEERS := var/bench-peers
bench-peers: install-dev
	@mkdir -p var && $(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --no-input -r tests/bench/peers/requirements.txt
	@$(PYTHON) -m tests.bench.peers $(PEERS)/bin/python $(ARGS)

schema: install-dev
	@$(PYTHON) manage.py spectacular --validate --fail-on-warn --file docs/openapi.yaml

long: install-dev
	@$(PYTHON) -m pytest -m long tests $(ARGS)

chaos: install-dev
	@$(PYTHON) -m tests.chaos.campaign --stack services --reports 100 $(ARGS)
	@$(PYTHON) -m tests.chaos.campaign --stack embedded --reports 100 $(ARGS)

lock: install-dev
	@$(VENV)/bin/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header -o requirements/base.txt -q
	@$(VENV)/bin/uv pip compile pyproject.toml --extra s3 --universal --python-version 3.11 --generate-hashes --no-header -o requirements/image.txt -q
	@$(VENV)/bin/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-header -o requirements/dev.txt -q

clean:
	rm -rf $(VENV)
