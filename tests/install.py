#!/usr/bin/env python3
"""Tests `make install` as users see it: where each file is, that everything works there
and after the tree was moved, and that uninstall removes it.

It installs what `make build` made into temporary directories, once as PREFIX and once
below DESTDIR, and builds examples/c against the result.
"""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
EXAMPLE = os.path.join(ROOT, "examples", "c")
sys.dont_write_bytecode = True

# without variables that a developer may have set, or that a make sets for the makes
# below it
ENV = {
    name: value
    for name, value in os.environ.items()
    if name
    not in (
        "PREFIX",
        "DESTDIR",
        "BINDIR",
        "LIBDIR",
        "INCLUDEDIR",
        "MANDIR",
        "STRIP",
        "MAKEFLAGS",
        "MFLAGS",
        "MAKELEVEL",
        "CFLAGS",
        "LDFLAGS",
        "LDLIBS",
        "LD_LIBRARY_PATH",
        "PKG_CONFIG_PATH",
        "PKG_CONFIG_LIBDIR",
        "CMAKE_PREFIX_PATH",
    )
}
ENV.update(LC_ALL="C.UTF-8", MANWIDTH="80")
# after `make build` an install must not build anything
NO_CARGO = {"CARGO": "false", "RUSTC": "false"}
TARGET = os.path.join(ROOT, os.environ.get("CARGO_TARGET_DIR", "target"))

FLEET = """name = "members"
[[node]]
name = "db1"
attributes = { address = "10.0.0.1:3306" }
[[node]]
name = "db2"
weight = 1.5
attributes = { address = "10.0.0.2:3306" }
"""
ADDRESS = {"db1": "10.0.0.1:3306", "db2": "10.0.0.2:3306"}
KEYS = ["frank", "bob", "justin", "", "späti"]


class Tally:
    """Counts checks, and prints those that fail or are left out."""

    passed = failed = skipped = 0

    def that(self, sentence, ok, detail=""):
        """Counts a check."""
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {sentence}" + (f"\n  {detail}" if detail else ""))

    def equal(self, sentence, got, wanted):
        """Counts a check that two values are equal."""
        self.that(sentence, got == wanted, f"got {got!r}, wanted {wanted!r}")

    def without(self, reason):
        """Counts a check that cannot be made on this machine."""
        self.skipped += 1
        print(f"skipped: {reason}")


TALLY = Tally()


class Done:
    """The output and the exit code of a command."""

    def __init__(self, command, cwd=ROOT, env=None, data=b"", **options):
        done = subprocess.run(
            command,
            cwd=cwd,
            env=dict(ENV, **(env or {})),
            input=data,
            capture_output=True,
            check=False,
            **options,
        )
        self.command, self.code = command, done.returncode
        self.out, self.said = (
            done.stdout.decode("utf-8", "replace"),
            done.stderr.decode("utf-8", "replace"),
        )

    def good(self):
        """Returns the standard output; the command must have succeeded."""
        if self.code:
            raise AssertionError(
                f"{self.command}: exit {self.code}: {self.out[-2000:]}{self.said[-2000:]}"
            )
        return self.out


def make(target, **variables):
    """Runs `make TARGET NAME=VALUE ...`."""
    return Done(
        [
            "make",
            "-s",
            target,
            *(f"{name}={value}" for name, value in variables.items()),
        ],
        env=NO_CARGO,
    )


def read(*path):
    """Returns the text of a file."""
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def below(directory):
    """{path: mode, or target of a link} of everything below that is not a directory."""
    found = {}
    for where, directories, files in os.walk(directory):
        for name in files + [
            d for d in directories if os.path.islink(os.path.join(where, d))
        ]:
            path = os.path.join(where, name)
            kind = os.lstat(path).st_mode
            found[os.path.relpath(path, directory)] = (
                os.readlink(path) if stat.S_ISLNK(kind) else stat.S_IMODE(kind)
            )
    return found


VERSION = re.search(r'^version = "([^"]+)"', read(ROOT, "Cargo.toml"), re.MULTILINE)[1]
PROGRAMS = ("stead", "stead-sync", "stead-rrd")
MAJOR, MINOR, PATCH = VERSION.split(".")
# rises with every version, as ldconfig requires
LIBRARY = f"libstead.so.1.{100 * int(MAJOR) + int(MINOR)}.{PATCH}"


def verbs_of(program, *verb):
    """Returns the verbs in the help of a program, or of a verb that has verbs."""
    command = [os.path.join(TARGET, "release", program), *verb, "--help"]
    help_text = Done(command).good().split("Usage:")[1].split("\nOptions:")[0]
    return re.findall(r"^  ([a-z-]+) ", help_text, re.MULTILINE)


