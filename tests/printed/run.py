"""Runs the install lines of the guides as they are printed, each guide on a machine of its
own (machine.py), and then uses what they installed.

    python3 tests/printed/run.py [PAGE ...]     only the pages whose names have one of these words

Every shell block of these pages is in KNOWN: it is run, or there is a reason why not.
The suites before this one have built what the lines build, so that building again is
quick; a line that builds nothing on this machine still has to succeed.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import machine
import questions
from machine import APPLICATION, HOME, ROOT

# ---- the pages

RUN = "run"
# (page, heading, a word of the block or "", RUN or the reason why it is not run). The
# first row that fits a block counts.
KNOWN = [
    ("README.md", "Try it", "", RUN),
    ("docs/install.md", "The program, the C library and the manual", "", RUN),
    (
        "docs/install.md",
        "Packages",
        "",
        "make test-dist installs the packages, in a clean system",
    ),
    ("docs/c-api.md", "Compile and link", "", RUN),
    ("docs/php.md", "Install the extension", "", RUN),
    ("docs/php.md", "Install the package", "", RUN),
    (
        "docs/php.md",
        "PHP's own sessions",
        "",
        "it carries sessions between servers; tests/rings/test_sessions.py does so",
    ),
    ("docs/quick-start.md", "Quick start", "", RUN),
    ("docs/quick-start.md", "Shell", "", RUN),
    ("docs/quick-start.md", "Python", "", RUN),
    ("docs/quick-start.md", "PHP", "", RUN),
    ("docs/quick-start.md", "Perl", "perl Makefile.PL", RUN),
    ("docs/quick-start.md", "Perl", "where.pl", RUN),
    ("docs/quick-start.md", "C", "", RUN),
    ("docs/perl.md", "Install", "", RUN),
    ("docs/perl.md", "In a server", "starman", "tests/perl runs it under Starman"),
    ("docs/python.md", "Install", "", RUN),
    (
        "docs/rrd.md",
        "Ten minutes to the first setup",
        "NETWORK_OPTIONS=",
        "these are the settings of Debian's rrdcached, and no commands",
    ),
    (
        "docs/rrd.md",
        "Ten minutes to the first setup",
        "LISTEN=",
        "these are the settings of the unit, and no commands",
    ),
    ("docs/rrd.md", "Ten minutes to the first setup", "stead-rrd-files.service", RUN),
    ("docs/rrd.md", "Ten minutes to the first setup", "stead apply", RUN),
    (
        "docs/rrd.md",
        "Ten minutes to the first setup",
        "stead-rrd status",
        "it asks a router that systemd runs; tests/rrd runs the router and its status",
    ),
    (
        "docs/rrd.md",
        "Ten minutes to the first setup",
        "rsync",
        "it copies to four other machines",
    ),
    (
        "docs/rrd-clients.md",
        "What an answer means",
        "OPTIONS=",
        "these are the settings of the unit, and no commands",
    ),
    (
        "docs/rrd-clients.md",
        "rrdtool",
        "",
        "tests/rrd/test_clients.py runs real clients",
    ),
    (
        "docs/rrd-tls.md",
        "Setting it up",
        "umask 077",
        "tests/rrd/test_tls.py runs these commands",
    ),
    (
        "docs/rrd-tls.md",
        "Setting it up",
        "OPTIONS=",
        "tests/rrd/test_tls.py uses these settings",
    ),
    (
        "docs/rrd-tls.md",
        "Setting it up",
        "LISTEN=",
        "tests/rrd/test_tls.py uses these settings",
    ),
    (
        "docs/rrd-operations.md",
        "When a server dies",
        "stead-rrd move",
        "it asks a router that systemd runs; tests/rrd removes and adds servers",
    ),
    (
        "docs/rrd-operations.md",
        "Retiring a host",
        "",
        "tests/rrd/test_operations.py does what it says",
    ),
    (
        "docs/rrd-operations.md",
        "Copies where the map places none",
        "",
        "tests/rrd/test_check.py runs these commands",
    ),
    (
        "docs/rrd-operations.md",
        "Are my copies the same?",
        "stead-rrd check",
        "it asks a router that systemd runs; tests/rrd/test_check.py checks copies",
    ),
    (
        "docs/rrd-reference.md",
        "Ports",
        "",
        "it changes the settings of the whole machine",
    ),
    (
        "docs/rrd-reference.md",
        "Options of the unit",
        "OPTIONS=",
        "these are the settings of the unit, and no commands",
    ),
    (
        "docs/rrd-two-routers.md",
        "Setting it up",
        "OPTIONS=",
        "these are the settings of the unit, and no commands",
    ),
    (
        "docs/rrd-two-routers.md",
        "When the primary dies: promote",
        "stead-rrd promote",
        "it asks a standby that systemd runs; tests/rrd/test_standby.py promotes",
    ),
    ("docs/rrd.md", "Adding a server", "", "tests/rrd adds servers to running routers"),
    (
        "docs/rrd.md",
        "Going back",
        "stead rollback",
        "it asks a router that systemd runs; tests/rrd moves files between epochs",
    ),
    ("docs/carry.md", "Try it on one machine", "", RUN),
    ("docs/wrong-places.md", "carry audit: items at wrong places", "", RUN),
    (
        "docs/carry-reference.md",
        "Steps by hand",
        "",
        "it needs hosts and a hub; tests/sync/test_steps.py takes these steps",
    ),
    (
        "docs/carry-reference.md",
        "Verifying again",
        "# with absent =",
        "it needs a carry that has stopped, and items that are lost",
    ),
    (
        "docs/carry-files.md",
        "Mounts",
        "umount /srv/nas7",
        "it needs a disk of its own, mounted there",
    ),
    (
        "docs/carry.md",
        "Carrying data: stead-sync carry",
        "",
        "it needs hosts and a hub; tests/sync carries",
    ),
    (
        "docs/carry-command.md",
        "Many keys at once",
        "",
        "it needs a program check-box; tests/sync/batch_tool.py is one",
    ),
    (
        "docs/site.md",
        "A site in a box: make demo-site",
        "",
        "it takes minutes; tests/site runs the demo",
    ),
    (
        "docs/scale.md",
        "Your own site",
        "",
        "it measures or plays for minutes; benches/scale has its tests",
    ),
    (
        "docs/security.md",
        "Who may write what",
        "chgrp",
        "it gives a map to the group of a web server",
    ),
    (
        "docs/security.md",
        "Who may write what",
        "usermod",
        "it changes a user of the system",
    ),
    (
        "docs/faq.md",
        "Where do I keep the fleet file, and can CI apply it?",
        "",
        "it needs a hub; tests/sync/test_questions.py runs it",
    ),
    (
        "docs/sync.md",
        "From one host to fifty",
        "",
        "it needs an etcd at another machine; tests/sync runs these verbs",
    ),
    (
        "docs/sync.md",
        "A shared directory",
        "install -d",
        "it needs a group stead; tests/sync/test_operators.py does the same with another one",
    ),
    (
        "docs/sync.md",
        "Two operators at once",
        "",
        "it needs an etcd at another machine; tests/sync runs these verbs",
    ),
    (
        "docs/wrong-places.md",
        "The change was pushed",
        "for node in nas1",
        "it compares directories of nodes and needs a hub; tests/sync runs its first line",
    ),
    (
        "docs/wrong-places.md",
        "The change was pushed",
        "while IFS",
        "it reads the list of the block before it; tests/sync runs it",
    ),
    (
        "docs/wrong-places.md",
        "Keys of Redis, and rows",
        "--scan",
        "it reads servers at other machines",
    ),
    (
        "docs/wrong-places.md",
        "Keys of Redis, and rows",
        "COPY members FROM",
        "it copies between servers at other machines; tests/sync does so with its own",
    ),
    (
        "docs/wrong-places.md",
        "Keys of Redis, and rows",
        "DEL anna",
        "it deletes at servers at other machines; tests/sync does so with its own",
    ),
    (
        "docs/sync.md",
        "Who gets in",
        "etcdctl role",
        "it needs an etcd with users; tests/sync makes such calls of one",
    ),
    (
        "docs/sync.md",
        "etcd in ten lines",
        "etcdctl compact",
        "it needs an etcd that is full; tests/sync makes the same calls of one",
    ),
    (
        "docs/sync.md",
        "When the hub was restored from a backup",
        "stead-sync push",
        "it needs an etcd at another machine; tests/sync runs these verbs",
    ),
    (
        "docs/operations.md",
        "Undo",
        "stead-sync push",
        "it needs an etcd at another machine; tests/sync runs these verbs",
    ),
    (
        "docs/sync.md",
        "etcd in ten lines",
        "etcd --data-dir",
        "it is a server that stays; tests/sync starts one",
    ),
    (
        "docs/sync.md",
        "When is the map in use?",
        "--exec",
        "it runs until it is stopped; tests/sync runs watches with commands",
    ),
]
# lines of blocks that are run, and why they are left out
LEFT_OUT = {
    ("README.md", "make demo"): "it takes minutes; tests/demo runs what ends it",
    ("README.md", "make demo-site"): "tests/site runs it",
}
# (page, heading, title of the column) of the tables whose commands are run
TABLES = [
    ("docs/install.md", "Languages", "how"),
]
# languages of these tables whose cells have no commands
NO_COMMANDS = {
    "Rust": "it is a line of Cargo.toml, as crates/stead-cli has it",
    "another": "it is advice",
}
PAGES = list(dict.fromkeys(row[0] for row in KNOWN))


class Block:
    """A shell block of a page."""

    def __init__(self, page, heading, line, text):
        self.page, self.heading, self.line, self.text = page, heading, line, text

    def __str__(self):
        return f"{self.page}:{self.line}"


# the languages of the files that a page may show
SHOWN = ("bash", "toml", "c", "perl", "php", "python")


def blocks(page, text):
    """Returns the shell blocks of a page, and the files that it shows: blocks whose first
    line is a comment with nothing but the name, such as `# NAME` in TOML. In PHP it is the
    line after `<?php`.
    """
    found, files, heading, fence = [], {}, "", None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*```+\s*(\S*)", line)
        if mark and fence is None:
            fence, start, body = mark[1], number + 1, []
        elif mark:
            head = body[body[:1] == ["<?php"] :][:1]
            shown = re.match(r"(?:#|//|/\*) (\S+\.\w+)(?: \*/)?$", "".join(head))
            if fence == "sh":
                found.append(Block(page, heading, start, "\n".join(body) + "\n"))
            elif shown and fence in SHOWN:
                files[shown[1]] = "\n".join(body) + "\n"
            fence = None
        elif fence is not None:
            body.append(line)
        elif title := re.match(r"#+ (.*)$", line):
            heading = title[1]
    return found, files


def treatment(block, known):
    """Returns the row of KNOWN that fits a block; None when there is none."""
    for row in known:
        page, heading, word, _ = row
        if (page, heading) == (block.page, block.heading) and word in block.text:
            return row
    return None


def unknown(found, known):
    """Returns the blocks that KNOWN lacks, each with what to do."""
    return [
        f"{block}: the block under {block.heading!r} that begins with "
        f"{block.text.splitlines()[0]!r} is not known to tests/printed/run.py: add it to "
        "KNOWN, to be run or with the reason why not"
        for block in found
        if treatment(block, known) is None
    ]


def read(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return file.read()


# ---- running

# the directory of the example in C
EXAMPLE = f"{HOME}/where"
# lines that are run elsewhere than in the source tree, since the pages say so
ELSEWHERE = {"composer ": APPLICATION, "cc ": EXAMPLE}
# but not those of this page, whose guide says where each block is run
IN_ITS_FOLDER = ("docs/quick-start.md",)


def parts(page, text, folder):
    """Splits a block into (directory, lines); lines of LEFT_OUT are dropped."""
    found = []
    for line in text.splitlines():
        if any(page == where and line.startswith(word) for where, word in LEFT_OUT):
            continue
        named = [ELSEWHERE[word] for word in ELSEWHERE if line.startswith(word)]
        if page in IN_ITS_FOLDER:
            named = []
        where = named[0] if named else folder
        if found and (found[-1][0] == where or not line.strip()):
            found[-1][1].append(line)
        else:
            found.append((where, [line]))
    return [(where, "\n".join(lines).strip("\n")) for where, lines in found]


def cells(text, heading, column):
    """Returns {language: the code of a cell} of the table under a heading."""
    rows = re.search(
        rf"^#+ {re.escape(heading)}$(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL
    )[1]
    rows = [
        re.split(r" *\| *", line)[1:-1] for line in rows.splitlines() if "|" in line
    ]
    at = rows[0].index(column)
    return {row[0]: re.findall(r"`([^`]+)`", row[at]) for row in rows[2:]}


def of_cell(page, code):
    """Returns (directory, text) of the commands of a cell. A directory of the tree among
    them is where the last of them is run.
    """
    folders = [one for one in code if os.path.isdir(os.path.join(ROOT, one))]
    lines = [one for one in code if one not in folders]
    if folders:
        lines[-1] = f"cd {folders[0]} && {lines[-1]}"
    return parts(page, "\n".join(lines), ROOT)


def script(steps):
    """Returns the script of a guide: (what, directory, text) of each step."""
    lines = [
        "mkdir -p /path/to",
        "ln -s " + shlex.quote(ROOT) + " /path/to/stead",
        f'echo \'{{"name": "test/application"}}\' >{APPLICATION}/composer.json',
    ]
    for what, folder, text in steps:
        lines += [
            f"echo {shlex.quote('== ' + what)}",
            f"cd {shlex.quote(folder)} || exit 9",
            f"sh -e -c {shlex.quote(text)} || exit 1",
        ]
    return "\n".join(lines) + "\necho '== done'\n"


# ---- what must work then

FLEET = (
    "name = 'members'\n[[node]]\nname = 'db1'\n[[node]]\nname = 'db2'\nweight = 1.5\n"
)


def says(program):
    """A check: a command that prints db1, where frank lives, as in README.md."""
    return f'said=$({program}); test "$said" = db1 || {{ echo "$said"; exit 1; }}'


def stead(program):
    """A check: a program that applies and locates."""
    return (
        f"printf %s {shlex.quote(FLEET)} >fleet.toml\n"
        f"{program} apply fleet.toml members.map >/dev/null\n"
        + says(f"{program} locate members.map frank | cut -f 2")
    )


def where(program):
    """A check: the example in C, which the page compiled, locates frank."""
    return says(f"{program} members.map frank | cut -f 2")


GIVEN = shlex.quote(FLEET)
PERL = says(
    "perl -MStead -e 'print Stead::Map->build($ARGV[0])->locate(q(frank))' " + GIVEN
)
PYTHON = says(
    "python -c 'import stead, sys; "
    'print(stead.Map.build(sys.argv[1]).locate("frank"))\' ' + GIVEN
)
PHP = says(
    'php -r \'require "vendor/autoload.php"; '
    'echo Stead\\Map::build($argv[1])->locate("frank");\' ' + GIVEN
)
SYSTEM = (HOME, stead("/usr/local/bin/stead"))
C = [
    (EXAMPLE, stead("/usr/local/bin/stead")),
    (EXAMPLE, where("./where-archive")),
    (EXAMPLE, where("./where-static")),
    # as for every library in /usr/local/lib
    (EXAMPLE, "ldconfig\n" + where("./where")),
]
TO_EXAMPLE = (HOME, f"mkdir where && cp {shlex.quote(ROOT)}/examples/c/where.c where")
VENV = (HOME, "python3 -m venv venv")
# make wheel downloads it where it is missing
MATURIN = os.path.join(ROOT, ".venv", "bin", "maturin")


# a sentence of docs/php.md says so
INSTALLED = (ROOT, "sudo make -s install && sudo ldconfig")


class Guide:
    """A page, or some blocks of it: what is made ready on a machine, which blocks are
    run there, and what must work then.
    """

    def __init__(
        self,
        page,
        checks,
        before=(),
        headings=(),
        blocks=None,
        after=None,
        needs=(),
        first=None,
    ):
        self.page, self.checks, self.before = page, checks, before
        # a guide of another page, whose steps come first: this page goes on where it ends
        self.first = first
        # only the blocks under these headings, and of them those with these numbers;
        # all without either
        self.headings, self.blocks = headings, blocks
        # {number of a block: (directory, text) of what the page says between this
        # block and the next, and the directory of the next}
        self.after = after or {}
        self.needs = needs

    def own(self, found):
        """The blocks of the page that this guide runs."""
        found = [b for b in found if b.page == self.page]
        found = [b for b in found if not self.headings or b.heading in self.headings]
        return [
            b for i, b in enumerate(found) if self.blocks is None or i in self.blocks
        ]

    def steps(self, found, files):
        """Returns (what, directory, text) of each step."""
        steps = [("before", folder, text) for folder, text in self.before]
        if self.first:
            there, _ = blocks(self.first.page, read(self.first.page))
            steps += self.first.steps(to_run(there), {})
        for name, text in files.items():
            put = f"printf %s {shlex.quote(text)} >{name}"
            steps.append((f"{self.page} shows {name}", ROOT, put))
        folder = ROOT
        for number, block in enumerate(self.own(found)):
            for there, text in parts(self.page, block.text, folder):
                steps.append((f"{block}: {text.splitlines()[0]}", there, text))
            if number in self.after:
                text, folder = self.after[number]
                steps.append(("between", HOME, text))
        return steps


class Table:
    """A table of TABLES: the commands of all its rows, on one machine."""

    def __init__(self, page, heading, column):
        self.page, self.heading, self.column = page, heading, column
        self.needs = ("cc", "pkg-config", "perl", "php", "composer", MATURIN)
        self.before = [VENV, TO_EXAMPLE, (ROOT, "make -s build")]
        self.checks = [SYSTEM, (HOME, PERL), (APPLICATION, PHP), (HOME, PYTHON)]

    def own(self, found):
        """No block."""
        return []

    def steps(self, found, files):
        """Returns (what, directory, text) of each step."""
        text = read(self.page)
        steps = [("before", folder, text_) for folder, text_ in self.before]
        for language, code in cells(text, self.heading, self.column).items():
            if language in NO_COMMANDS:
                continue
            for there, lines in of_cell(self.page, code):
                what = f"{self.page}, {language}: {lines.splitlines()[0]}"
                steps.append((what, there, lines))
        return steps


def prints(program):
    """A check: an example of docs/quick-start.md prints what the page says."""
    wanted = "db1 10.0.0.1:3306"
    return (
        f'said=$({program}); test "$said" = "{wanted}" || {{ echo "$said"; exit 1; }}'
    )


MADE = "$HOME/.local/bin/stead apply fleet.toml members.map"
OWN = "LD_LIBRARY_PATH=$HOME/.local/lib"
# what the page says for those who installed for themselves, once more and judged
QUICK = [
    (
        HOME,
        prints(
            "STEAD=/path/to/stead STEAD_LIBRARY=$HOME/.local/lib/libstead.so.1 php where.php"
        ),
    ),
    (HOME, prints(f"PERL5LIB=$HOME/.local/lib/perl5 {OWN} perl where.pl")),
    (HOME, prints("./where")),
]


def questions_of_readme():
    """Returns what the README's table of questions is, as checks, and what is wrong with it."""
    table = cells(read("README.md"), questions.HEADING, questions.COLUMN)
    asked, wrong = questions.commands(table, read("docs/quick-start.md"))
    return [(HOME, says(command)) for command in asked], wrong


