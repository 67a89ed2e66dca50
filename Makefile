# SPDX-License-Identifier: Apache-2.0

BIN := .venv/bin
# Options of pytest, e.g. `make test PYTEST_ARGS="-k droptail"`. By default two more workers than
# cores, because real-time tests are mostly idle, and others wait for guests.
PYTEST_ARGS ?= -n $(shell expr $$(nproc) + 2) --dist worksteal
DEMO_DIR ?= demo-results

# Tests start Python hundreds of times, so bytecode must be cached.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo check test unit lint docs pages fuzz sanitize soak wheels kernels packetdrill format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## install requirements, build the virtual kernel unless ccbench-kernel has it, search for networks where BBR harms CUBIC
	@scripts/bootstrap.sh
	@$(BIN)/ccbench kernel build
	@rm -rf $(DEMO_DIR) # possibly of another version; the user's cache keeps finished runs
	@$(BIN)/ccbench raygen --alpha bbr --beta cubic --budget 12 --population 8 --duration 30 --seed 1 -o $(DEMO_DIR)
	@echo 'To use the command ccbench:  . $(BIN)/activate   Next steps:'
	@echo '  ccbench run examples/bbr-vs-cubic.toml --plot run.png'
	@echo '  ccbench harm --alpha bbr --beta cubic --bandwidth 100 --rtt 40 --queue 1bdp'

check: lint ## before each commit: lint, the fast unit tests, TCP on the virtual kernel (3 minutes)
	@scripts/bootstrap.sh dev tests
	@$(BIN)/ccbench kernel build
	$(BIN)/pytest $(PYTEST_ARGS) -m "not slow and not alone" tests/unit ccbench tests/kernel/test_tcp.py

test: ## everything: ruff, mypy (strict), import rules, the site, all tests
	@scripts/bootstrap.sh dev tests
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint docs # each takes one core
	@$(BIN)/ccbench kernel build
	@scripts/kernels.sh build 6.1 7.3
	$(BIN)/pytest $(PYTEST_ARGS)

unit: ## all tests that need no virtual kernel (minutes)
	@scripts/bootstrap.sh dev tests
	$(BIN)/pytest $(PYTEST_ARGS) tests/unit ccbench

lint: ## ruff, mypy, import rules
	@scripts/bootstrap.sh dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: ## build the site in docs/_site
	@scripts/bootstrap.sh dev
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_site

pages: ## update the tables of the site from the results in docs/studies/results and docs/evaluations
	@scripts/bootstrap.sh dev
	$(BIN)/python docs/study_pages.py
	$(BIN)/python docs/evaluation_pages.py

fuzz: ## all property tests with 10,000 random examples of each (docs/reliability.md; an hour or more)
	@scripts/bootstrap.sh dev
	CCBENCH_EXAMPLES=10000 $(BIN)/pytest $(PYTEST_ARGS) -m hypothesis tests/unit

sanitize: ## test the compiled cores under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/bootstrap.sh dev
	scripts/sanitize.sh

soak: ## kill programs 250 times and execute 2,000 consecutive runs (docs/reliability.md; an hour or more)
	@scripts/bootstrap.sh dev
	@$(BIN)/ccbench kernel build
	CCBENCH_KILLS=50 CCBENCH_RUNS=2000 $(BIN)/pytest \
		tests/kernel/test_kills.py tests/kernel/test_soak.py

wheels: ## build the wheels in dist: ccbench for each Python 3.10 to 3.13 here, and ccbench-kernel
	@scripts/bootstrap.sh dev
	scripts/wheels.sh

kernels: ## test the virtual kernel with each Linux that the distribution offers (half an hour each)
	@scripts/bootstrap.sh dev tests
	scripts/kernels.sh test

packetdrill: ## run Linux's own tests of TCP on the virtual kernel, 100 times each (docs/virtual-time.md; half an hour)
	@test -x "$$CCBENCH_PACKETDRILL" || { echo 'CCBENCH_PACKETDRILL must name packetdrill:' \
		'build it from https://github.com/google/packetdrill' >&2; exit 1; }
	@scripts/bootstrap.sh dev
	@scripts/kernels.sh build 6.12 7.3
	CCBENCH_REPETITIONS=100 $(BIN)/pytest tests/kernel/test_packetdrill.py

format: ## fix and format the code with ruff
	@scripts/bootstrap.sh dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove build products; the virtual kernel and finished runs stay in the user's cache
	rm -rf .venv $(DEMO_DIR) dist build docs/_site docs/api/generated .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
