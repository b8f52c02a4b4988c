# stead: the one door. `make` lists what there is; every target does its own set-up and says what it
# does.

CARGO ?= cargo
RUSTC ?= rustc
PYTHON ?= python3
PREFIX ?= /usr/local
TARGET := $(or $(CARGO_TARGET_DIR),target)
export CARGO PYTHON PREFIX

.PHONY: help format fuzz-rrd setup program build wheel perl demo demo-agree test header bench-c bench-md5 bench-growth bench-balance bench-python bench-php bench-perl bench-optimum bench-rrd test-spark bench-spark vectors install uninstall clean

help:
	@echo 'make demo          a million user names placed on 4 to 16 servers, what moves, and five languages that agree (under 5 minutes, then seconds)'
	@echo 'make demo-agree    how far clients of memcached agree where keys live, as a table and a picture (scripts/setup --clients installs them)'
	@echo 'make test          every suite in every language, one line each and the total'
	@echo 'make format        every file by its language'"'"'s formatter, with its defaults; make test checks it'
	@echo 'make build         the programs, the C library (target/release/stead, stead-rrd, libstead.so, libstead.a), manual and completions'
	@echo 'make wheel         the Python module, for pip install target/wheels/*.whl'
	@echo 'make perl          the Perl module, built in target/perl/Stead, with its tests run'
	@echo 'make install       puts them below PREFIX (PREFIX=$(PREFIX); BINDIR, LIBDIR, INCLUDEDIR, MANDIR and DESTDIR are honoured)'
	@echo 'make uninstall     takes them away; say PREFIX and DESTDIR as you did for make install'
	@echo 'make bench-c       what stead_map_locate costs over the call in Rust'
	@echo 'make bench-md5     the point of a short key under MD5, against the md-5 crate'
	@echo 'make bench-python  a key located in Python, against a bare MD5 and other hash rings (ARGS=--help)'
	@echo 'make bench-php     a key located in PHP, against pure PHP and ketama; a page under php-fpm (ARGS=--help)'
	@echo 'make bench-perl    a key located in Perl, against pure Perl and a bare MD5 (ARGS=--help)'
	@echo 'make bench-growth  slices, movement and time of growing fleets: the table of docs/rebalance.md'
	@echo 'make bench-balance stead and OpenStack Swift through one scenario: the table of docs/balance.md (ARGS=--help)'
	@echo 'make bench-optimum small fleets whose caps bind, each step against the least it can move (ARGS=--help)'
	@echo 'make bench-rrd     updates per second through the RRD router, against one rrdcached asked directly (ARGS=--help)'
	@echo 'make test-spark    a million keys through Spark; installs it into .venv-spark (0.9 GB, needs java)'
	@echo 'make bench-spark   placing keys in Spark, with stead and with pure Python (ROWS=100000000)'
	@echo 'make fuzz-rrd      a million random lines to the RRD router and to one rrdcached, and what each says (LINES=, SEED=)'
	@echo 'make header        writes include/stead.h and what PHP reads again, from crates/stead-capi'
	@echo 'make vectors       writes tests/maps and tests/vectors again, from the reference'
	@echo 'make clean         removes what was built'

setup:
	@scripts/setup

program: setup
	@echo '== building stead (release)'
	@$(CARGO) build --release --locked -q -p stead-cli

# `built` is as old as the start of the build: a source that changes meanwhile is newer, and install
# says so
build: setup
	@echo '== building stead, stead-rrd, libstead, manual and completions (release)'
	@mkdir -p $(TARGET) && touch $(TARGET)/building
	@$(CARGO) build --release --locked -q -p stead-cli -p stead-rrd -p stead-capi
	@rm -rf $(TARGET)/pages
	@$(CARGO) run --release --locked -q -p stead-pages -- $(TARGET)/pages
	@# what libstead.a needs of the system; asked of an empty library, since cargo would build ours anew for the question;
	@# without libgcc, which every compiler adds by itself, the shared or the static one as the program is linked
	@$(RUSTC) --crate-type staticlib --crate-name none --print native-static-libs -o $(TARGET)/none.a - </dev/null 2>&1 \
		| sed -n '/^note: native-static-libs: /{s///;s/-lgcc_s *//;p}' >$(TARGET)/native-static-libs
	@rm -f $(TARGET)/none.a && [ -s $(TARGET)/native-static-libs ] || { echo 'stead: rustc names no native-static-libs' >&2; exit 1; }
	@mv $(TARGET)/building $(TARGET)/built