def expected(lib="lib"):
    """Returns what must be installed, in the form of `below`. The verbs are taken from
    the program's help, the functions from the header.
    """
    verbs = []
    for program in PROGRAMS:
        verbs += [f"{program}-{verb}" for verb in verbs_of(program)]
    # a verb with verbs of its own has a page for each of them, too
    for program, verb in (
        ("stead", "fleet"),
        ("stead", "plot"),
        ("stead-sync", "carry"),
    ):
        own = verbs_of(program, verb)
        verbs += [f"{program}-{verb}-{below}" for below in own]
    functions = in_header()
    types = re.findall(
        r"^(?:\} |typedef struct stead_\w+ )(stead_\w+);$",
        read(ROOT, "include", "stead.h"),
        re.MULTILINE,
    )
    TALLY.that(
        "the program has verbs and the header has functions and types",
        len(verbs) > 8 and len(functions) > 8 and len(types) > 8,
        f"{verbs} {functions} {types}",
    )
    modes = {
        "bin/stead": 0o755,
        "bin/stead-rrd": 0o755,
        "bin/stead-sync": 0o755,
        f"{lib}/libstead.so": "libstead.so.1",
        f"{lib}/libstead.so.1": LIBRARY,
    }
    plain = [
        f"{lib}/{LIBRARY}",
        f"{lib}/libstead.a",
        f"{lib}/pkgconfig/stead.pc",
        f"{lib}/cmake/stead/steadConfig.cmake",
        f"{lib}/cmake/stead/steadConfigVersion.cmake",
        "include/stead.h",
        "share/stead/installed",
        "share/man/man3/libstead.3",
        "share/man/man5/stead-fleet.5",
        "share/man/man5/stead-map.5",
    ]
    plain += [
        f"share/doc/stead/{name}"
        for name in os.listdir(os.path.join(ROOT, "docs"))
        if name.endswith((".md", ".svg", ".png")) and name != "SUMMARY.md"
    ]
    plain += [
        f"share/doc/stead/figures/{name}"
        for name in os.listdir(os.path.join(ROOT, "docs", "figures"))
    ]
    plain += ["share/doc/stead/SECURITY.md", "share/doc/stead/examples/alerts.yml"]
    for parts in ("adopt", "c", "members", "perl", "php", "python", "shell", "site"):
        top = os.path.join(ROOT, "examples", parts)
        plain += [
            f"share/doc/stead/{os.path.relpath(os.path.join(where, name), ROOT)}"
            for where, _, names in os.walk(top)
            for name in names
            if "__pycache__" not in where and ("." in name or name == "Makefile")
        ]
    for program in PROGRAMS:
        plain += [
            f"share/man/man1/{program}.1",
            f"share/bash-completion/completions/{program}",
            f"share/zsh/site-functions/_{program}",
            f"share/fish/vendor_completions.d/{program}.fish",
        ]
    plain += [f"share/man/man1/{verb}.1" for verb in verbs] + [
        f"share/man/man3/{function}.3" for function in functions + types
    ]
    return dict(modes, **{path: 0o644 for path in plain})


def check_tree(prefix, lib="lib"):
    """Checks every file, link and mode, that there is no other file, and the dynamic
    section of the binaries.
    """
    wanted, got = expected(lib), below(prefix)
    different = {
        path: (got.get(path), wanted.get(path))
        for path in set(got) | set(wanted)
        if got.get(path) != wanted.get(path)
    }
    TALLY.equal("every file, link and mode is there and no other", different, {})
    closed = [
        where
        for where, _, _ in os.walk(prefix)
        if stat.S_IMODE(os.stat(where).st_mode) & 0o055 != 0o055
    ]
    TALLY.equal(
        "everybody can enter the directories",
        closed,
        [prefix] if prefix in closed else [],
    )
    TALLY.equal("every link of the pages leads to a page", broken_links(prefix), [])
    check_examples(prefix)
    listed = read(prefix, "share/stead/installed").split("\n")[:-1]
    TALLY.equal("the list names exactly these files", sorted(listed), sorted(wanted))
    for program in PROGRAMS:
        TALLY.equal(
            f"{program} says the version",
            Done([os.path.join(prefix, "bin", program), "--version"]).good(),
            f"{program} {VERSION}\n",
        )
    if not shutil.which("readelf"):
        return TALLY.without("readelf is missing (package binutils)")
    library = dynamic(os.path.join(prefix, lib, LIBRARY))
    TALLY.equal("the soname", library["SONAME"], ["libstead.so.1"])
    of_the_system = re.compile(
        r"lib(c|m|gcc_s|dl|rt|pthread|util)\.so\.\d+$|ld-linux.*|ld64.*|libc\.musl.*"
    )
    TALLY.equal(
        "the library needs only the system's libraries",
        [n for n in library["NEEDED"] if not of_the_system.match(n)],
        [],
    )
    TALLY.equal(
        "the archive defines the functions of the header, and no other name",
        defined(os.path.join(prefix, lib, "libstead.a")),
        sorted(set(in_header())),
    )
    for program in PROGRAMS:
        TALLY.that(
            f"{program} does not need the library",
            "libstead.so.1"
            not in dynamic(os.path.join(prefix, "bin", program))["NEEDED"],
        )
    for path in (
        "bin/stead",
        "bin/stead-sync",
        "bin/stead-rrd",
        f"{lib}/{LIBRARY}",
        f"{lib}/libstead.a",
    ):
        sections = Done(["readelf", "-SW", os.path.join(prefix, path)]).good()
        TALLY.that(
            f"{path} has no debugging information",
            ".text" in sections and ".debug_info" not in sections,
        )
    return None