TRY = f"{HOME}/try"
# each file is at its node and nowhere else, and there are as many as the page says
CARRIED = """
seq 1000 | sed 's/^/user/' | stead locate photos.map |
    while read -r user node; do echo "$node/$user.jpg"; done | sort >wanted
ls -d nas*/*.jpg | sort | cmp - wanted
test "$(ls nas3 | wc -l)" = 335
stead check photos.map >/dev/null
cmp photos.map web1.map
"""
UNWATCHED = (TRY, "kill $(cat watch.pid)")
TRIED = Guide(
    "docs/carry.md",
    [(TRY, CARRIED), UNWATCHED],
    before=[INSTALLED],
    headings=["Try it on one machine"],
    after={0: ("true", TRY)},
)
ANOTHER = f"{HOME}/another"
COPIED = f"mkdir another && cp {shlex.quote(ROOT)}/target/perl/Stead-*.tar.gz another"
GUIDES = [
    Guide("README.md", [(HOME, stead("$HOME/.local/bin/stead"))]),
    Guide(
        "docs/install.md",
        [
            SYSTEM,
            (HOME, "test -x /tmp/package/usr/bin/stead"),
            (HOME, "test ! -e $HOME/.local/bin/stead && test ! -e /usr/bin/stead"),
            (HOME, 'test -z "$(find $HOME/.local -type f)"'),
        ],
    ),
    Guide("docs/c-api.md", C, before=[TO_EXAMPLE], needs=["cc", "pkg-config"]),
    Guide("docs/perl.md", [(HOME, PERL)], blocks=[0], needs=["perl", "pkg-config"]),
    Guide(
        "docs/perl.md",
        [(HOME, PERL), (HOME, "man -w Stead::Map >/dev/null")],
        before=[INSTALLED],
        blocks=[1, 2],
        after={0: (COPIED, ANOTHER)},
        needs=["perl", "pkg-config", "man"],
    ),
    Guide(
        "docs/php.md",
        [(APPLICATION, PHP)],
        before=[INSTALLED],
        headings=["Install", "Install the package"],
        needs=["php", "composer"],
    ),
    Guide(
        "docs/php.md",
        [(HOME, PHP.replace('require "vendor/autoload.php"; ', ""))],
        before=[INSTALLED],
        headings=["Install the extension"],
        needs=["php", "phpize", "php-config"],
    ),
    Guide("docs/python.md", [(HOME, PYTHON)], before=[VENV], needs=[MATURIN]),
    Guide(
        "docs/rrd.md",
        [
            (ROOT, "stead locate /etc/stead/rrd.map web1/cpu.rrd"),
            (ROOT, "test -f /etc/systemd/system/stead-rrd-files.service"),
        ],
        before=[(ROOT, "make -s install PREFIX=/usr/local")],
    ),
    TRIED,
    Guide(
        "docs/wrong-places.md",
        [(TRY, CARRIED.replace("nas3", "nas4").replace("335", "242")), UNWATCHED],
        first=TRIED,
    ),
    Guide(
        "docs/quick-start.md",
        QUICK + questions_of_readme()[0],
        before=[VENV],
        after={
            0: (
                f"cd {shlex.quote(ROOT)} && cp fleet.toml where.* {HOME} && cd {HOME} && {MADE}",
                HOME,
            ),
            1: (prints("sh where.sh"), ROOT),
            2: (prints(f"{HOME}/venv/bin/python where.py"), HOME),
            3: ("true", ROOT),
            4: ("true", HOME),
            5: ("true", HOME),
        },
        needs=["cc", "pkg-config", "perl", "php", MATURIN],
    ),
    *(Table(*table) for table in TABLES),
]


