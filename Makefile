# Everything in this repository is started from here. `make` lists what a user needs first, and
# `make help-all` every target; each of them does its own set-up and says what it does.

CARGO ?= cargo
RUSTC ?= rustc
PYTHON ?= python3
PREFIX ?= /usr/local
TARGET := $(or $(CARGO_TARGET_DIR),target)
export CARGO PYTHON PREFIX

.PHONY: help help-all book scale format fuzz-rrd setup program build wheel perl perl-dist php-extension demo demo-agree demo-site test header bench bench-instructions bench-c bench-md5 bench-count bench-batch bench-single bench-open bench-flood bench-growth bench-widest bench-balance bench-python bench-engines bench-php bench-perl bench-optimum bench-rrd bench-rrd-calls bench-collectd kills faults deny miri tsan coverage mutants test-cross faults-rrd test-upgrade fuzz check-targets test-spark test-kernels bench-spark vectors install uninstall clean dist test-dist pictures

# What a user needs first; it fits a screen of 80 columns and 30 lines (tests/pages/test_make.py).
help:
	@echo 'To try it (the first run builds for some minutes):'
	@echo '  make demo           a million names on 4 to 16 servers, and which of them move'
	@echo '  make demo-site      a site under load gets a shard, and nothing is lost'
	@echo '  make demo-agree     how far 51 other clients and rings agree, in a picture'
	@echo '  make test           runs every suite in every language'
	@echo
	@echo 'To install it:'
	@echo '  make install        programs, C library, manual: below PREFIX=$(PREFIX)'
	@echo '  make uninstall      removes them again; give it the same PREFIX'
	@echo '  make build          builds what make install installs'
	@echo '  make wheel          the Python module, for pip install target/wheels/*.whl'
	@echo '  make php-extension  the PHP extension, target/php/stead.so'
	@echo '  make perl           the Perl module, target/perl/Stead, with its tests'
	@echo
	@echo 'To read about it:'
	@echo '  make book           the pages of docs as a book: target/book/index.html'
	@echo
	@echo 'To change it:'
	@echo '  make format         formats every file'
	@echo '  make header         writes include/stead.h again, from crates/stead-capi'
	@echo '  make vectors        writes tests/maps and tests/vectors again'
	@echo '  make fuzz           fuzzes whatever reads bytes of others'
	@echo '  make clean          removes everything that was built'
	@echo
	@echo 'make help-all lists every target: benchmarks, long tests, packages, options.'

