# All that a newcomer or a developer types. Needs Python 3.11 or later, and make.
#
#   make PYTHON=python3.12 test      another interpreter
#   make test PYTEST_ARGS='-k yaml'  a part of the suite
#   make bench BENCH_ARGS=--quick    fewer cases, fewer rounds
#   make notebooks NOTEBOOKS=2_notations

PYTHON ?= $(firstword $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python; done))
PYTEST_ARGS ?=
BENCH_ARGS ?=
NOTEBOOKS ?=

VENV := .venv
CANARY := .canary
LOWEST := .lowest
# The versions that the suite is run with. The canary takes the newest.
FRAMEWORKS := torch==2.13.0 jax==0.10.2 onnx==1.23.2 expecttest
SHARD ?= 1/1
ACCOUNT ?= nightly.json
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check
# -qq: errors only.
# A stamp says what the environment holds: what the library needs, or what its developers need too.
CORE := $(VENV)/.stamp-core
DEV := $(VENV)/.stamp-dev
STUBS := .typings/.stamp

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help dev frameworks demo test nightly lint types bench yaml stubs lives notebooks docs dist
.PHONY: canary lowest clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

dev: $(DEV) ## set up .venv for developers, and do nothing else

frameworks: $(DEV) ## install PyTorch, JAX and ONNX into .venv, in the versions that are tested
	@$(PIP_INSTALL) $(FRAMEWORKS)

demo: $(CORE) ## install into .venv and run the tour of the library
	@$(BIN)/linalg-ext demo

test: $(DEV) ## run the whole suite
	$(BIN)/python -m pytest -n auto --dist loadgroup $(PYTEST_ARGS)

nightly: $(DEV) ## run what takes too long for every change; SHARD=2/3 for a part of it
	PYTHONPATH=tests/support $(BIN)/python -m nightly --shard $(SHARD) --account $(ACCOUNT)

lint: $(DEV) ## check style, formatting and sentences
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	PYTHONPATH=tests/support $(BIN)/python -m sentences

types: $(STUBS) ## check types, strictly
	$(BIN)/mypy

bench: $(DEV) ## measure the library beside its peers, where they are installed
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

yaml: $(CORE) ## write the YAML of the op library again, beside its files
	@for file in linalg_ext/opdsl_defs/[a-z]*.py; do \
		$(BIN)/linalg-ext yaml --partial $$file -o $${file%.py}.yaml || exit 1; \
	done

stubs: $(DEV) ## write the stubs of ops, passes and steps for editors again
	$(BIN)/python -m docs.generator.stubs

lives: $(DEV) ## write the pages that follow an op through all passes again
	$(BIN)/python -m docs.generator.way_down

notebooks: $(DEV) ## execute the tutorials, and store what comes out
	$(BIN)/python -m notebooks $(NOTEBOOKS)

docs: $(DEV) ## build the documentation into site/, with warnings as errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

dist: $(DEV) ## build the wheel and the sdist into dist/
	rm -rf dist
	$(BIN)/python -m build

canary: ## run the suite with the newest torch-mlir, PyTorch, JAX and ONNX, whatever is allowed
	@$(MAKE) VENV=$(CANARY) dev
	$(CANARY)/bin/python -m pip install -qq --disable-pip-version-check --upgrade \
		torch-mlir torch jax onnx
	@LINALG_EXT_REQUIRE_ALL=1 $(MAKE) VENV=$(CANARY) test

lowest: $(DEV) ## run the suite with the oldest versions of what pyproject.toml allows
	@$(PIP_INSTALL) uv
	@$(BIN)/python -m venv $(LOWEST)
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --python $(BIN)/python pyproject.toml \
		--extra dask --extra jax --extra onnx --extra torch --output-file $(LOWEST)/versions.txt
	$(LOWEST)/bin/python -m pip install -qq --disable-pip-version-check \
		--constraint $(LOWEST)/versions.txt --editable '.[dev,jax,onnx,torch]' expecttest
	LINALG_EXT_REQUIRE_ALL=1 $(LOWEST)/bin/python -m pytest -n auto --dist loadgroup $(PYTEST_ARGS)

clean: ## remove everything that these targets made
	rm -rf $(VENV) $(CANARY) $(LOWEST) .typings .hypothesis .pytest_cache .mypy_cache .ruff_cache \
		build dist site demo-out *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n '$(PYTHON)' || { \
		echo 'No Python 3.11 or later found. Name one: make PYTHON=/path/to/python3.11' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
		echo '$(PYTHON) cannot make virtual environments; on Debian: apt install python3-venv' >&2; \
		exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(CORE): pyproject.toml | $(BIN)/python
	@echo 'Installing linalg_ext into $(VENV) (once; about 300 MB unpacked) ...'
	@$(PIP_INSTALL) --editable .
	@touch $@

$(DEV): pyproject.toml | $(BIN)/python
	@echo 'Installing linalg_ext and the tools of its developers into $(VENV) (once) ...'
	@$(PIP_INSTALL) --editable '.[dev]'
	@touch $(CORE) $@

$(STUBS): tests/typing/make_stubs.py $(DEV)
	@$(BIN)/python $< $(@D)
	@touch $@