# without a network, a line that would download something fails
VARIABLES = {
    "COMPOSER_ALLOW_SUPERUSER": "1",
    "COMPOSER_DISABLE_NETWORK": "1",
    "COMPOSER_HOME": f"{HOME}/composer",
    "COMPOSER_NO_INTERACTION": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INDEX": "1",
    "PIP_ROOT_USER_ACTION": "ignore",
}
# a package of that name on the network would hide a mistake in ours
CONFIGURATION = '{"repositories": {"packagist.org": false}}'
NO_PACKAGIST = (
    HOME,
    f"mkdir -p composer && echo '{CONFIGURATION}' >composer/config.json",
)


def run(guide, found, files):
    """Runs a guide. Returns how many of its steps succeeded, and what is wrong."""
    steps = [("no packagist", *NO_PACKAGIST), *guide.steps(found, files)]
    steps += [("check", *check) for check in guide.checks]
    path = f"{HOME}/venv/bin:{HOME}/.local/bin:"
    code, said = machine.run(script(steps), path, **VARIABLES)
    done = re.findall(r"^== (.*)$", said, re.MULTILINE)
    if code == 0 and done[-1:] == ["done"]:
        return len(steps), ""
    return max(0, len(done) - 1), said[-3000:]


def timed(chosen):
    """Runs a guide, given with its blocks and files. Returns what `run` returns, and the
    seconds.
    """
    start = time.monotonic()
    return *run(*chosen), time.monotonic() - start