def check_examples(prefix):
    """Checks what an installed example says where PHP has no class of stead."""
    if not shutil.which("php"):
        return TALLY.without("php is missing (package php-cli)")
    cache = os.path.join(prefix, "share", "doc", "stead", "examples", "adopt")
    done = subprocess.run(
        ["php", "-n", os.path.join(cache, "cache.php")],
        capture_output=True,
        text=True,
        check=False,
    )
    TALLY.that(
        "cache.php says that PHP lacks the extension",
        "install the extension (Debian: php-stead)" in done.stdout + done.stderr,
    )
    return None


def broken_links(prefix):
    """Returns the links of the installed pages that lead to no file."""
    broken = []
    for where, _, names in os.walk(os.path.join(prefix, "share", "doc", "stead")):
        for name in (name for name in names if name.endswith(".md")):
            text = re.sub(
                r"^```.*?^```", "", read(where, name), flags=re.DOTALL | re.MULTILINE
            )
            links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
            broken += [
                f"{name}: {link}"
                for link in links
                if not re.match(r"\w+:", link)
                and not os.path.exists(os.path.join(where, link))
            ]
    return sorted(broken)


def in_header():
    """Returns the names of the functions of stead.h."""
    return re.findall(
        r"^(?!typedef)[a-z].*?\b(stead_\w+)\(",
        read(ROOT, "include", "stead.h"),
        re.MULTILINE,
    )


def dynamic(path):
    """Returns SONAME, NEEDED and so on of a binary."""
    entries = {"SONAME": [], "NEEDED": []}
    for tag, value in re.findall(
        r"\((\w+)\)[^\[\n]*\[([^\]]*)\]", Done(["readelf", "-dW", path]).good()
    ):
        entries.setdefault(tag, []).append(value)
    return entries


def defined(archive):
    """Returns the names that an archive defines for the programs that it is linked with."""
    names = re.findall(
        r"(?:GLOBAL|WEAK|UNIQUE) +\w+ +(?!UND)\w+ +(\S+)$",
        Done(["readelf", "-sW", archive]).good(),
        re.MULTILINE,
    )
    return sorted(set(names))