help-all:
	@echo 'make demo          places a million user names on 4 to 16 servers, and shows what moves and that five languages agree (the first run takes three minutes)'
	@echo 'make demo-agree    shows in a table and a picture how far clients of memcached agree on where keys live'
	@echo 'make demo-site     runs a site on this machine (PostgreSQL, photos, etcd; web hosts in PHP, Perl and Python), adds a shard to it under load, and counts what was missed or lost (ARGS=--help)'
	@echo 'make test          runs every suite in every language: a line for each, and the total'
	@echo 'make format        formats every file with the formatter of its language; make test checks the result'
	@echo 'make book          makes the pages of docs a book with search, target/book/index.html (the first time, it builds mdbook for some minutes)'
	@echo 'make build         builds the programs and the C library (target/release/stead, stead-sync, stead-rrd and libstead.so, and target/libstead.a), the manual and the completions'
	@echo 'make wheel         builds the Python module and the program as a wheel, for pip install target/wheels/*.whl (PORTABLE=1: for glibc 2.17 and newer)'
	@echo 'make perl          builds the Perl module in target/perl/Stead and runs its tests'
	@echo 'make php-extension builds the PHP extension, target/php/stead.so, with phpize'
	@echo 'make perl-dist     makes the distribution for CPAN, target/perl/Stead-VERSION.tar.gz'
	@echo 'make dist          makes every package into target/dist: wheel, PECL, composer, CPAN, crates, .deb, sources, checksums (ARGS=--no-debs, --help)'
	@echo 'make test-dist     installs each package of make dist in a clean system and tries it there (needs root; ARGS=--help)'
	@echo 'make install       installs what make build makes, below PREFIX (PREFIX=$(PREFIX); also BINDIR, LIBDIR, INCLUDEDIR, MANDIR, DESTDIR)'
	@echo 'make uninstall     removes the installed files; give the same PREFIX and DESTDIR as to make install'
	@echo 'make bench         measures stead in five languages against what their users would pick instead: tables and picture of docs/measuring.md (ARGS=--quick, --help)'
	@echo 'make bench-instructions  counts instructions under callgrind again, and records them for make test'
	@echo 'make bench-c       measures stead_map_locate against the same call in Rust'
	@echo 'make bench-md5     measures how long the MD5 of a short key takes, against the md-5 crate'
	@echo 'make bench-batch   measures placing many keys at once, by kernel, against the md-5 and sha1 crates and a binary search'
	@echo 'make bench-single  measures locate, the lookup within it, and prefer, against the md-5 crate and a binary search'
	@echo 'make bench-flood   measures what it costs to find keys that all live on one node, and what they do to a cluster with a secret'
	@echo 'make bench-open    measures opening maps of up to a million slices, against reading and digesting them, and their memory'
	@echo 'make bench-count   measures stead locate --count and stead survey of many names: CPU, time and memory (COUNT=1000000000, ARGS=--help)'
	@echo 'make bench-python  measures locate in Python, against a bare MD5 and other hash rings (ARGS=--help)'
	@echo 'make bench-engines measures the memory of pyarrow, polars, DuckDB and pandas while they place tables of two sizes: the table of docs/python-engines.md (ARGS=--help)'
	@echo 'make bench-php     measures locate in PHP, against pure PHP and ketama, and a page under php-fpm (ARGS=--help)'
	@echo 'make bench-perl    measures locate in Perl, against pure Perl and a bare MD5 (ARGS=--help)'
	@echo 'make bench-growth  measures slices, movement and time of growing fleets: the tables of docs/rebalance.md (ARGS=--scale: fleets of up to 65,536 nodes)'
	@echo 'make bench-widest  measures CPU and memory of the fleets with the most nodes, copies and labels: the table of docs/rebalance.md (ARGS="--nodes 1000 --copies 64 --labels 16 --shape tree --step copies")'
	@echo 'make bench-balance runs stead and OpenStack Swift through one scenario: the table of docs/balance.md (ARGS=--help)'
	@echo 'make scale         plays carries of 10^9 rows over 1,000 nodes: how long each takes, and the tables and pictures of docs/scale.md (ARGS=--help)'
	@echo 'make bench-optimum compares what moves in small fleets with tight caps with the least possible movement (ARGS=--help)'
	@echo 'make bench-rrd     measures updates per second through the RRD router, against one rrdcached and a client that writes two (ARGS=--help)'
	@echo 'make bench-rrd-calls  counts the system calls of the RRD router per request, by kind (needs perf and root)'
	@echo 'make bench-collectd  measures how far a real collectd falls behind when it writes through the RRD router (ARGS=--help)'
	@echo 'make test-spark    places a million keys in Spark, which it installs into .venv-spark (0.9 GB, needs java)'
	@echo 'make test-kernels  runs the kernels for processors with AVX-512 (in Bochs) and for 64-bit ARM (under QEMU)'
	@echo 'make bench-spark   measures the placing of keys in Spark, with stead and with pure Python (ROWS=100000000)'
	@echo 'make kills         kills stead-sync carry more than 50 times per kind of server (memcached, Redis, PostgreSQL, MariaDB) while applications work, and counts what is lost'
	@echo 'make faults        kills every program that writes maps at each system call, and makes each call fail or lie; many writers at once; power cuts on ext4 and xfs; hostile maps and fleets (a quarter of an hour)'
	@echo 'make deny          checks licences, origin and known holes of all crates with cargo-deny, by deny.toml (ARGS="licenses bans sources": without a network)'
	@echo 'make miri          runs the tests of unsafe code in Miri, which finds undefined behaviour (needs the nightly toolchain of rustup)'
	@echo 'make tsan          runs tests with threads (open maps, stores, batches, the C library) under ThreadSanitizer, which finds data races (needs the nightly toolchain of rustup)'
	@echo 'make coverage      counts which lines of format, rebalance, store, verdict, C boundary and log the tests reach (needs cargo-llvm-cov)'
	@echo 'make mutants       changes those parts in one place at a time, and names the changes that no test notices (needs cargo-mutants and tree-sitter; some ten minutes with ARGS="--only verdict", and far longer without)'
	@echo 'make test-cross    runs the suites of C, the ABI, rings and histories on s390x and i686 under QEMU, with Rust 1.85 in a Debian 13 below target (2 GB, root, half an hour; ARGS="arm64 armv7 musl", --help)'
	@echo 'make fuzz          fuzzes whatever reads bytes of others: a minute for each of 23 targets, from where the last run ended (ARGS=--help)'
	@echo 'make check-targets  compiles the core for WebAssembly, Windows and macOS, where it has no files (needs rustup)'
	@echo 'make fuzz-rrd      sends a million random lines to the RRD router and to one rrdcached, and compares the answers (LINES=, SEED=)'
	@echo 'make faults-rrd    kills, stops and cuts off two RRD routers and their servers under load, also while files move, and reads every copy: the table of docs/rrd-guarantees.md (20 minutes)'
	@echo 'make test-upgrade  upgrades two RRD routers under load from another commit to this source, and back (FROM=v0.1.0)'
	@echo 'make header        writes include/stead.h and the headers for PHP again, from crates/stead-capi'
	@echo 'make pictures      draws the pictures of docs/figures.md again, by the commands that the page prints'
	@echo 'make vectors       writes tests/maps and tests/vectors again, from the reference'
	@echo 'make clean         removes everything that was built'

