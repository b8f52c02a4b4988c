"""The distribution as CPAN sees it: its list of files, its archive, a build from the
archive with an installed libstead, and builds that must be refused.
"""

import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from perl_module import DIST, ENV, LIBRARIES, MODULE, PERL, SOURCES
from web_server import ROOT

FIRST = """
use strict; use warnings; use Stead;
my $map = Stead::Map->build({ name => 'members', node => [{ name => 'db1' }, { name => 'db2', weight => '1.5' }] });
print $map->locate('frank'), ' ', $INC{'Stead.pm'}, "\\n";
"""


def run(command, folder, **environment):
    """Returns the output of a command, its error output, and its exit code."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=dict(ENV, **environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def good(command, folder, **environment):
    """Returns the output of a command that must succeed."""
    code, said = run(command, folder, **environment)
    assert code == 0, f"{command}: exit {code}\n{said[-4000:]}"
    return said


def tracked():
    """Returns the files of the distribution that git has or would add."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z", "."]
    listed = subprocess.run(command, cwd=SOURCES, capture_output=True, check=True)
    names = {name for name in listed.stdout.decode().split("\0") if name}
    return {name for name in names if (SOURCES / name).exists()} - {".gitignore"}


@pytest.fixture
def copy(tmp_path):
    """A clean export: what git has of the sources, and nothing else."""
    for name in tracked():
        path = tmp_path / "copy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCES / name, path)
    return tmp_path / "copy"


@pytest.fixture
def unpacked(tmp_path, copy):
    """The archive that make perl-dist makes of a clean export, unpacked."""
    archive = Path(DIST(str(copy), str(tmp_path / "made")))
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "fresh", filter="data")
    (folder,) = (tmp_path / "fresh").iterdir()
    assert archive.name == f"{folder.name}.tar.gz"
    return folder


@pytest.fixture
def prefix(tmp_path):
    """The part of the layout of `make install PREFIX=` that matters here;
    tests/install.py checks all of it.
    """
    found = tmp_path / "opt" / "stead"
    (found / "include").mkdir(parents=True)
    (found / "lib" / "pkgconfig").mkdir(parents=True)
    shutil.copy(ROOT / "include" / "stead.h", found / "include")
    shutil.copy(LIBRARIES / "libstead.so", found / "lib" / "libstead.so.1")
    os.symlink("libstead.so.1", found / "lib" / "libstead.so")
    text = (ROOT / "scripts" / "templates" / "stead.pc.in").read_text()
    for name, value in {
        "PREFIX": found,
        "PC_LIBDIR": found / "lib",
        "PC_INCLUDEDIR": found / "include",
        "VERSION": "0.1.0",
        "STATIC_LIBS": "",
    }.items():
        text = text.replace(f"@{name}@", str(value))
    (found / "lib" / "pkgconfig" / "stead.pc").write_text(text)
    return found


def built_and_installed(folder, *arguments, **environment):
    """Runs perl Makefile.PL, make, make test, make install; then uses the module where
    it was installed.
    """
    said = good([PERL, "Makefile.PL", *arguments], folder, **environment)
    assert "WARNING" not in said and "not a known" not in said, said
    good(["make"], folder)
    assert "Result: PASS" in good(["make", "test"], folder)
    root = folder / "root"
    good(["make", "install", f"DESTDIR={root}"], folder)
    (there,) = (path for path in root.rglob("Stead.pm"))
    arch = next(path for path in root.rglob("auto/Stead/Stead.so")).parents[2]
    node, used = good(
        [PERL, "-w", f"-I{arch}", f"-I{there.parent}", "-e", FIRST], folder
    ).split()
    assert node == "db1" and used.startswith(str(root))
    assert [path for path in root.rglob("*.3*") if path.name.startswith("Stead::Map.")]


def test_the_archive_has_every_file_and_installs_alone(unpacked, prefix):
    files = {
        str(path.relative_to(unpacked))
        for path in unpacked.rglob("*")
        if path.is_file()
    }
    assert files == tracked() | {"META.json", "META.yml"}
    manifest = (unpacked / "MANIFEST").read_text().splitlines()
    assert {line.split()[0] for line in manifest} == files
    built_and_installed(unpacked, f"STEAD_PREFIX={prefix}")


def test_its_metadata_says_what_cpan_wants_to_know(unpacked):
    meta = json.loads((unpacked / "META.json").read_text())
    version = re.search(r"VERSION = '(.*)'", (unpacked / "lib/Stead.pm").read_text())[1]
    assert (meta["name"], meta["version"]) == ("Stead", version)
    assert unpacked.name == f"Stead-{version}"
    assert meta["license"] == ["mit", "apache_2_0"]
    assert meta["meta-spec"]["version"] == 2
    # without a Makefile, Makefile.PL has more to say than META.json
    assert meta["dynamic_config"] == 1
    assert meta["prereqs"]["runtime"]["requires"]["perl"] == "5.014"
    # every module that the code uses is named, or comes with every Perl
    used = {
        name
        for path in unpacked.rglob("*.pm")
        for name in re.findall(
            r"^(?:use|require) ([A-Z][\w:]+)", path.read_text(), re.MULTILINE
        )
    }
    named = set(meta["prereqs"]["runtime"]["requires"])
    assert {name for name in used if not name.startswith("Stead")} == named - {"perl"}
    versions = {
        re.search(r"VERSION = '(.*)'", path.read_text())[1]
        for path in unpacked.rglob("*.pm")
    }
    assert versions == {version}