def check_pages(prefix):
    """Checks that every page renders without a warning and fits on a terminal of 80
    columns, and that each function, type and file format has a page with its own NAME.
    """
    man = os.path.join(prefix, "share", "man")
    pages = [
        os.path.join(where, name) for where, _, names in os.walk(man) for name in names
    ]
    if not shutil.which("man") or "--warnings" not in Done(["man", "--help"]).out:
        TALLY.without("man-db's man is missing, so no page was rendered")
    else:
        bad, wide, unnamed = {}, {}, {}
        for page in pages:
            done, name = Done(["man", "--warnings", "-l", page]), os.path.basename(page)
            if done.code or done.said:
                bad[name] = done.said or done.out[:200]
            # the programs' own help has lines of its own
            long = [line for line in done.out.split("\n") if len(line) > 80]
            if long and not name.endswith(".1"):
                wide[name] = long[:3]
            own = name.rpartition(".")[0]
            if not re.search(
                rf"^NAME\n +{re.escape(own)} +- +\S", done.out, re.MULTILINE
            ):
                unnamed[name] = done.out[:200]
        TALLY.equal("every page renders without a warning", bad, {})
        TALLY.equal("every line of a page fits in 80 columns", wide, {})
        TALLY.equal("every page has a NAME line of its own", unnamed, {})
        for page, sections in (
            ("stead_map_locate", "SYNOPSIS DESCRIPTION RETURN.VALUE ERRORS SEE.ALSO"),
            ("stead_map_epoch", "SYNOPSIS RETURN.VALUE SEE.ALSO"),
            ("stead_error", "SYNOPSIS DESCRIPTION SEE.ALSO"),
            ("stead-fleet", "DESCRIPTION EVERY.KEY SEE.ALSO"),
            ("stead-map", "DESCRIPTION HEADER SEE.ALSO"),
        ):
            # stead-fleet is a page of section 5, and a verb of the program in section 1
            section = "5" if page in ("stead-fleet", "stead-map") else "3"
            shown = Done(["man", "-M", man, section, page]).out
            TALLY.that(
                f"man {page} shows its own page",
                f"{page.upper()}(" in shown
                and all(
                    re.search(rf"^{section}$", shown, re.MULTILINE)
                    for section in sections.split()
                ),
                shown[:300],
            )
        shown = Done(["man", "-M", man, "stead_map_open"]).out
        TALLY.that(
            "man stead_map_open explains the statuses that it returns, and no other",
            "STEAD_CHANGED\n" in shown and "STEAD_FLEET" not in shown,
            shown,
        )
        shown = Done(["man", "-M", man, "stead-locate"]).out
        TALLY.that(
            "man stead-locate shows examples and exit codes",
            "EXAMPLES" in shown and "EXIT STATUS" in shown,
            shown[:300],
        )
        shown = Done(["man", "-M", man, "stead-rrd-serve"]).out
        TALLY.that(
            "man stead-rrd-serve shows its options",
            "STEAD-RRD-SERVE(1)" in shown and "--flush-after" in shown,
            shown[:300],
        )
        shown = Done(["man", "-M", man, "stead-rrd"]).out
        TALLY.that(
            "man stead-rrd shows exit codes",
            # lines are filled, with blanks of any width
            "EXIT STATUS" in shown and "no router answers" in " ".join(shown.split()),
            shown[:300],
        )
    if shutil.which("mandoc"):
        lint = Done(["mandoc", "-T", "lint", "-W", "warning", *pages], cwd=man).out
        # an expected warning: a page has no date, so that the same sources give the same
        # page
        allowed = re.compile(r"STYLE: |WARNING: missing date|^$")
        TALLY.equal(
            "mandoc gives no other warning",
            [line for line in lint.split("\n") if not allowed.search(line)],
            [],
        )
    dated = [
        page for page in pages if re.search(r"\b20\d\d\b", read(page).split("\n.SH")[0])
    ]
    TALLY.equal("no page has a date", dated, [])
    with tempfile.TemporaryDirectory() as scratch:
        again = os.path.join(scratch, "pages")
        Done([os.path.join(TARGET, "release", "stead-pages"), again]).good()
        same = {path: read(again, path) for path in below(again)} == {
            path: read(TARGET, "pages", path) for path in below(again)
        }
        TALLY.that("pages that are made again are the same", same)


def check_completions(prefix):
    """Checks that each shell loads its completion and completes a verb."""
    for program, part, verb in (
        ("stead", "loc", "locate"),
        ("stead-sync", "pus", "push"),
        ("stead-rrd", "rep", "repair"),
    ):
        check_completion(os.path.join(prefix, "share"), program, part, verb)


def check_completion(share, program, part, verb):
    """Checks that each shell completes the beginning `part` to the verb."""
    ask = {
        "bash": [
            "--norc",
            "-c",
            (
                'source "$1/bash-completion/completions/PROGRAM" && complete -p '
                "PROGRAM && COMP_WORDS=(PROGRAM PART) COMP_CWORD=1 "
                '&& _FUNCTION PROGRAM PART PROGRAM && echo "${COMPREPLY[@]}"'
            ),
        ],
        "zsh": [
            "-f",
            "-c",
            (
                'fpath=("$1/zsh/site-functions" $fpath); autoload -Uz compinit && '
                "compinit -u -D && echo $_comps[PROGRAM] && "
                "autoload +X -Uz _PROGRAM && whence -f _PROGRAM"
            ),
        ],
        "fish": [
            "--no-config",
            "-c",
            'source "$argv[2]/fish/vendor_completions.d/PROGRAM.fish"; complete -C "PROGRAM PART"',
        ],
    }
    ask = {
        shell: [
            word.replace("PROGRAM", program)
            .replace("PART", part)
            .replace("FUNCTION", program.replace("-", "__"))
            for word in words
        ]
        for shell, words in ask.items()
    }
    for shell, arguments in ask.items():
        if not shutil.which(shell):
            TALLY.without(f"{shell} is not installed, so its completion was not loaded")
            continue
        with tempfile.TemporaryDirectory() as home:
            done = Done(
                [shell, *arguments, shell, share],
                env={"HOME": home, "XDG_CONFIG_HOME": home},
            )
        good = done.code == 0 and not done.said and verb in done.out
        TALLY.that(
            f"{shell} completes verbs of {program}",
            good,
            f"exit {done.code}: {done.said}{done.out[:200]}",
        )