setup:
	@scripts/setup

program: setup
	@echo '== building stead (release)'
	@$(CARGO) build --release --locked -q -p stead-cli

# The file `built` gets the time at which the build started. So a source that changes during the build
# is newer, and install notices it.
build: setup
	@echo '== building stead, stead-sync, stead-rrd, libstead, manual and completions (release; the first time some 4 minutes on two cores)'
	@mkdir -p $(TARGET) && touch $(TARGET)/building
	@# on a terminal, cargo shows how far it is
	@if [ -t 2 ]; then q=; else q=-q; fi; $(CARGO) build --release --locked $$q -p stead-cli -p stead-sync -p stead-rrd -p stead-capi
	@scripts/static-library $(TARGET)/release $(TARGET)/libstead.a
	@rm -rf $(TARGET)/pages
	@$(CARGO) run --release --locked -q -p stead-pages -- $(TARGET)/pages
	@# The system's libraries that libstead.a needs. rustc is asked about an empty library, since it would build ours again to
	@# answer. libgcc is left out: every compiler adds it, as a shared or a static library according to how the program is linked.
	@$(RUSTC) --crate-type staticlib --crate-name none --print native-static-libs -o $(TARGET)/none.a - </dev/null 2>&1 \
		| sed -n '/^note: native-static-libs: /{s///;s/-lgcc_s *//;p}' >$(TARGET)/native-static-libs
	@rm -f $(TARGET)/none.a && [ -s $(TARGET)/native-static-libs ] || { echo 'stead: rustc names no native-static-libs' >&2; exit 1; }
	@mv $(TARGET)/building $(TARGET)/built

# needs only cargo and maturin, which is installed into .venv-wheel unless .venv or PATH has it. PORTABLE=1
# also installs zig there, and makes a wheel for systems with an older glibc than this one's.
wheel: setup
	@scripts/python-module $(if $(PORTABLE),--portable,--wheel)

book: setup
	@scripts/book

# builds in a copy, so that no file is written beside the sources
perl: setup
	@scripts/perl-module --test

# builds in a copy, too
php-extension: setup
	@scripts/php-extension

perl-dist: setup
	@scripts/perl-module --dist

dist:
	@scripts/setup --dist
	@$(PYTHON) packaging/dist/run.py $(ARGS)

