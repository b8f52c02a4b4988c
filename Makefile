# stead: the one door. `make` lists what there is; every target does its own set-up and says what it does.

CARGO ?= cargo
PYTHON ?= python3
PREFIX ?= /usr/local
export CARGO PYTHON

.PHONY: help setup build demo test bench-growth vectors install uninstall clean

help:
	@echo 'make demo          a million user names placed on 4 to 16 servers, and what moves (under 2 minutes, then seconds)'
	@echo 'make test          every suite in every language, one line each and the total'
	@echo 'make build         the program, into target/release/stead'
	@echo 'make install       the program, into PREFIX/bin (PREFIX=$(PREFIX), DESTDIR is honoured)'
	@echo 'make bench-growth  slices, movement and time of growing fleets: the table of docs/rebalance.md'
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

vectors: setup
	@$(PYTHON) tests/reference/make_vectors.py

install: build
	install -D -m 755 target/release/stead '$(DESTDIR)$(PREFIX)/bin/stead'

uninstall:
	rm -f '$(DESTDIR)$(PREFIX)/bin/stead'

clean:
	@$(CARGO) clean