def check_pkg_config(prefix, *options):
    """Returns the output of pkg-config for the library."""

    def ask(*arguments):
        return (
            Done(
                ["pkg-config", *options, *arguments, "stead"], env=package_path(prefix)
            )
            .good()
            .strip()
        )

    unescaped = lambda text: text.replace("\\", "")
    TALLY.equal("pkg-config knows the version", ask("--modversion"), VERSION)
    TALLY.equal(
        "pkg-config --cflags", unescaped(ask("--cflags")), f"-I{prefix}/include"
    )
    TALLY.equal(
        "pkg-config --libs", unescaped(ask("--libs")), f"-L{prefix}/lib -lstead"
    )
    static = unescaped(ask("--static", "--libs"))
    whole = static.startswith(f"-L{prefix}/lib -lstead -l") and "-lc" in static.split()
    TALLY.that("pkg-config --static names the system's libraries", whole, static)


def package_path(prefix):
    return {"PKG_CONFIG_PATH": os.path.join(prefix, "lib", "pkgconfig")}


def check_program(what, program, scratch, stead, env, static):
    """Checks that a built `where` gives the answers of `stead locate`, and that it
    contains the library if and only if it is static.
    """
    fleet, members = (
        os.path.join(scratch, "fleet.toml"),
        os.path.join(scratch, "members.map"),
    )
    if not os.path.exists(members):
        with open(fleet, "w", encoding="utf-8") as file:
            file.write(FLEET)
        Done([stead, "apply", fleet, members]).good()
    wanted = [
        line.split("\t")
        for line in Done([stead, "locate", members, "--", *KEYS])
        .good()
        .split("\n")[:-1]
    ]
    wanted = "".join(f"{key}\t{node}\t{ADDRESS[node]}\n" for key, node in wanted)
    TALLY.equal(
        f"{what}: its answers are those of stead locate",
        Done([program, members, *KEYS], env=env).out,
        wanted,
    )
    done = Done([program, os.path.join(scratch, "none.map"), "frank"], env=env)
    one_line = (
        done.code
        and done.said.count("\n") == 1
        and "none.map" in done.said
        and not done.out
    )
    TALLY.that(
        f"{what}: a missing map is an error of one line",
        one_line,
        f"exit {done.code}: {done.said}{done.out}",
    )
    if shutil.which("readelf"):
        TALLY.equal(
            f"{what}: needs libstead.so.1",
            "libstead.so.1" in dynamic(program)["NEEDED"],
            not static,
        )
    if static:
        TALLY.that(
            f"{what}: ldd finds no libstead",
            "libstead" not in Done(["ldd", program]).out,
        )


def check_example(what, prefix, scratch, pkg_config):
    """Builds and checks examples/c, with make and with CMake, dynamic and static,
    against a tree at `prefix`. `pkg_config` is None where pkg-config is missing.
    """
    stead = os.path.join(prefix, "bin", "stead")
    dynamic_env = {"LD_LIBRARY_PATH": os.path.join(prefix, "lib")}
    if pkg_config is None:
        TALLY.without("pkg-config is missing, so the example was not built with make")
    else:
        source = os.path.join(scratch, f"make {what}")
        shutil.copytree(EXAMPLE, source)
        variables = (
            f"PKG_CONFIG={pkg_config}",
            "CFLAGS=-Wall -Wextra -Wpedantic -Werror -std=c99",
        )
        built = Done(["make", "-s", *variables], cwd=source, env=package_path(prefix))
        TALLY.that(
            f"{what}: the example builds with make",
            built.code == 0 and not built.said,
            built.said,
        )
        if built.code == 0:
            check_program(
                f"{what}, make, dynamic",
                os.path.join(source, "where"),
                scratch,
                stead,
                dynamic_env,
                False,
            )
            check_program(
                f"{what}, make, static",
                os.path.join(source, "where-static"),
                scratch,
                stead,
                {},
                True,
            )
    if not shutil.which("cmake"):
        return TALLY.without("cmake is missing, so the example was not built with it")
    out = os.path.join(scratch, f"cmake {what}")
    with_cmake(f"{what}: the example builds with CMake", prefix, out)
    if os.path.exists(os.path.join(out, "where-static")):
        # CMake writes the library's directory into the programs that it builds
        check_program(
            f"{what}, CMake, dynamic",
            os.path.join(out, "where"),
            scratch,
            stead,
            {},
            False,
        )
        check_program(
            f"{what}, CMake, static",
            os.path.join(out, "where-static"),
            scratch,
            stead,
            {},
            True,
        )
    return None


