# SPDX-License-Identifier: BSD-3-Clause
# Verbs only; their work is in ansible/, experiments/testbed and tests/.

.DEFAULT_GOAL := help
PYTHON := .venv/bin/python
SCALE ?= quick

.PHONY: help testbed test check lint bench figures report verify docs clean

help: ## list the verbs
	@grep -E '^[a-z]+: .*##' Makefile | sed 's/:.*## /\t/' | expand -t 12

testbed: .venv/provisioned ## from a bare machine to a measured speedup: install, build, boot, latency table, KV table, figure
	@$(PYTHON) -m testbed demo

test: .venv/provisioned ## every check: lint, native tests under sanitizers, unit tests, tests in booted guests
	@tests/all.sh

check: .venv/provisioned ## the short check before a commit: lint and unit tests, without guests
	@tests/lint.sh
	@tests/python.sh tests/unit

lint: .venv/provisioned ## formatting, types and style of every language here
	@tests/lint.sh

bench: .venv/provisioned ## guest speed and CXL access rate against stock QEMU, into build/bench.json
	@$(PYTHON) -m testbed bench --json build/bench.json

figures: .venv/provisioned ## every figure beside the published values: an hour; SCALE=standard a night, SCALE=full for patience
	@$(PYTHON) -m testbed figures --scale $(SCALE)

report: figures ## the figures, the scorecard and the configuration of every run as one HTML page and one PDF
	@$(PYTHON) -m testbed report

verify: .venv/provisioned ## repeat the figures' runs and compare their results with experiments/quick.sha256
	@$(PYTHON) -m testbed verify

docs: .venv/provisioned ## these pages as a site with search, for reading without a network: build/site/index.html
	@$(PYTHON) -m analysis.documents.site

clean: ## remove the files made in this clone; the shared cache stays (testbed cache prune)
	rm -rf .venv build

.venv/provisioned: requirements.lock pyproject.toml ansible/bootstrap.sh ansible/playbook.yml ansible/vars/packages.yml
	@ansible/bootstrap.sh
	@touch $@
