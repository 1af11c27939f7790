# Everything a person or CI runs. Each target sets up what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-dev
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
DATA ?= ../shared/data

.PHONY: demo test check docs evaluate bench fuzz faults screenshots wheel lock clean

# The demo crawl is copied out of the package, scanned, and its clusters are printed.
demo: $(STAMP)
	$(BIN)/samehand demo build/demo
	$(BIN)/samehand scan build/demo/crawl.warc.gz -o build/demo/run

test: check
	$(BIN)/python -m pytest

check: $(TEST_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Writes the outputs shown in the docs anew.
docs: $(TEST_STAMP)
	$(BIN)/python tests/shown.py
	$(BIN)/python tests/api_page.py

# The papers' experiments and ours on real corpora, with floors that may not fall. Long.
evaluate: $(TEST_STAMP)
	$(INSTALL) --editable '.[bench]'
	$(BIN)/python -m evaluation.reading --data $(DATA)
	$(BIN)/python -m evaluation.style --data $(DATA)
	$(BIN)/python -m evaluation.style_homepages --data $(DATA)
	$(BIN)/python -m evaluation.figures --data $(DATA)
	$(BIN)/python -m evaluation.evasion --data $(DATA)
	$(BIN)/python -m evaluation.replica --data $(DATA)
	$(BIN)/python -m evaluation.evasion_replica --data $(DATA)
	$(BIN)/python -m evaluation.sites --data $(DATA)
	$(BIN)/python -m evaluation.language --data $(DATA)
	$(BIN)/python -m evaluation.phrases --data $(DATA)
	$(BIN)/python -m evaluation.verdicts --data $(DATA)

# Speed, as ratios against peers measured in the same run. Long.
bench: $(TEST_STAMP)
	$(INSTALL) --editable '.[bench]'
	$(BIN)/python -m benchmarks.reading --data $(DATA)
	$(BIN)/python -m benchmarks.start
	$(BIN)/python -m benchmarks.style --data $(DATA)
	$(BIN)/python -m benchmarks.markup
	$(BIN)/python -m benchmarks.language
	$(BIN)/python -m benchmarks.structure
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.replicas
	$(BIN)/python -m benchmarks.review

# Hostile bytes for every parser, two minutes each, and damage to every file that steers samehand. Long.
fuzz: $(TEST_STAMP)
	cd tests && ../$(BIN)/python -m fuzz
	$(INSTALL) atheris || echo "atheris cannot be installed here: no fuzzing guided by coverage."
	cd tests && ../$(BIN)/python -c 'import atheris' && ../$(BIN)/python -m fuzz.guided
	cd tests && ../$(BIN)/python -m fuzz.steering
	cd tests && ../$(BIN)/python -m fuzz.shapes

# Commands killed, interrupted and starved at random moments, then run again to the same bytes. Long.
faults: $(TEST_STAMP)
	cd tests && ../$(BIN)/python -m fuzz.faults

# The pictures in README and docs: the demo, its report and its review, in Chromium.
screenshots: $(TEST_STAMP)
	$(BIN)/python -m tools.screenshots docs/screenshots

# A wheel with the machine code of all kernels, for images and clusters: it compiles nothing at the first scan.
wheel: $(STAMP)
	$(INSTALL) wheel
	$(BIN)/python -m tools.wheel dist

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	touch $(STAMP)

# KenLM is compiled; where that cannot be done, the tests that compare with it are skipped and say so.
$(TEST_STAMP): $(STAMP)
	$(INSTALL) --editable '.[dev]'
	$(INSTALL) --editable '.[oracle]' || echo "KenLM cannot be built here: no comparison with it."
	touch $(TEST_STAMP)

# Writes constraints.txt anew from the newest versions the bounds in pyproject.toml allow.
lock:
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check '.[dev,bench,oracle]'
	build/lock/bin/python -m pip freeze --exclude samehand | grep '==' > constraints.txt

clean:
	rm -rf $(VENV) build dist