def documented():
    """Returns the lines of docs/c-api.md that compile where.c, as (program, line)."""
    block = read(ROOT, "docs", "c-api.md").split("```sh\n")[1].split("```\n")[0]
    lines = [line for line in block.splitlines() if line.startswith("cc ")]
    return [(line.split()[-1], line) for line in lines]


def check_documented(scratch):
    """Checks that the lines of the page link unchanged, from a PREFIX that the system
    does not know, and that CMake can link without any shared library.
    """
    prefix = os.path.join(scratch, "own")
    make("install", PREFIX=prefix).good()
    stead = os.path.join(prefix, "bin", "stead")
    source = os.path.join(scratch, "documented")
    shutil.copytree(EXAMPLE, source)
    none = os.path.join(scratch, "none.c")
    with open(none, "w", encoding="ascii") as file:
        file.write("int main(void) { return 0; }\n")
    no_libc = Done(["cc", "-static", none, "-o", os.path.join(scratch, "none")]).code
    lines = documented()
    TALLY.equal(
        "docs/c-api.md shows three ways to link",
        [program for program, _ in lines],
        ["where", "where-archive", "where-static"],
    )
    for program, line in lines:
        if "-static " in line.split("$")[0] and no_libc:
            TALLY.without("there is no libc.a, so nothing was linked with -static")
            continue
        done = Done(["sh", "-c", line], cwd=source, env=package_path(prefix))
        TALLY.that(f"`{line}` links", done.code == 0 and not done.said, done.said)
        if done.code == 0:
            check_program(
                f"{program} of docs/c-api.md",
                os.path.join(source, program),
                scratch,
                stead,
                {"LD_LIBRARY_PATH": os.path.join(prefix, "lib")},
                program != "where",
            )
    check_beside_rust(scratch, prefix)
    if shutil.which("cmake") and not no_libc:
        out = os.path.join(scratch, "cmake all static")
        options = ["-DCMAKE_EXE_LINKER_FLAGS=-static"]
        with_cmake(
            "CMake links stead::static with -static",
            prefix,
            out,
            *options,
            target="where-static",
        )
        check_program(
            "CMake, all static",
            os.path.join(out, "where-static"),
            scratch,
            stead,
            {},
            True,
        )
    make("uninstall", PREFIX=prefix).good()


OTHER = """#[no_mangle]
pub extern "C" fn digits(count: usize) -> usize {
    let texts: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    texts.concat().len()
}
"""

BESIDE = """#include <stdio.h>
#include "stead.h"
size_t digits(size_t count);
int main(void) {
    stead_map *map = NULL;
    stead_error error;
    int status = stead_map_open("/none", 0, &map, &error);
    printf("%zu %d\\n", digits(12), status != 0);
    return 0;
}
"""


def check_beside_rust(scratch, prefix):
    """Checks that a program can link libstead.a beside another static library in Rust, in
    either order: both have parts of Rust's standard library.
    """
    place = os.path.join(scratch, "beside")
    os.makedirs(place)
    for name, text in (("other.rs", OTHER), ("beside.c", BESIDE)):
        with open(os.path.join(place, name), "w", encoding="ascii") as file:
            file.write(text)
    rustc = [os.environ.get("RUSTC", "rustc"), "--crate-type", "staticlib"]
    Done([*rustc, "-o", "libother.a", "other.rs"], cwd=place).good()
    for libraries in ("-lother -l:libstead.a", "-l:libstead.a -lother"):
        line = (
            f"cc beside.c -I{prefix}/include -L. -L{prefix}/lib {libraries} -lm "
            "-o beside && ./beside"
        )
        done = Done(["sh", "-c", line], cwd=place)
        TALLY.that(
            f"{libraries} links beside a library in Rust, and both answer",
            done.out == "14 1\n",
            done.out + done.said,
        )


def with_cmake(sentence, prefix, out, *options, target="all"):
    """Builds the example with CMake."""
    done = Done(
        ["cmake", "-S", EXAMPLE, "-B", out, f"-DCMAKE_PREFIX_PATH={prefix}", *options]
    )
    done = done if done.code else Done(["cmake", "--build", out, "--target", target])
    TALLY.that(sentence, done.code == 0, (done.out + done.said)[-2000:])


