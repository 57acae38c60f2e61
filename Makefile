# `make` alone lists what can be made. ARGS goes to the program: make demo ARGS="--seed 7".
# Nothing but make, sh and Python 3.11 is needed: .venv is made by itself and kept up to date.

BIN := .venv/bin
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test test-all mutants survey check bench reference faults edge tools firmware clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

demo: .venv/has-demo ## hide a room's warmth and find its vicinity, on this machine
	@$(BIN)/heatveil demo $(ARGS)

test: .venv/has-test ## run the quick tests: five minutes; ARGS="tests/edge -k dgauss" runs all that is named
	@$(BIN)/python -m pytest -n 3 --dist loadfile $(if $(ARGS),$(ARGS),-m "not long")

test-all: .venv/has-test ## run every test
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

mutants: .venv/has-test ## plant every known mistake, and see each one rejected
	@$(BIN)/python -m pytest -n 2 --dist loadfile tests/mutants

check: .venv/has-test ## format, lint, arrows between packages, types
	@$(BIN)/ruff format --check --quiet . || { echo "to mend: $(BIN)/ruff format"; exit 1; }
	@$(BIN)/ruff check --quiet
	@arrows=$$($(BIN)/lint-imports) || { echo "$$arrows"; exit 1; }
	@$(BIN)/mypy
	@if [ -d .tools/typings ] && [ -d .tools/pyright ]; then \
		$(BIN)/python -m pytest -q -p no:cacheprovider tests/edge/board/test_typed.py; \
	else echo "edge/board is not checked against stubs of boards, which are not here: make tools"; fi

bench: .venv/has-bench ## time what is claimed to be fast, into tests/bench/RESULTS.md
	@$(BIN)/python tests/bench/results.py $(ARGS)

reference: .venv/has-demo ## write what may be looked up, commands, keys, HTTP and Python, into dist/reference
	@$(BIN)/python -m heatveil.reference dist/reference

faults: .venv/has-test ## every fault at full size, then random kills: ARGS="--kills 500"
	@HEATVEIL_FAULTS=1 $(BIN)/python -m pytest tests/faults -p no:cacheprovider
	@$(BIN)/python tests/bench/bench_kills.py $(ARGS)

survey: .venv/has-test ## mutate what is on the way of a reading: ARGS="--only budget --again"
	@$(BIN)/python -m tests.mutants.survey $(ARGS)

edge: .venv/has-edge ## compile the device's modules for boards, into dist/edge-mpy; ARGS=https://...: where they will lie
	@$(BIN)/python -m gateway.devices.bundle dist/edge-mpy $(ARGS)

tools: .venv/has-demo ## fetch real MicroPythons, and stubs of boards, into .tools, for the tests
	@bash .ci/micropython.sh
	@sh .ci/typings.sh

firmware: ## build a board's firmware with edge in it, into dist/firmware; BOARD=RPI_PICO_W MICROPY=...: another
	@BOARD="$(BOARD)" MICROPY="$(MICROPY)" bash .ci/firmware.sh

clean: ## remove everything that was made here
	@rm -rf .venv .tools build dist demo bench-results *.egg-info .coverage \
		.pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -prune -exec rm -rf {} +

.venv/has-%: pyproject.toml .ci/venv.sh
	@PYTHON="$(PYTHON)" sh .ci/venv.sh $*
