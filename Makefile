# Two commands do the main job: `make up` deploys the RoCE reference cluster's first pod, `make test` proves the project.
# Whatever is downloaded or built lies under .cache/ and .venv/, named after what it was made from, and is made once.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= $(shell tools/find-python)
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
STAMPS := .cache/stamps
SPEC ?= inventory/roce-24k.yaml
UP := up
REASON ?= make up

export UV_CACHE_DIR ?= $(CURDIR)/.cache/uv
export UV_PYTHON_DOWNLOADS := never
export UV_NO_CONFIG := 1
# Certificates that the machine trusts count, for those who sit behind a proxy of their own.
export UV_SYSTEM_CERTS ?= 1

INSTALL = "$$(tools/bootstrap-uv)" pip install --quiet --python $(BIN)/python
COMPILE = "$$(tools/bootstrap-uv)" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header $(UPGRADE)
# Half of a short command's time goes into compiling what it imports where nobody may write that down.
COMPILED = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m compileall -qq -j 0

# A file's tests stay in one process, which makes its fixtures once, in the order that tests/conftest.py gives them. Three
# of them keep two cores busy: a fourth of the time of two is waiting for routers, engines and machines to say that they run.
SIDE_BY_SIDE = -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: help setup develop up test test-fast test-servers test-torch test-nccl test-ncp test-slurm test-foreign test-container test-pythons test-kill release release-files vulnerabilities lint docs bench figures lock golden clean

help: ## lists these targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/make \1	\2/' | expand -t 16

setup: $(STAMPS)/project ## leaves the command at .venv/bin/clusterwright

$(STAMPS):
	@mkdir -p $@

$(BIN)/python: tools/uv.lock
	@"$$(tools/bootstrap-uv)" venv --quiet --allow-existing --python $(PYTHON) $(VENV)
	@touch $@

$(STAMPS)/runtime: requirements.lock $(BIN)/python | $(STAMPS)
	@$(INSTALL) --require-hashes --no-deps -r requirements.lock
	@$(COMPILED) $(VENV)/lib || true # some packages bring templates that are called *.py and are none
	@touch $@

$(STAMPS)/project: pyproject.toml requirements-build.lock $(STAMPS)/runtime
	@$(INSTALL) --no-deps --build-constraints requirements-build.lock --editable .
	@$(COMPILED) src
	@mkdir -p $(UP)/state # the backend that stacks/Pulumi.yaml names
	@touch $@

develop: setup $(STAMPS)/develop ## setup, and what lint and tests need in the environment

$(STAMPS)/develop: requirements-dev.lock $(STAMPS)/runtime
	@$(INSTALL) --require-hashes --no-deps -r requirements-dev.lock
	@touch $@

up: setup ## deploys the RoCE cluster's upper layer and first pod into up/flash, and writes the report
	@PATH="$(BIN):$$(tools/build-pulumi):$$PATH" \
		$(BIN)/clusterwright up $(SPEC) --upper --pod pod0 --target directory --root $(UP) --reason "$(REASON)"
	@report=$$($(BIN)/clusterwright report $(SPEC) --prove --out $(UP)/report); echo "report: $$report"

test: lint develop ## installs what the tests need, then runs lint and all tests
	@tools/install-debian-packages
	@for package in receptor ktls-utils libnl-genl-3-200 slurmctld; do tools/debian13-package $$package > /dev/null; done
	@PATH="$(BIN):$$(tools/build-pulumi):$$PATH" $(BIN)/pytest $(SIDE_BY_SIDE)

test-fast: develop ## a test of every package in three minutes: without root, Debian packages, Pulumi or full-size deployments
	@PATH="$(BIN):$$PATH" $(BIN)/pytest $(SIDE_BY_SIDE) -q @tests/fast.txt

test-servers: develop ## the files and the sync for sources of truth, against a Nautobot that it installs (400 MB) and starts
	@tools/install-debian-packages
	@PATH="$(BIN):$$PATH" $(BIN)/pytest -m servers tests/source_of_truth

