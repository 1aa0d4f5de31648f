# make test    set up .venv and run all checks
# make demo    set up .venv and run CRYSTAL on the shipped set, with a table and a report at the end
# make format  format and fix what ruff can fix

PYTHON := $(shell for p in python3.11 python3.12 python3.10 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 13))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Tests open the report's page in a real browser and set its table with a real LaTeX.
PROGRAMS := chromium pdflatex
PACKAGES := chromium texlive-latex-recommended

.PHONY: setup programs test lint types demo format clean

setup: $(READY)

$(READY): setup.py
	@test -n "$(PYTHON)" || { echo "Python 3.10, 3.11 or 3.12 is needed and none was found."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $(READY)

programs:
	@missing=$$(for program in $(PROGRAMS); do command -v $$program >/dev/null || echo $$program; done); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends $(PACKAGES); \
	else echo "The tests need $$missing: install $(PACKAGES), under Debian with apt-get."; exit 1; fi

# Two files of tests at a time: the whole-process ones spend most of their time on one core, importing torch. In the
# order of tests/conftest.py; xdist's own puts files of few tests last, which are the longest here.
test: programs lint types
	HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The package is named lmms_eval_crystal wherever the checkout lies; a link gives mypy that name.
types: setup
	mkdir -p build/types
	ln -sfn "$(CURDIR)" build/types/lmms_eval_crystal
	cd build/types && ../../$(BIN)/mypy --config-file ../../pyproject.toml \
		-p lmms_eval_crystal.metrics -p lmms_eval_crystal.reports -p lmms_eval_crystal.crystal_task \
		-p lmms_eval_crystal.model_adapters -p lmms_eval_crystal.cli -p lmms_eval_crystal.benchmarks \
		-p lmms_eval_crystal.training

demo: setup
	$(BIN)/crystal-eval demo --output out/demo

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf build dist out *.egg-info
