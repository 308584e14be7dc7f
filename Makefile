# Everything runs from a local virtual environment that needs only Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m warploom
ARGS ?=
CODE := $(wildcard src tests benchmarks examples docs/generate)

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-gpu gpu gpu-inputs check dist docs gallery lint golden bench bench-kernels fuzz mutants refusals clean

help: ## print this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | awk -F '\t' '{ printf "  make %-14s %s\n", $$1, $$2 }'

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# The stamps are as old as the last install: pip runs again only when the dependencies or the version may have changed.
$(VENV)/.run-installed: $(VENV)/.created pyproject.toml src/warploom/__init__.py
	$(BIN)/python -m pip install --quiet --editable '.[cuda]'
	@touch $@

$(VENV)/.dev-installed: $(VENV)/.created pyproject.toml src/warploom/__init__.py
	$(BIN)/python -m pip install --quiet --editable '.[cuda,dev]'
	@touch $@ $(VENV)/.run-installed

demo: $(VENV)/.run-installed ## complete, prove, compile and run the paper's 1-D convolution; writes demo/
	$(RUN) demo $(ARGS)

test: $(VENV)/.dev-installed ## install and run the default tests (no GPU, minutes on two cores)
	$(BIN)/python -m pytest -n auto $(ARGS)

test-slow: $(VENV)/.dev-installed ## the tests that take minutes
	$(BIN)/python -m pytest -m slow $(ARGS)

test-gpu: $(VENV)/.dev-installed ## the tests that need a CUDA device
	$(BIN)/python -m pytest -m gpu -rs $(ARGS)

gpu: ## on a GPU: what is right, then every benchmark, 8.5 minutes at a time; goes on where it stopped; needs no network
	@$(MAKE) --no-print-directory $(VENV)/.dev-installed || echo "the environment could not be made: $(PYTHON) is taken as it is" >&2
	@test -e $(VENV)/.dev-installed && set -- $(BIN)/python || set -- env PYTHONPATH=src $(PYTHON); "$$@" benchmarks/gpu/everything.py $(ARGS)

gpu-inputs: $(VENV)/.dev-installed ## compile all that `make gpu` needs, for machines without compilers; writes build/gpu-inputs.zip
	$(BIN)/python benchmarks/gpu/inputs.py $(ARGS)

check: $(VENV)/.dev-installed ## format, lint, types, import contracts and the documentation's links; changes nothing
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/pyright
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory docs

dist: $(VENV)/.dev-installed ## build sdist and wheel into dist/, twice, and compare them
	rm -rf dist build/again
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python -m hatchling build -d build/again
	for file in dist/*; do cmp $$file build/again/$$(basename $$file); done

docs: $(VENV)/.dev-installed ## build the documentation into build/site, strictly: a link that leads nowhere ends it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

lint: $(VENV)/.dev-installed ## format the code and repair what ruff can
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

gallery: $(VENV)/.dev-installed ## run the kernels of examples/gallery, compare what they print and draw
	$(BIN)/python -m pytest tests/test_examples.py -m 'slow or not slow' -k 'gallery or $(subst $() $(), or ,$(basename $(notdir $(filter-out %/shown.py,$(wildcard examples/gallery/*.py)))))' $(ARGS)

golden: $(VENV)/.dev-installed ## rewrite the golden files of the tests; read the diff before committing it
	$(BIN)/python -m pytest --update-golden $(ARGS)

bench: $(VENV)/.run-installed ## complete every benchmark case, each in a fresh process
	$(RUN) bench synth $(ARGS)

bench-kernels: $(VENV)/.run-installed ## every kernel beside its shared-memory baseline
	$(RUN) bench kernels $(ARGS)

FUZZ_JOURNAL ?= $(HOME)/.cache/warploom/fuzz-journal.jsonl
fuzz: $(VENV)/.dev-installed ## all fuzzers in full: PTX launches and differential runs, 500,000 changed inputs of all front ends; nightly, continued where it stopped
	mkdir -p $(dir $(FUZZ_JOURNAL))
	$(BIN)/python -m benchmarks.fuzz --launches 10000 --cuda 1000 --stencils 5000 --differential 10000 --deep 20000 --equivalences 20000 --mutations 1000000 --loop-meaning 10000 --loop-proofs 1000 --fronts 500000 --jobs 2 --journal $(FUZZ_JOURNAL) --out benchmarks/results/fuzz-$$(date +%F).jsonl $(ARGS)

mutants: $(VENV)/.dev-installed ## plant 320 bugs by rule and say which of them no test notices; nightly, continued where it stopped
	$(BIN)/python -m benchmarks.mutants --count 320 --seed 1 --out benchmarks/results/mutants.jsonl $(ARGS)

refusals: $(VENV)/.dev-installed ## switch every refusing branch off and say which of them no test needs; nightly, continued
	$(BIN)/python -m benchmarks.mutants --refusals --out benchmarks/results/refusals.jsonl $(ARGS)

clean: ## remove the virtual environment, caches and the demo's files
	rm -rf $(VENV) build dist demo .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
