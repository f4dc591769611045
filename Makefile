# `make demo` and `make test` need Python >= 3.11 and nothing else; uv is used if it is installed. `make help` lists all targets.
PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
EXTRAS ?= dev,study
# Which slow tests run; continuous integration leaves the long ones out.
SLOW ?= slow
# Processes of the fast tests; the slow ones use one.
TEST_PROCESSES ?= 2
# Size of the demo that tries a wheel.
DEMO_TIME ?= 10s
DEMO_ROWS ?= 100000
BIN := $(VENV)/bin
ifneq ($(shell command -v uv 2>/dev/null),)
MAKE_VENV := uv venv --quiet --allow-existing --python $(PYTHON) $(VENV)
INSTALL := uv pip install --quiet --python $(BIN)/python -c $(CONSTRAINTS)
else
MAKE_VENV := $(PYTHON) -m venv $(VENV)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS)
endif

.PHONY: help demo test test-slow test-oldest test-newest check format bench bench-accuracy page docs site doc-tests recipes run-recipes dist clean

demo: $(VENV)/core  ## train on a simulated pump for 20 seconds, with live progress
	$(BIN)/fitwithin demo

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | while IFS='|' read -r name text; do printf '%-16s %s\n' "$$name" "$$text"; done

# One thread a process: on busy cores the threads of boosters wait for each other. Bytecode is stored: tests start
# hundreds of interpreters, and each would compile the package again.
test test-slow: export PYTHONDONTWRITEBYTECODE :=
test: $(VENV)/dev  ## run the fast tests and the docstring examples: three and a half minutes on two cores
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" -n $(TEST_PROCESSES) --dist loadfile

# Those that measure the real clock run one after another.
test-slow: $(VENV)/dev  ## run the tests that need the real clock, real processes or minutes
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "$(SLOW) and clockless" -n $(TEST_PROCESSES) --dist load --durations=15
	$(BIN)/python -m pytest -m "$(SLOW) and not clockless" --durations=15

# pgmpy, for the study, has no version as old as the others.
test-oldest:  ## run all tests with the oldest supported versions
	$(MAKE) test test-slow VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt EXTRAS=dev

test-newest:  ## run all tests with the newest versions
	$(MAKE) test test-slow VENV=.venv-newest CONSTRAINTS=/dev/null

check: $(VENV)/dev  ## run ruff, mypy and import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/dev  ## apply ruff's fixes and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/dev  ## run the benchmarks: 30 minutes, alone on the machine
	$(BIN)/python benchmarks/deadline.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/frames.py
	$(BIN)/python benchmarks/first_lesson.py
	$(BIN)/python benchmarks/openmp.py
	$(BIN)/python benchmarks/covtype.py

# It looks for data sets in FITWITHIN_DATA.
bench-accuracy: $(VENV)/dev  ## run the short version of the accuracy benchmark: ten minutes
	$(BIN)/python benchmarks/accuracy.py --short

# After a run whose results are to be committed.
page: $(VENV)/dev  ## write the tables of docs/benchmarks.md from benchmarks/results
	$(BIN)/python benchmarks/page.py

docs: site doc-tests  ## build the site and run the examples of the pages

# No network is needed; warnings are errors.
site: $(VENV)/docs  ## build the site into docs/_build/html and run the gallery
	$(BIN)/python -m sphinx -b html -n -W --keep-going -q docs docs/_build/html

doc-tests: $(VENV)/dev  ## run every code block of README.md and docs
	$(BIN)/python -m pytest docs README.md tests/docs/test_docs.py

# Libraries that nothing else needs, with warnings of their own.
recipes:  ## run docs/recipes with MLflow, Optuna, ONNX and SHAP, in an environment of their own: three minutes
	$(MAKE) run-recipes VENV=.venv-recipes CONSTRAINTS=constraints-recipes.txt EXTRAS=recipes

run-recipes: $(VENV)/dev
	$(BIN)/python -m pytest -W default docs/recipes

# The demo runs in an environment and a folder of its own, where nothing but the wheel can be found.
dist: $(VENV)/dist  ## build wheel and source archive, check them, install the wheel elsewhere and run the demo there
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && $(BIN)/python -m venv "$$folder/venv" \
		&& "$$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) dist/*.whl \
		&& cd "$$folder" && env -u PYTHONPATH venv/bin/fitwithin demo --time-limit $(DEMO_TIME) --rows $(DEMO_ROWS)

clean:  ## remove the environment, caches and built pages
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

$(VENV)/dist: $(VENV)/core
	$(INSTALL) -e '.[dist]'
	@touch $@

$(VENV)/docs: $(VENV)/core
	$(INSTALL) -e '.[docs]'
	@touch $@
