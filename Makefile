# Each target makes .venv ready (at once, when nothing changed) and then calls the tool. Options:
#   ARGS      for the tool:  make lab ARGS="--no-browser --port 8890"
#   PIP_ARGS  for pip:       make lab PIP_ARGS="--extra-index-url ADDRESS"
#   EXTRAS    also install:  make test EXTRAS=peers
#   PYTHON    to start from: make lab PYTHON=python3.12

PYTHON ?= python3
SETUP = $(PYTHON) tools/setup_env.py
BIN = .venv/bin
PYTEST = $(BIN)/python -m pytest -n 2
UNITS = --ignore=tests/browser --ignore=tests/portable --ignore=tests/site
# JupyterLab does not start for root without this.
AS_ROOT = $(if $(filter 0,$(shell id -u)),--allow-root)

.PHONY: lab test test-all test-long test-browser notebooks exercises bench bake-off portable test-portable site \
	test-site test-matrix lint format
.NOTPARALLEL:

lab:
	$(SETUP) lab
	$(BIN)/jupyter lab --ip=127.0.0.1 $(AS_ROOT) --ServerApp.root_dir=. \
		--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb $(ARGS)

# Units, then every notebook run and compared with what is stored in it.
test:
	$(SETUP) lab test $(EXTRAS)
	$(PYTEST) --dist loadscope -m "not slow" $(UNITS)
	$(PYTEST) --dist loadscope -p tests.notebooks.nbval_png --nbval --nbval-current-env --nbval-cell-timeout=180 notebooks

test-all: test test-long test-browser test-portable test-site

# What `make test` leaves out: properties on many more examples, each notebook alone, twice over and in other
# surroundings, widgets in thousands of states, and runs that are killed.
test-long:
	$(SETUP) lab test $(EXTRAS)
	HYPOTHESIS_PROFILE=long $(PYTEST) --dist worksteal -m "slow or hypothesis" $(UNITS)

test-browser:
	$(SETUP) lab test
	$(BIN)/python -m pytest tests/browser

# Run the notebooks and store their outputs: all of them, or ARGS="notebooks/04_rope_rotation.ipynb".
notebooks:
	$(SETUP) lab test
	$(BIN)/python tools/store_notebooks.py $(ARGS)

# Make the exercises from the solutions, run and store both: all, or ARGS="notebooks/solutions/…_solutions.ipynb".
exercises:
	$(SETUP) lab test
	$(BIN)/python -m tools.make_exercises $(ARGS)

# Every table of benchmarks/; some have options: .venv/bin/python -m benchmarks.bench_lessons --help
bench:
	$(SETUP) lab test peers
	for name in $(basename $(notdir $(wildcard benchmarks/bench_*.py))); do \
		echo "== $$name"; $(BIN)/python -m benchmarks.$$name || exit 1; \
	done

# Train and measure what lessons 7 and 8 show; stopped and started again it goes on. ARGS="--dask ADDRESS" for a cluster.
bake-off:
	$(SETUP) lab test
	$(BIN)/python -m tools.bake_off $(ARGS)
	$(BIN)/python -m tools.context_extension $(ARGS)

# One file a notebook, with the library in it, in dist/portable/. REPO=OWNER/NAME: links to Colab, from there.
portable:
	$(SETUP) lab test
	$(BIN)/python -m tools.make_portable $(if $(REPO),--repo $(REPO))

# Run these files in an environment with what Colab has.
test-portable: portable
	$(BIN)/python -m tests.portable.colab_environment
	$(BIN)/python -m pytest -n 2 tests/portable

# Every lesson as a page that needs no kernel, in dist/site/. ARGS=--solutions: the solutions too.
site:
	$(SETUP) lab test
	$(BIN)/python -m tools.make_site $(ARGS)

# Open these pages in Chromium, from the folder and from a server.
test-site: site
	$(PYTEST) --dist loadscope tests/site

# The suite of `make test` with the lowest versions that pyproject.toml admits, then with the newest of everything; one
# of them: ARGS="--only lowest".
test-matrix:
	$(SETUP) lab test
	$(BIN)/python -m tools.test_matrix --extras "$(EXTRAS)" $(ARGS)

lint:
	$(SETUP) lab test
	$(BIN)/ruff check . && $(BIN)/ruff format --check . || { echo "make format mends most of this"; exit 1; }
	$(BIN)/lint-imports --no-logo --no-cache

format:
	$(SETUP) lab test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
