# The two commands that set everything up, and the others. Works on a fresh Debian with Python >= 3.11.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
# Root may install Debian packages; others are told what is missing.
SETUP := scripts/setup.sh
LINT = $(RUN)/ruff check . && $(RUN)/ruff format --check . && $(RUN)/mypy

.PHONY: demo check test slow bench bench-all docs pages pictures screenshots format requirements clean

demo: $(VENV)/.run
	$(SETUP) engine
	$(RUN)/milepost demo --output demo-output

# While you work: lint, types and the fast tests.
check: $(VENV)/.dev
	$(LINT)
	$(RUN)/pytest -n 2 --dist loadfile -q -m "not slow and not engine and not cluster"

# Everything: what CI runs.
test: $(VENV)/.dev
	$(SETUP) engine
	$(SETUP) browser
	$(SETUP) clients
	$(LINT)
	$(RUN)/pytest -n 2 --dist loadfile --durations 10

# Measure which tests are slow, and write the list that make check leaves out.
slow: $(VENV)/.dev
	rm -rf build/times && mkdir -p build/times
	$(RUN)/pytest -n 2 --dist loadfile -q --times=build/times
	$(RUN)/python scripts/write_slow.py build/times

# All goals in one run of about ten minutes, and one table of them in docs/benchmarks.md. Nothing else should run.
bench: $(VENV)/.dev
	$(RUN)/python benchmarks/run.py

# Every benchmark with all its parts; takes an hour and an engine.
bench-all: $(VENV)/.dev
	@for script in benchmarks/bench_*.py; do echo "== $$script"; $(RUN)/python "$$script" || exit 1; done

# The documentation as a site: build/docs/index.html. Nothing is fetched when it is read.
docs: pages
	$(RUN)/sphinx-build -q -W --keep-going -b html -d build/doctrees docs build/docs
	@echo "open build/docs/index.html"

# The pages that are made from the code: docs/cli.md, docs/tables.md.
pages: $(VENV)/.dev
	$(RUN)/python scripts/write_docs.py

# The two charts of the README, of the simulated sample and of the figures that come along.
pictures: $(VENV)/.dev
	$(RUN)/python scripts/make_pictures.py docs/images

# Pictures of the workbench for the README, of the simulated sample.
screenshots: $(VENV)/.dev
	$(SETUP) engine
	$(SETUP) browser
	$(RUN)/python scripts/make_screenshots.py docs

format: $(VENV)/.dev
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .

# Pins for what we test with; versions only, no addresses.
requirements:
	uv pip compile -q --no-header --no-annotate --no-emit-index-url --upgrade --extra pdf --extra web pyproject.toml -o requirements/run.txt
	uv pip compile -q --no-header --no-annotate --no-emit-index-url --upgrade --extra pdf --extra web --extra test --extra docs pyproject.toml -o requirements/dev.txt

$(VENV)/.run: pyproject.toml requirements/run.txt
	PYTHON=$(PYTHON) $(SETUP) python requirements/run.txt
	@touch $@

$(VENV)/.dev: pyproject.toml requirements/dev.txt
	PYTHON=$(PYTHON) $(SETUP) python requirements/dev.txt
	@touch $@ $(VENV)/.run

clean:
	rm -rf $(VENV) demo-output .mypy_cache .ruff_cache .pytest_cache .hypothesis