# ---- controls


def controls():
    """Returns (sentence, whether it is true): what these tests must notice."""
    text = "## Install\n```sh\nmake install\n```\n## More\n```sh\nmake more\n```\n"
    found, _ = blocks("docs/x.md", text)
    wrong = unknown(found, [("docs/x.md", "Install", "", RUN)])
    yield (
        "a block that is not known is named",
        len(wrong) == 1 and wrong[0].startswith("docs/x.md:7: the block under 'More'"),
    )

    class Wrong(Guide):
        def steps(self, found, files):
            # what docs/php.md once said: composer wants a release
            return [
                (
                    "a",
                    APPLICATION,
                    "composer config repositories.stead path /path/to/stead/php",
                ),
                ("b", APPLICATION, "composer require stead/stead"),
            ]

    passed, said = run(Wrong("docs/php.md", []), [], {})
    if shutil.which("composer"):
        yield "a line that does not work is named", passed == 2 and "stability" in said
    _, said = questions.commands({"[Ada](x.md)": ["a"], "Rust": ['locate(b"k")']}, "")
    yield "a question that nobody asks is named", len(said) == 3
    passed, said = run(Guide("docs/php.md", [(HOME, "false")]), [], {})
    yield "a check that fails is named", passed == 1 and bool(said)


def to_run(found):
    """Those of some blocks that are run."""
    rows = [(block, treatment(block, KNOWN)) for block in found]
    return [block for block, row in rows if row and row[3] == RUN]


