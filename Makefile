# The two commands that set everything up, and the others. Works on a fresh Debian with Python >= 3.11.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
# Root may install Debian packages; others are told what is missing.
SETUP := scripts/setup.sh

.PHONY: demo test bench lint types format requirements clean

demo: $(VENV)/.run
	$(SETUP) engine
	$(RUN)/milepost demo --output demo-output

test: $(VENV)/.dev
	$(SETUP) engine
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy
	$(RUN)/pytest -n 2 --dist loadfile

bench: $(VENV)/.dev
	@for script in benchmarks/bench_*.py; do echo "== $$script"; $(RUN)/python "$$script" || exit 1; done

format: $(VENV)/.dev
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .

# Pins for what we test with; versions only, no addresses.
requirements:
	uv pip compile -q --no-header --no-annotate --no-emit-index-url --upgrade pyproject.toml -o requirements/run.txt
	uv pip compile -q --no-header --no-annotate --no-emit-index-url --upgrade --extra test pyproject.toml -o requirements/dev.txt

$(VENV)/.run: pyproject.toml requirements/run.txt
	PYTHON=$(PYTHON) $(SETUP) python requirements/run.txt
	@touch $@

$(VENV)/.dev: pyproject.toml requirements/dev.txt
	PYTHON=$(PYTHON) $(SETUP) python requirements/dev.txt
	@touch $@ $(VENV)/.run

clean:
	rm -rf $(VENV) demo-output .mypy_cache .ruff_cache .pytest_cache .hypothesis

.PHONY: docs
docs: $(VENV)/.dev
	$(RUN)/python scripts/write_docs.py
