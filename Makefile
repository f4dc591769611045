# `make demo` and `make test` need Python >= 3.11 and nothing else; uv is used where it is there.
PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
EXTRAS ?= dev,study
BIN := $(VENV)/bin
ifneq ($(shell command -v uv 2>/dev/null),)
MAKE_VENV := uv venv --quiet --allow-existing --python $(PYTHON) $(VENV)
INSTALL := uv pip install --quiet --python $(BIN)/python -c $(CONSTRAINTS)
else
MAKE_VENV := $(PYTHON) -m venv $(VENV)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS)
endif

.PHONY: demo test test-oldest test-newest check format bench bench-accuracy docs site doc-tests clean

demo: $(VENV)/core
	$(BIN)/fitwithin demo

test: $(VENV)/dev
	$(BIN)/python -m pytest

# The oldest and the newest versions that are supported; pgmpy, for the study, has no version as old as the others.
test-oldest:
	$(MAKE) test VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt EXTRAS=dev

test-newest:
	$(MAKE) test VENV=.venv-newest CONSTRAINTS=/dev/null

check: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/dev
	$(BIN)/python benchmarks/deadline.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/frames.py
	$(BIN)/python benchmarks/openmp.py
	$(BIN)/python benchmarks/covtype.py

# The short version, ten minutes; it looks for data sets in FITWITHIN_DATA.
bench-accuracy: $(VENV)/dev
	$(BIN)/python benchmarks/accuracy.py --short

docs: site doc-tests

# Into docs/_build/html, without a network; warnings are errors. It runs the examples of the gallery.
site: $(VENV)/docs
	$(BIN)/python -m sphinx -b html -n -W --keep-going -q docs docs/_build/html

# Every code block of the pages.
doc-tests: $(VENV)/dev
	$(BIN)/python -m pytest docs README.md tests/docs/test_docs.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache \
		docs/_build docs/gallery docs/reference/generated docs/reference/command-line.md docs/sg_execution_times.rst

$(VENV)/core: pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fitwithin needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ...")'
	$(MAKE_VENV)
	$(INSTALL) -e .
	@touch $@

$(VENV)/dev: $(VENV)/core
	$(INSTALL) -e '.[$(EXTRAS)]'
	@touch $@

$(VENV)/docs: $(VENV)/core
	$(INSTALL) -e '.[docs]'
	@touch $@