test-dist:
	@scripts/setup --dist
	@$(PYTHON) tests/dist/run.py $(ARGS)

# examples/demo.py starts cargo (examples/quick.py)
demo:
	@scripts/setup --languages
	@$(PYTHON) examples/demo.py

# its clients from PyPI and npm are installed into .venv-agree
demo-agree:
	@scripts/setup --tests
	@$(CARGO) build --release --locked -q -p stead-cli -p stead-capi
	@scripts/python-module || echo '== continuing without the Python module'
	@$(PYTHON) -B tests/agree/run.py $(ARGS)

# the same selection of packages as in `make build`, since the module for Perl asks for that, too
demo-site:
	@scripts/setup --site
	@echo '== building stead, stead-sync and libstead (release)'
	@$(CARGO) build --release --locked -q -p stead-cli -p stead-sync -p stead-rrd -p stead-capi
	@$(PYTHON) examples/site/run.py $(ARGS)

test: setup
	@$(PYTHON) scripts/suites.py --set-up
	@$(PYTHON) scripts/suites.py

# the formatters from PyPI are installed with the packages for the tests
format:
	@[ -x .venv/bin/ruff ] || scripts/setup --tests
	@scripts/format

# the Rust rings come from crates.io (benches/peers/rust/Cargo.lock), the Python rings from PyPI
bench: wheel
	@scripts/setup --peers
	@scripts/peers-venv
	@$(PYTHON) -B benches/peers/run.py $(ARGS)

bench-instructions: setup
	@$(PYTHON) -B benches/instructions/check.py --record

bench-c: setup
	@$(CARGO) build --release --locked -q -p stead-capi
	@$(CARGO) run --release --locked -q -p stead-capi --example locate_cost -- $(TARGET)/release/libstead.so

bench-md5: setup
	@$(CARGO) run --release --locked -q -p stead --example md5_cost

bench-batch: setup
	@$(CARGO) run --release --locked -q -p stead --example batch_cost

bench-single: setup
	@$(CARGO) run --release --locked -q -p stead --example single_cost

bench-flood: setup
	@$(CARGO) run --release --locked -q -p stead --example flood $(ARGS)

bench-open: setup
	@$(CARGO) run --release --locked -q -p stead --example open_cost

COUNT ?= 20000000
bench-count: setup
	@$(CARGO) build --release --locked -q -p stead-cli --bin stead --example names
	@$(PYTHON) benches/count/run.py --count $(COUNT) $(ARGS)

bench-python: wheel
	@scripts/rings-venv
	@.venv-rings/bin/python benches/python/run.py $(ARGS)

bench-engines: setup
	@scripts/setup --tests
	@.venv/bin/python scripts/python-module
	@.venv/bin/python benches/python/engines.py $(ARGS)

bench-php: setup
	@scripts/setup --tests
	@$(PYTHON) benches/php/run.py $(ARGS)

bench-perl: setup
	@scripts/perl-module >/dev/null
	@$${PERL:-perl} -Mblib=$(TARGET)/perl/Stead benches/perl/run.pl $(ARGS)

bench-growth: setup
	@$(CARGO) run --release --locked -q -p stead --example growth -- $(or $(ARGS),--1000)

bench-widest: setup
	@$(CARGO) run --release --locked -q -p stead --example widest -- $(ARGS)

# Swift takes minutes to install, which the help can do without
bench-balance: $(if $(findstring --help,$(ARGS)),,program .venv-swift/ready)
	@$(PYTHON) benches/balance/run.py $(ARGS)

# ARGS=--measure runs real carries, too, which take some minutes
scale: setup
	@scripts/setup --tests
	@scripts/python-module
	@$(if $(findstring --measure,$(ARGS)),$(CARGO) build --release --locked -q -p stead-cli -p stead-sync)
	@.venv/bin/python benches/scale/run.py $(or $(ARGS),--page)

# OR-tools, when it is in .venv, checks the results a second time
bench-optimum: program
	@scripts/setup --tests
	@scripts/python-module
	@python=.venv/bin/python; [ -x $$python ] || python=$(PYTHON); $$python benches/balance/tight_fleets.py $(ARGS)