def main():
    wanted = sys.argv[1:]
    skipped = 0
    pages = {page: blocks(page, read(page)) for page in PAGES}
    every = [block for found, _ in pages.values() for block in found]
    wrong = unknown(every, KNOWN)
    passed = len(every) - len(wrong)
    wrong += questions_of_readme()[1]
    for what in wrong:
        print(f"FAILED: {what}")
    failed = len(wrong)
    why = machine.why_not()
    if why:
        print(f"skipped: {why}")
        print(f"{passed} passed, {failed} failed, {len(GUIDES)} skipped")
        return 1 if failed else 0
    for sentence, good in () if wanted else controls():
        passed, failed = passed + bool(good), failed + (not good)
        if not good:
            print(f"FAILED: {sentence}")
    by_some = [block for guide in GUIDES for block in guide.own(to_run(every))]
    for block in to_run(every):
        if block not in by_some:
            failed += 1
            print(f"FAILED: {block} is to be run, and no guide runs it: see GUIDES")
    # once, and not again on the machine of each guide, which is thrown away
    built = subprocess.run(["make", "-s", "build"], cwd=ROOT, check=False)
    if built.returncode:
        print(f"FAILED: make build ended with {built.returncode}")
        print(f"{passed} passed, {failed + 1} failed, 0 skipped")
        return 1
    chosen = []
    for guide in GUIDES:
        found, files = pages[guide.page]
        found = to_run(found)
        if isinstance(guide, Guide) and not guide.own(found):
            continue
        if wanted and not any(word in guide.page for word in wanted):
            continue
        lacking = [name for name in guide.needs if not shutil.which(name)]
        if lacking:
            skipped += 1
            print(f"skipped: {guide.page}: {', '.join(lacking)} is not installed")
            continue
        chosen.append((guide, found, files))
    with ThreadPoolExecutor(os.cpu_count()) as several:
        ran = several.map(timed, chosen)
        for (guide, *_), (good, said, seconds) in zip(chosen, ran):
            passed, failed = passed + good, failed + bool(said)
            if said:
                print(f"FAILED: {guide.page}\n{said}")
            what = getattr(guide, "heading", "blocks")
            print(f"== {guide.page}, {what}: {good} steps, {seconds:.1f} s", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
