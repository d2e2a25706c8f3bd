# Every target starts from nothing: it makes .venv first when it is missing or out of date.
# PYTHON names the interpreter for a new .venv; OFFPEAK_HOME and OFFPEAK_PORT choose another home and port.

NEW_ENOUGH = import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	"$$p" -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && { echo "$$p"; exit; }; done; \
	command -v python3 || echo missing)
VENV = .venv/bin/python
ARGS ?=

.PHONY: setup setup-base run test check bench faults e2e requirements

setup: python
	@$(PYTHON) scripts/setup.py --dev

setup-base: python
	@$(PYTHON) scripts/setup.py

.PHONY: python
python:
	@command -v "$(PYTHON)" >/dev/null 2>&1 || \
		{ echo "Offpeak: Python 3.11 or newer is needed and none was found: install one, or name it with make PYTHON=/path/to/python3." >&2; exit 1; }

run: setup-base
	@exec $(VENV) -m finops.embedded run --with-parent

test: setup
	@$(VENV) -m pytest -n 2 -m "not e2e" $(ARGS)

check: setup
	@$(VENV) -m ruff check .
	@$(VENV) -m ruff format --check .
	@$(VENV) -m mypy
	@.venv/bin/lint-imports
	@home=$$(mktemp -d) && trap 'rm -rf "$$home"' EXIT && \
		OFFPEAK_HOME="$$home" $(VENV) manage.py makemigrations --check --dry-run

bench: setup
	@$(VENV) -m bench $(ARGS)

# Launches while workers are killed, servers restarted and answers lost: docs/algorithms/launches.md.
faults: setup
	@$(VENV) -m faults $(ARGS)

e2e: setup
	@sh scripts/chromium.sh
	@$(VENV) -m pytest -m e2e tests/e2e $(ARGS)

# For developers who change requirements/*.in: one answer for every supported Python, newest versions.
requirements:
	@$(PYTHON) -m venv build/uv && build/uv/bin/pip install -q uv
	@cd requirements && for name in base dev; do \
		../build/uv/bin/uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11.2 \
			--no-header --no-annotate --no-emit-index-url --no-emit-find-links --upgrade \
			--output-file "$$name.new" "$$name.in" && \
		{ echo "# Compiled from $$name.in by \`make requirements\`: change that file, not this one."; \
			cat "$$name.new"; } > "$$name.txt" && rm "$$name.new" || exit 1; done