bench-rrd: setup
	@$(PYTHON) benches/rrd/run.py $(ARGS)

bench-rrd-calls: setup
	@$(PYTHON) benches/rrd/calls.py $(ARGS)

bench-collectd: setup
	@$(PYTHON) benches/rrd/collectd.py $(ARGS)

.venv-swift/ready: benches/balance/requirements.txt
	@echo '== making .venv-swift, with OpenStack Swift (benches/balance/requirements.txt)'
	@$(PYTHON) -m venv .venv-swift
	@.venv-swift/bin/python -m pip install -q --disable-pip-version-check --no-deps -r benches/balance/requirements.txt
	@.venv-swift/bin/python -c 'from swift.common.ring import RingBuilder'
	@touch $@

test-spark: wheel
	@scripts/spark-venv
	@.venv-spark/bin/python -m pytest -q python/tests/engines/test_spark.py python/tests/engines/test_spark_moved.py

kills:
	@scripts/setup --tests
	@scripts/python-module
	@STEAD_KILLS=25 .venv/bin/python -m pytest -q -p no:cacheprovider tests/sync/test_carry_servers.py

faults:
	@scripts/setup --tests
	@$(CARGO) test --release --locked -q -p stead --test memory --test all --test reloads -- --ignored
	@$(PYTHON) -B tests/faults/run.py --long
	@$(PYTHON) -B tests/hostile/run.py --long
	@$(CARGO) run --release --locked -q -p stead-fuzz --example bytes

# without a network: ARGS='licenses bans sources'
deny:
	@$(CARGO) deny --version >/dev/null 2>&1 || { echo 'stead: cargo-deny is missing; install it: cargo install --locked cargo-deny' >&2; exit 1; }
	@$(CARGO) deny check $(ARGS)

# These four say in one line which tool they lack, and install nothing.
miri:
	@$(PYTHON) -B tests/campaigns/miri.py $(ARGS)

tsan:
	@$(PYTHON) -B tests/campaigns/tsan.py $(ARGS)

coverage:
	@$(PYTHON) -B tests/campaigns/coverage.py $(ARGS)

mutants:
	@$(PYTHON) -B tests/campaigns/mutants.py $(ARGS)

test-cross:
	@scripts/setup --cross
	@$(PYTHON) -B tests/cross/run.py $(ARGS)

# where there are no files of Unix, maps are read from bytes
check-targets:
	@for target in wasm32-unknown-unknown x86_64-pc-windows-gnu aarch64-apple-darwin; do \
		echo "== $$target"; \
		rustup -q target add $$target 2>/dev/null || true; \
		$(CARGO) check -q --locked -p stead --target $$target || exit 1; \
	done

fuzz:
	@$(PYTHON) -B tests/fuzz/run.py $(ARGS)

# The run prints its seed, so that a finding can be repeated: add the seed to SEEDS in
# tests/rrd/test_hostile.py.
LINES ?= 1000000
SEED ?= $(shell date +%s)
fuzz-rrd: setup
	@$(PYTHON) tests/rrd/rrd_same.py --lines $(LINES) --seed $(SEED)

faults-rrd:
	@scripts/setup --tests
	@STEAD_RRD_LONG=1 .venv/bin/python -m pytest -q -p no:cacheprovider tests/rrd/test_standby.py tests/rrd/test_keepalived.py

test-upgrade:
	@scripts/setup --tests
	@scripts/test-upgrade $(FROM)

ROWS ?= 100000000
test-kernels:
	@$(PYTHON) tests/kernels/run.py $(ARGS)

bench-spark: wheel
	@scripts/spark-venv
	@.venv-spark/bin/python benches/spark/run.py --rows $(ROWS) $(ARGS)

header: setup
	@$(CARGO) run --locked -q -p stead-header

pictures: program
	@$(PYTHON) -B scripts/pictures.py --program $(TARGET)/release/stead

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
	@rm -rf .venv-swift .venv-wheel .venv-spark .venv-rings .venv-rings-tests .venv-agree .venv-peers
