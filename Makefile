# Everything a person or CI runs. Each target sets up what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DATA ?= ../shared/data

.PHONY: demo test check docs evaluate bench lock clean

# The demo crawl is made on the spot, scanned, and its clusters are printed.
demo: $(STAMP)
	$(BIN)/samehand demo build/demo
	$(BIN)/samehand scan build/demo/crawl.warc.gz -o build/demo/run

test: check
	$(BIN)/python -m pytest

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Writes the outputs shown in the docs anew.
docs: $(STAMP)
	$(BIN)/python tests/shown.py

# The papers' experiments and ours on real corpora, with floors that may not fall. Long.
evaluate: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python -m evaluation.style --data $(DATA)
	$(BIN)/python -m evaluation.replica --data $(DATA)

# Speed, as ratios against peers measured in the same run. Long.
bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python -m benchmarks.style
	$(BIN)/python -m benchmarks.markup

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

# Writes constraints.txt anew from the newest versions the bounds in pyproject.toml allow.
lock:
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check '.[dev,bench]'
	build/lock/bin/python -m pip freeze --exclude samehand | grep '==' > constraints.txt

clean:
	rm -rf $(VENV) build dist