def check_again(prefix):
    """Checks a second install over the first: it is complete, does not disturb a
    running program, and removes the files of an older one.
    """
    program = os.path.join(prefix, "bin", "stead")
    before = {path: read_bytes(prefix, path) for path in below(prefix)}
    old = f"lib/{LIBRARY}.older"
    for path, text in ((old, ""), ("share/stead/installed", old + "\n")):
        with open(os.path.join(prefix, path), "a", encoding="ascii") as file:
            file.write(text)
    with subprocess.Popen(
        [program, "path"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENV
    ) as running:
        made = make("install", PREFIX=prefix)
        TALLY.that(
            "a second install works", made.code == 0 and not made.said, made.said
        )
        answer, _ = running.communicate(b"frank\n")
        TALLY.equal("a running program continues", answer, b"38/37/60/frank\n")
    hint = f"export PATH={prefix}/bin:$PATH\n"
    TALLY.that("install says what to add to PATH", hint in made.out, made.out)
    path = f"{prefix}/bin:{ENV['PATH']}"
    found = Done(["scripts/install"], env={"PREFIX": prefix, "PATH": path})
    TALLY.that(
        "install says nothing of PATH where it has the directory",
        "PATH=" not in found.good().replace("LD_LIBRARY_PATH=", ""),
        found.out,
    )
    TALLY.equal(
        "the second install gives the same files as the first",
        {path: read_bytes(prefix, path) for path in below(prefix)} == before,
        True,
    )
    TALLY.that(
        "a file of an older install is removed",
        not os.path.exists(os.path.join(prefix, old)),
    )


def read_bytes(*path):
    path = os.path.join(*path)
    if os.path.islink(path):
        return os.readlink(path)
    with open(path, "rb") as file:
        return file.read()


def check_staged(scratch):
    """Checks that DESTDIR is before every path and in no file, and that LIBDIR need not
    be below PREFIX.
    """
    dest = os.path.join(scratch, "staged here")
    lib = "lib/some-linux-gnu"
    made = make("install", DESTDIR=dest, PREFIX="/usr", LIBDIR=f"/usr/{lib}")
    TALLY.that(
        "an install below DESTDIR works", made.code == 0 and not made.said, made.said
    )
    TALLY.equal("every file is below DESTDIR/PREFIX", os.listdir(dest), ["usr"])
    TALLY.that(
        "of a package nothing is said of PATH", "PATH=" not in made.out, made.out
    )
    prefix = os.path.join(dest, "usr")
    check_tree(prefix, lib)
    plain = [
        path
        for path in below(prefix)
        if not path.startswith(("bin/", lib + "/libstead"))
        and not path.endswith(".png")
    ]
    TALLY.equal(
        "no file names DESTDIR",
        [path for path in plain if dest in read(prefix, path)],
        [],
    )
    package = read(prefix, lib, "pkgconfig/stead.pc")
    TALLY.that(
        "stead.pc has the paths without DESTDIR",
        package.startswith(f"prefix=/usr\nlibdir=${{prefix}}/{lib}\n"),
        package,
    )
    if shutil.which("cmake"):
        where = f"-Dstead_DIR={prefix}/{lib}/cmake/stead"
        with_cmake(
            "CMake uses it in another LIBDIR, and where DESTDIR put it",
            prefix,
            os.path.join(scratch, "cmake staged"),
            where,
        )
    gone = make("uninstall", DESTDIR=dest, PREFIX="/usr")
    TALLY.that(
        "uninstall from DESTDIR works", gone.code == 0 and not gone.said, gone.said
    )
    TALLY.equal("nothing is left", below(dest), {})
    own = [where for where, _, _ in os.walk(dest) if os.path.basename(where) == "stead"]
    TALLY.equal("no directory named stead is left", own, [])


def check_uninstall(prefix):
    """Checks that uninstall leaves foreign files, removes all others, and says the
    second time that there is nothing to do.
    """
    foreign = {
        "bin/other": 0o644,
        "lib/cmake/stead/mine.cmake": 0o644,
        "share/man/man1/stead-mine.1": 0o644,
        "lib/libstead.so.2": 0o644,
    }
    for path in foreign:
        with open(os.path.join(prefix, path), "w", encoding="ascii"):
            os.chmod(os.path.join(prefix, path), 0o644)
    gone = make("uninstall", PREFIX=prefix)
    TALLY.that("uninstall works", gone.code == 0 and not gone.said, gone.said)
    TALLY.equal("foreign files stay, all others are removed", below(prefix), foreign)
    says_one_line(
        "a second uninstall",
        make("uninstall", PREFIX=prefix),
        "nothing is installed there",
    )


def says_one_line(what, done, words):
    """Checks that a command failed and gave the reason in one line of ours."""
    lines = [
        line for line in done.said.split("\n") if line and not line.startswith("make")
    ]
    good = (
        done.code
        and len(lines) == 1
        and lines[0].startswith("stead: ")
        and words in lines[0]
    )
    TALLY.that(f"{what} fails with one line", good, f"exit {done.code}: {done.said}")


def check_refusals(scratch):
    """Checks that an install that is impossible says so in one line, before it writes
    anything.
    """
    says_one_line(
        "a PREFIX that is not absolute",
        make("install", PREFIX="some/where"),
        "PREFIX is not an absolute path: some/where",
    )
    says_one_line(
        "a PREFIX with a quote", make("install", PREFIX=scratch + '/a"b'), "has a quote"
    )
    says_one_line(
        "a PREFIX with ..", make("install", PREFIX=scratch + "/x/.."), ". or .."
    )
    in_the_way = os.path.join(scratch, "a file")
    with open(in_the_way, "w", encoding="ascii"):
        pass
    says_one_line(
        "a PREFIX below a file",
        make("install", PREFIX=in_the_way + "/x"),
        f"{in_the_way} is not a directory",
    )
    target = os.path.join(scratch, "taken", "lib", LIBRARY)
    os.makedirs(target)
    says_one_line(
        "a directory in a file's place",
        make("install", PREFIX=os.path.join(scratch, "taken")),
        "is a directory",
    )
    half = [path for path in below(os.path.join(scratch, "taken")) if "/." in path]
    TALLY.equal("an install that failed leaves no incomplete file", half, [])
    says_one_line(
        "an unknown argument", Done(["scripts/install", "--instal"]), "unknown argument"
    )

    locked = os.path.join(scratch, "locked")
    os.makedirs(os.path.join(locked, "include"))
    os.chmod(os.path.join(locked, "include"), 0o555)
    nobody = (
        {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
    )
    if nobody:
        os.chmod(scratch, 0o755)
        os.chown(locked, 65534, 65534)
    if (
        nobody
        and Done(["test", "-r", "include/stead.h", "-a", "-x", TARGET], **nobody).code
    ):
        TALLY.without(
            "this is root, and other users cannot read the sources: a directory without write permission was not tried"
        )
        return
    done = Done(["scripts/install"], env={"PREFIX": locked}, **nobody)
    says_one_line(
        "a directory without write permission",
        done,
        f"cannot write to {locked}/include; run it as root",
    )
    TALLY.equal(
        "nothing is created unless every directory can be written",
        os.listdir(locked),
        ["include"],
    )


def check_built(scratch):
    """Checks `--built`: it knows whether there is something to build, and refuses to
    let root build in another user's directory.
    """
    TALLY.equal(
        "after make build there is nothing to build",
        Done(["scripts/install", "--built"]).code,
        0,
    )
    tree = os.path.join(scratch, "tree")
    shutil.copytree(os.path.join(ROOT, "scripts"), os.path.join(tree, "scripts"))
    shutil.copy(os.path.join(ROOT, "Cargo.toml"), tree)
    ask = ["env", "-u", "CARGO_TARGET_DIR", os.path.join(tree, "scripts", "install")]
    TALLY.equal(
        "in a new tree there is something to build", Done([*ask, "--built"]).code, 3
    )
    says_one_line("an install before the build", Done(ask), "run 'make build'")
    if os.getuid():
        TALLY.without(
            "this is not root: a build by root in another user's directory was not tried"
        )
        return
    os.chown(tree, 65534, 65534)
    says_one_line(
        "a build by root in another user's directory",
        Done([*ask, "--built"]),
        "run 'make build' first",
    )


def main():
    """Runs all checks; returns 1 when one failed."""
    if not sys.platform.startswith("linux"):
        TALLY.without("make install lays out libraries as Linux names them")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    Done(["make", "-s", "build"]).good()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = os.path.realpath(scratch)
        check_built(scratch)
        prefix, moved = (
            os.path.join(scratch, "a prefix"),
            os.path.join(scratch, "moved", "prefix"),
        )
        made = Done(
            ["sh", "-c", 'umask 077; exec make -s install PREFIX="$1"', "sh", prefix],
            env=NO_CARGO,
        )
        TALLY.that(
            "an install into PREFIX works", made.code == 0 and not made.said, made.said
        )
        check_tree(prefix)
        check_again(prefix)
        check_pages(prefix)
        check_completions(prefix)
        pkg_config = "pkg-config" if shutil.which("pkg-config") else None
        if pkg_config:
            check_pkg_config(prefix)
        check_example("installed", prefix, scratch, pkg_config)
        os.makedirs(os.path.dirname(moved))
        os.rename(prefix, moved)
        if pkg_config:
            check_pkg_config(moved, "--define-prefix")
        check_example(
            "moved", moved, scratch, pkg_config and "pkg-config --define-prefix"
        )
        check_uninstall(moved)
        if pkg_config:
            check_documented(scratch)
        check_staged(scratch)
        check_refusals(scratch)
    print(f"{TALLY.passed} passed, {TALLY.failed} failed, {TALLY.skipped} skipped")
    return 1 if TALLY.failed else 0


if __name__ == "__main__":
    sys.exit(main())
