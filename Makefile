# stead: the one door. `make` lists what there is; every target does its own set-up and says what it does.

CARGO ?= cargo
PYTHON ?= python3
PREFIX ?= /usr/local
export CARGO PYTHON

.PHONY: help setup build demo test header bench-growth bench-balance bench-optimum vectors install uninstall clean

help:
	@echo 'make demo          a million user names placed on 4 to 16 servers, and what moves (under 2 minutes, then seconds)'
	@echo 'make test          every suite in every language, one line each and the total'
	@echo 'make build         the program, into target/release/stead'
	@echo 'make install       the program, into PREFIX/bin (PREFIX=$(PREFIX), DESTDIR is honoured)'
	@echo 'make bench-growth  slices, movement and time of growing fleets: the table of docs/rebalance.md'
	@echo 'make bench-balance stead and OpenStack Swift through one scenario: the table of docs/balance.md (ARGS=--help)'
	@echo 'make bench-optimum small fleets whose caps bind, each step against the least it can move (ARGS=--help)'
	@echo 'make header        writes include/stead.h and what PHP reads again, from crates/stead-capi'
	@echo 'make vectors       writes tests/maps and tests/vectors again, from the reference'
	@echo 'make clean         removes what was built'

setup:
	@scripts/setup

build: setup
	@echo '== building stead (release)'
	@$(CARGO) build --release --locked -q -p stead-cli

demo: build
	@$(PYTHON) examples/demo.py

test:
	@scripts/setup --tests
	@$(PYTHON) scripts/suites.py

bench-growth: setup
	@$(CARGO) run --release --locked -q -p stead --example growth -- --1000

bench-balance: build .venv-swift/ready
	@$(PYTHON) benches/balance/run.py $(ARGS)

# OR-tools, in .venv, gives a second opinion
bench-optimum: build
	@scripts/setup --tests
	@python=.venv/bin/python; [ -x $$python ] || python=$(PYTHON); $$python benches/balance/tight_fleets.py $(ARGS)

.venv-swift/ready: benches/balance/requirements.txt
	@echo '== making .venv-swift, with OpenStack Swift (benches/balance/requirements.txt)'
	@$(PYTHON) -m venv .venv-swift
	@.venv-swift/bin/python -m pip install -q --disable-pip-version-check --no-deps -r benches/balance/requirements.txt
	@.venv-swift/bin/python -c 'from swift.common.ring import RingBuilder'
	@touch $@

header: setup
	@$(CARGO) run --locked -q -p stead-header

vectors: setup
	@$(PYTHON) tests/reference/make_vectors.py

install: build
	install -D -m 755 target/release/stead '$(DESTDIR)$(PREFIX)/bin/stead'

uninstall:
	rm -f '$(DESTDIR)$(PREFIX)/bin/stead'

clean:
	@$(CARGO) clean
	@rm -rf .venv-swift