test-torch: develop ## PyTorch of Debian (it installs 640 MB) between two nodes, through every filter as it was rendered
	@tools/install-debian-packages
	@test -d /usr/lib/python3/dist-packages/torch || apt-get -q -y install --no-install-recommends python3-torch >&2
	@PATH="$(BIN):$$PATH" $(BIN)/pytest -m torch tests/rendezvous

test-container: ## builds the Containerfile on a base image of Debian's packages (as root, with buildah), and runs its commands
	@tools/check-container

test-foreign: develop ## configurations that NVIDIA, Arista and SONiC publish (it clones their repositories), read by every reader
	@PATH="$(BIN):$$PATH" $(BIN)/pytest -m foreign tests/foreign

test-ncp: develop ## the answers of `evidence`, read by the checks of NVIDIA's suite for AI clouds (it clones them)
	@PATH="$(BIN):$$PATH" $(BIN)/pytest -m ncp tests/evidence

# Debian's packages of the newest Slurm lack its plugin for PMIx, so that their srun starts no job with MpiDefault=pmix.
NO_PMIX = test_a_real_slurmctld_takes_jobs_of_a_login_node or test_a_job_sees_its_gpus_and_no_others \
	or test_jobs_of_a_shared_partition_get_a_gpu_s_share_of_their_node

test-slurm: develop ## the tests of Slurm's files with the newest release that Debian has, and those that only such a release can pass
	@tools/install-debian-packages
	@PATH="$(BIN):$$PATH" tools/newest-slurm $(BIN)/pytest -m "newest or not newest" -k "not ($(NO_PMIX))" tests/hosts/slurm

test-nccl: develop ## NCCL itself, built from its sources, on two nodes without GPUs, through every filter as it was rendered
	@tools/install-debian-packages
	@PATH="$(BIN):$$PATH" $(BIN)/pytest -m nccl tests/rendezvous

test-kill: develop ## updates that are killed at sixty counted steps of the driver, the provider and the engine
	@PATH="$(BIN):$$(tools/build-pulumi):$$PATH" $(BIN)/pytest -m kill tests/deploy/kills

test-pythons: develop ## the fast tier on every further Python that this machine has
	@tools/test-pythons

lint: develop ## ruff, mypy, reuse, yamllint, ansible-lint, j2lint
	@tools/lint

docs: develop ## writes the pages of docs/ as a site with a search to build/site; a warning is an error
	@$(BIN)/sphinx-build -q -W --keep-going -n \
		-c tools/site -d .cache/site docs build/site
	@echo "site: build/site/index.html"

bench: develop ## measures the figures of docs/dev/figures.md
	@PATH="$(BIN):$$(tools/build-pulumi):$$PATH" $(BIN)/python -m benchmarks

figures: develop ## measures the figures of docs/dev/figures.md and writes them into it
	@PATH="$(BIN):$$(tools/build-pulumi):$$PATH" $(BIN)/python -m benchmarks --write docs/dev/figures.md

golden: develop ## writes the tests' golden files anew; look at the diff before you commit it
	@PATH="$(BIN):$$PATH" CLUSTERWRIGHT_GOLDEN=write $(BIN)/pytest $(SIDE_BY_SIDE)

lock: ## resolves pyproject.toml into the lock files; UPGRADE=--upgrade takes newer versions
	@$(COMPILE) pyproject.toml --extra full -o requirements.lock
	@$(COMPILE) pyproject.toml -c requirements.lock -o requirements-core.lock
	@$(COMPILE) pyproject.toml --extra full --group lint --group test --group docs -c requirements.lock \
		--override tools/overrides.txt -o requirements-dev.lock
	@printf 'hatchling==1.27.0\neditables\n' | $(COMPILE) --no-annotate - -o requirements-build.lock

release: setup ## dates the changelog, commits, makes the tag of the version and what is published of it; pushes nothing
	@tools/release tag
	@tools/release files dist

release-files: setup ## writes wheel, sdist, bill of materials, provenance and notes of HEAD to dist/
	@tools/release files dist

vulnerabilities: ## checks every package of the locks against a database (OSV_URL, or api.osv.dev); 2: none was reachable
	@tools/check-vulnerabilities

clean: ## removes the environment, caches and what `make up` deployed
	@rm -rf $(VENV) .cache build dist $(UP) .mypy_cache .ruff_cache .pytest_cache .hypothesis
