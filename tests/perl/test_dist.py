"""The distribution as CPAN sees it: its list of files, its archive, a build from the
archive with an installed libstead, and builds that must be refused.
"""

import os
import shutil
import subprocess
import tarfile

import pytest
from perl_module import ENV, LIBRARIES, PERL, SOURCES
from web_server import ROOT

FIRST = """
use strict; use warnings; use Stead;
my $map = Stead::build({ name => 'members', node => [{ name => 'db1' }, { name => 'db2', weight => '1.5' }] });
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


@pytest.fixture
def copy(tmp_path):
    """A copy of the sources, as in the repository."""
    return shutil.copytree(SOURCES, tmp_path / "copy")


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


def test_an_archive_has_every_file_and_builds_with_a_prefix(copy, prefix):
    good([PERL, "Makefile.PL", f"STEAD_PREFIX={prefix}"], copy)
    assert "not in MANIFEST" not in good(["make", "distcheck"], copy)
    good(["make", "dist"], copy)
    (archive,) = copy.glob("Stead-*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames() if "/" in name}
        tar.extractall(copy / "out", filter="data")
    kept = {
        str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*") if path.is_file()
    }
    assert kept <= names and names - kept <= {
        "META.json",
        "META.yml",
        "lib",
        "lib/Stead",
        "t",
        "xt",
    }
    (folder,) = (copy / "out").iterdir()
    built_and_installed(folder, f"STEAD_PREFIX={prefix}")


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