def test_the_same_sources_make_the_same_archive(copy, tmp_path):
    made = []
    for folder in ("one", "another"):
        for path in copy.rglob("*"):
            os.utime(path, (len(made) * 10**6, 10**9))
        made.append(Path(DIST(str(copy), str(tmp_path / folder))).read_bytes())
    assert made[0] == made[1]
    (copy / "README").write_text("another")
    assert Path(DIST(str(copy), str(tmp_path / "one"))).read_bytes() != made[0]


def test_an_archive_without_libstead_is_no_failure(unpacked, tmp_path):
    said = refused(unpacked, "Makefile.PL", f"STEAD_PREFIX={tmp_path / 'nowhere'}")
    assert said.startswith("Stead cannot be built here: libstead is missing")


def test_the_build_in_the_tree_leaves_nothing_that_git_sees(tmp_path, prefix):
    """As docs/perl.md shows it: perl Makefile.PL && make && make test, in the tree."""
    tree = tmp_path / "tree"
    shutil.copytree(SOURCES, tree)
    for command in (["git", "init", "-q"], ["git", "add", "."]):
        good(command, tree)
    good([PERL, "Makefile.PL", f"STEAD_PREFIX={prefix}"], tree)
    good(["make"], tree)
    good(["make", "dist"], tree)
    untracked = ["git", "ls-files", "--others", "--exclude-standard"]
    assert (tree / "blib").exists() and good(untracked, tree) == ""
    # the control: without the list of what is ignored they are seen
    assert "blib/" in good(["git", "ls-files", "--others"], tree)


def test_constants_and_classes_are_those_of_the_header():
    header = (ROOT / "include" / "stead.h").read_text()
    block = header[: header.index("} stead_status;")].rpartition("typedef enum {")[2]
    wanted = {
        name: int(number) for name, number in re.findall(r"(STEAD_\w+) = (\d+)", block)
    }
    assert wanted.pop("STEAD_OK") == 0 and len(wanted) > 14
    text = (SOURCES / "lib" / "Stead" / "Error.pm").read_text()
    code, _, pod = text.partition("__END__")
    assert wanted == {
        name: int(number)
        for name, number in re.findall(r"(STEAD_\w+)\s*=> (\d+),", code)
    }
    documented = re.findall(r"^=item (STEAD_\w+) \((\d+)\), (\S+)$", pod, re.MULTILINE)
    assert {name: int(number) for name, number, _ in documented} == wanted
    thrown = dict(
        re.findall(
            r'case (STEAD_\w+):\s*return "(\S+)"', (SOURCES / "held.h").read_text()
        )
    )
    assert thrown == {name: class_ for name, _, class_ in documented}
    have = "print join ' ', grep { $_->isa('Stead::Error') } @ARGV"
    classes = sorted(thrown.values())
    said = good([PERL, f"-Mblib={MODULE}", "-MStead", "-e", have, *classes], ROOT)
    assert said.split() == classes and len(set(classes)) == len(wanted)


def test_a_file_that_is_not_listed_is_seen(copy, prefix):
    (copy / "lib" / "Stead" / "More.pm").write_text("package Stead::More; 1;\n")
    good([PERL, "Makefile.PL", f"STEAD_PREFIX={prefix}"], copy)
    assert "lib/Stead/More.pm" in run(["make", "distcheck"], copy)[1]


@pytest.mark.skipif(
    not shutil.which("pkg-config"), reason="pkg-config is not installed"
)
def test_pkg_config_says_where_the_library_is(copy, prefix):
    built_and_installed(copy, PKG_CONFIG_PATH=str(prefix / "lib" / "pkgconfig"))


def refused(copy, *arguments, **environment):
    """Returns the message of a Makefile.PL that exits with 0 and writes no Makefile,
    which CPAN's testers report as NA and not as a failure.
    """
    said = good([PERL, *arguments], copy, **environment)
    assert not (copy / "Makefile").exists() and len(said.splitlines()) == 1, said
    return said


def test_a_missing_library_is_no_failure_and_says_what_to_do(copy, tmp_path):
    nowhere = str(tmp_path / "nowhere")
    said = refused(copy, "Makefile.PL", f"STEAD_PREFIX={nowhere}")
    assert (
        said.startswith(
            f"Stead cannot be built here: libstead is missing (asked: STEAD_PREFIX={nowhere})"
        )
        and "STEAD_PREFIX=/opt/stead" in said
    )
    assert "STEAD_PREFIX=/nowhere" in refused(
        copy, "Makefile.PL", STEAD_PREFIX="/nowhere"
    )
    assert "INC=-I/nowhere" in refused(
        copy, "Makefile.PL", "INC=-I/nowhere", "LIBS=-L/nowhere -lstead"
    )
    assert "asked: pkg-config" in refused(
        copy, "Makefile.PL", PKG_CONFIG="false", CPATH="", LIBRARY_PATH=""
    )


def test_a_perl_of_32_bits_is_refused(copy, prefix):
    said = refused(
        copy,
        "-MConfig",
        "-e",
        "(tied %Config)->{uvsize} = 4; do './Makefile.PL'; die $@ if $@",
        f"STEAD_PREFIX={prefix}",
    )
    assert "needs a Perl for 64 bits" in said
