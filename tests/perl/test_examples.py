"""Runs the programs of docs/perl.md and of the manual pages. On a line with `say`, the
text after `#` is the expected output.
"""

import re
import subprocess

import pytest
from perl_module import ENV, MODULE, PERL, SOURCES
from web_server import ROOT

PAGE = ROOT / "docs" / "perl.md"
PODS = sorted((SOURCES / "lib").rglob("*.pm"))
FLEET = """name = "members"
[[node]]
name = "db1"
[[node]]
name = "db2"
weight = 1.5
attributes = { address = "10.0.0.2:3306" }
"""
# frank lives on db1, as in the README; the output is compared as characters
BEGIN = r"""
sub shown {
    my ($line, $wanted, @said) = @_;
    my $said = join '', @said;
    utf8::decode($wanted);
    die "line $line says '$said' and not '$wanted'\n" if $said ne $wanted;
    print "shown\n";
}
BEGIN { require Stead; Stead::Map->build_file('fleet.toml')->publish('members.map') }
"""


def blocks(path):
    """Yields the Perl programs of a page: blocks that are fenced as perl in Markdown,
    and indented blocks in POD. The blocks between two headings are one program.
    """
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        return [
            "\n".join(
                re.findall(r"^```perl\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
            )
        ]
    pod = text.partition("__END__")[2]
    return ["\n".join(line for line in pod.splitlines() if line.startswith("    "))]


def program(text):
    """Returns the program with checks of its output, and the number of checks."""
    count = 0

    def check(match):
        nonlocal count
        count += 1
        indent, said, condition, wanted = match.groups(default="")
        return f"{indent}shown({count}, q\0{wanted}\0, {said}){condition};"

    checking = re.sub(
        r"^( *)say (.*?)( if [^;]*)?;\s+# (.*)$", check, text, flags=re.MULTILINE
    )
    return BEGIN + checking, count


def run(text, folder):
    """Runs a program in a directory with a fleet and its map."""
    (folder / "fleet.toml").write_text(FLEET)
    (folder / "program.pl").write_text("use strict; use warnings;\n" + text, "utf-8")
    return subprocess.run(
        [PERL, f"-Mblib={MODULE}", "program.pl"],
        cwd=folder,
        env=ENV,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("path", [PAGE, *PODS], ids=lambda path: path.name)
def test_programs_say_what_stands_behind_them(path, tmp_path, record_property):
    for text in blocks(path):
        checking, count = program(text)
        if not text.strip():
            assert path.name in ("Fleet.pm",)
            continue
        done = run(checking, tmp_path)
        assert done.returncode == 0 and not done.stderr, done.stderr
        assert done.stdout.count("shown\n") >= count >= 1 or path.name == "Error.pm"
        record_property("lines", count)


def test_a_line_that_says_something_else_is_seen(tmp_path):
    (text,) = blocks(SOURCES / "lib" / "Stead.pm")
    checking, count = program(text.replace("# db1", "# db9", 1))
    done = run(checking, tmp_path)
    assert (
        count > 3
        and done.returncode != 0
        and "line 1 says 'db1' and not 'db9'" in done.stderr
    )