# maturin comes into .venv with what the tests need, unless there is one
wheel:
	@[ -x .venv/bin/maturin ] || command -v maturin >/dev/null || scripts/setup --tests
	@scripts/python-module --wheel

# built in a copy, so that nothing lies beside the sources
perl: setup
	@scripts/perl-module --test

# with libstead, for the other languages
demo:
	@scripts/setup --languages
	@echo '== building stead and libstead (release)'
	@$(CARGO) build --release --locked -q -p stead-cli -p stead-capi
	@$(PYTHON) examples/demo.py

# the clients of PyPI and npm come into .venv-agree; those of Debian with scripts/setup --clients
demo-agree: setup
	@$(CARGO) build --release --locked -q -p stead-cli -p stead-capi
	@[ -x .venv/bin/maturin ] || scripts/setup --tests
	@scripts/agree-venv
	@scripts/python-module || echo '== going on without the Python module'
	@$(PYTHON) -B tests/agree/run.py $(ARGS)

test:
	@scripts/setup --tests
	@$(PYTHON) scripts/suites.py

# the formatters of PyPI are among what the tests need
format:
	@[ -x .venv/bin/ruff ] || scripts/setup --tests
	@scripts/format

bench-c: setup
	@$(CARGO) build --release --locked -q -p stead-capi
	@$(CARGO) run --release --locked -q -p stead-capi --example locate_cost -- $(TARGET)/release/libstead.so

bench-md5: setup
	@$(CARGO) run --release --locked -q -p stead --example md5_cost

bench-python: wheel
	@scripts/rings-venv
	@.venv-rings/bin/python benches/python/run.py $(ARGS)

bench-php: setup
	@scripts/setup --tests
	@$(PYTHON) benches/php/run.py $(ARGS)

bench-perl: setup
	@scripts/perl-module >/dev/null
	@$${PERL:-perl} -Mblib=$(TARGET)/perl/Stead benches/perl/run.pl $(ARGS)

bench-growth: setup
	@$(CARGO) run --release --locked -q -p stead --example growth -- --1000

bench-balance: program .venv-swift/ready
	@$(PYTHON) benches/balance/run.py $(ARGS)

# OR-tools, in .venv, gives a second opinion
bench-optimum: program
	@scripts/setup --tests
	@python=.venv/bin/python; [ -x $$python ] || python=$(PYTHON); $$python benches/balance/tight_fleets.py $(ARGS)

bench-rrd: setup
	@$(PYTHON) benches/rrd/run.py $(ARGS)

.venv-swift/ready: benches/balance/requirements.txt
	@echo '== making .venv-swift, with OpenStack Swift (benches/balance/requirements.txt)'
	@$(PYTHON) -m venv .venv-swift
	@.venv-swift/bin/python -m pip install -q --disable-pip-version-check --no-deps -r benches/balance/requirements.txt
	@.venv-swift/bin/python -c 'from swift.common.ring import RingBuilder'
	@touch $@

test-spark: wheel
	@scripts/spark-venv
	@.venv-spark/bin/python -m pytest -q python/tests/engines/test_spark.py

# the seed is said, so that what was found can be found again: put it into SEEDS of
# tests/rrd/test_hostile.py
LINES ?= 1000000
SEED ?= $(shell date +%s)
fuzz-rrd: setup
	@$(PYTHON) tests/rrd/rrd_same.py --lines $(LINES) --seed $(SEED)

ROWS ?= 100000000
bench-spark: wheel
	@scripts/spark-venv
	@.venv-spark/bin/python benches/spark/run.py --rows $(ROWS) $(ARGS)

header: setup
	@$(CARGO) run --locked -q -p stead-header

vectors: setup
	@$(PYTHON) tests/reference/make_vectors.py

# after `make build`, `sudo make install` needs no cargo and builds nothing
install:
	@scripts/install --built || { [ $$? = 3 ] && $(MAKE) --no-print-directory build; }
	@scripts/install

uninstall:
	@scripts/install --uninstall

clean:
	@$(CARGO) clean
	@rm -rf .venv-swift .venv-spark .venv-rings .venv-rings-tests .venv-agree
