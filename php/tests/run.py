#!/usr/bin/env python3
"""Checks the PHP package: syntax, PSR-12, composer, and phpunit with the library that
cargo built. The last line is `N passed, N failed, N skipped`.
"""

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from xml.etree import ElementTree

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(PACKAGE)
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True

import built

PHP = os.environ.get("PHP", "php")


def extension_module():
    """Returns scripts/php-extension, which builds the extension."""
    return built.script("php-extension")


# our own files: those of the package, and those of tests, examples and benchmarks
FOLDERS = [
    "php",
    "tests/runners",
    "tests/php",
    "tests/members",
    "examples/php",
    "examples/where",
    "examples/members",
    "benches/php",
]


def sources():
    """Returns all PHP files."""
    return sorted(
        os.path.join(directory, name)
        for folder in FOLDERS
        for directory, _, names in os.walk(os.path.join(ROOT, folder))
        for name in names
        # the stub has PHP's own form, with every class in one file
        if name.endswith(".php") and not name.endswith(".stub.php")
    )


def said(*command, **options):
    """Returns the exit code of a command, and its output."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        **options,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def syntax():
    """Runs `php -l` on every file, and checks that it has strict types. A file with a
    mistake must be detected.
    """
    for file in sources():
        code, text = said(PHP, "-l", file)
        if code:
            return text
        with open(file, encoding="utf-8") as opened:
            if "\ndeclare(strict_types=1);\n" not in opened.read():
                return f"{file} does not declare strict types"
    with tempfile.NamedTemporaryFile("w", suffix=".php") as wrong:
        wrong.write("<?php function (")
        wrong.flush()
        return (
            ""
            if said(PHP, "-l", wrong.name)[0]
            else "php -l finds nothing wrong with `function (`"
        )


def one_file_knows_ffi():
    """Checks that only Ffi.php names the class FFI."""
    found = []
    for file in sources():
        if file.startswith(os.path.join(PACKAGE, "src")):
            with open(file, encoding="utf-8") as opened:
                if re.search(r"\\FFI\b|extension_loaded\('FFI'\)", opened.read()):
                    found.append(os.path.relpath(file, PACKAGE))
    return "" if found == ["src/Ffi.php"] else f"FFI is named in {found}"


def style():
    """Checks PSR-12, except its soft limit of 120 characters per line (-n). A file with
    a mistake must be detected.
    """
    command = ["phpcs", "--standard=PSR12", "-n", "-q"]
    code, text = said(*command, *sources())
    with tempfile.NamedTemporaryFile("w", suffix=".php") as wrong:
        wrong.write("<?php\nclass a{function B( ){}}\n")
        wrong.flush()
        control = said(*command, wrong.name)[0]
    return (
        text
        if code
        else ""
        if control
        else "phpcs finds nothing wrong with what is not PSR-12"
    )


def composer():
    """Checks that composer.json is valid, that the lines in docs/php.md install the
    package from this tree and from a copy, and that an application then finds its
    classes.
    """
    environment = dict(
        os.environ,
        COMPOSER_ALLOW_SUPERUSER="1",
        COMPOSER_DISABLE_NETWORK="1",
        COMPOSER_NO_INTERACTION="1",
        STEAD_LIBRARY=library(),
    )
    file = os.path.join(PACKAGE, "composer.json")
    code, text = said("composer", "validate", "--strict", file, env=environment)
    if code:
        return text
    with tempfile.TemporaryDirectory() as scratch:
        environment["COMPOSER_HOME"] = os.path.join(scratch, "home")
        write_json(os.path.join(scratch, "home"), "config", NO_PACKAGIST)
        copy = os.path.join(scratch, "a copy")
        shutil.copytree(PACKAGE, os.path.join(copy, "php"))
        return installs(scratch, ROOT, environment) or installs(
            scratch, copy, environment
        )


# a package of that name on the network would hide a mistake in ours
NO_PACKAGIST = {"repositories": {"packagist.org": False}}


def documented():
    """Returns the lines of docs/php.md that install the package with composer."""
    lines = documented_block("composer ").splitlines()
    assert "/path/to/stead" in lines[0], lines
    return lines


def documented_block(word):
    """Returns the block of commands in docs/php.md that begins with this word."""
    with open(os.path.join(ROOT, "docs", "php.md"), encoding="utf-8") as file:
        blocks = [part.split("```\n")[0] for part in file.read().split("```sh\n")[1:]]
    return next(block for block in blocks if block.startswith(word))


def extension():
    """Runs the lines of docs/php.md that install the extension, as they are printed.
    sudo only runs the command, and php-config names directories of this test.
    """
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in (
            ("sudo", 'exec "$@"'),
            (
                "php-config",
                (
                    f'case $1 in --extension-dir) echo "{scratch}/modules" ;; '
                    f'--ini-dir) echo "{scratch}/ini" ;; '
                    f'*) exec "{shutil.which("php-config")}" "$@" ;; esac'
                ),
            ),
        ):
            path = os.path.join(scratch, "bin", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{text}\n")
            os.chmod(path, 0o755)
        for name in ("modules", "ini"):
            os.mkdir(os.path.join(scratch, name))
        environment = dict(
            os.environ,
            PATH=f"{scratch}/bin:{os.environ['PATH']}",
            STEAD_LIBRARY=library(),
            PHP_INI_SCAN_DIR=f"{scratch}/ini",
        )
        # the first line builds; it must not find the php-config of this test
        first, *others = documented_block("make php-extension").splitlines()
        code, text = said("sh", "-e", "-c", first, cwd=ROOT)
        if code:
            return text
        script = "\n".join(others)
        code, text = said("sh", "-e", "-c", script, cwd=ROOT, env=environment)
        if code:
            return text
        program = "echo Stead\\Library::backend(), ' ', Stead\\Point::hex(-1);"
        options = ["-d", f"extension_dir={scratch}/modules", "-r", program]
        _, text = said(PHP, *options, env=environment)
        return "" if text == "extension ffffffffffffffff" else text


def pecl():
    """Checks that package.xml lists the files of the extension and no others, with the
    version and the licence of the extension, and runs the extension's own tests (phpt)
    where it was built.
    """
    folder = os.path.join(PACKAGE, "ext")
    package = ElementTree.parse(os.path.join(folder, "package.xml")).getroot()
    space = {"p": "http://pear.php.net/dtd/package-2.0"}
    listed = {file.get("name") for file in package.findall(".//p:file", space)}
    there = {
        os.path.relpath(os.path.join(directory, name), folder)
        for directory, _, names in os.walk(folder)
        for name in names
    } - {"package.xml"}
    if listed != there:
        return f"package.xml and php/ext differ in {sorted(listed ^ there)}"
    with open(os.path.join(folder, "php_stead.h"), encoding="utf-8") as file:
        version = re.search(r'PHP_STEAD_VERSION "([^"]+)"', file.read())[1]
    if package.find("p:version/p:release", space).text != version:
        return f"package.xml has another version than {version}"
    with open(os.path.join(ROOT, "Cargo.toml"), encoding="utf-8") as file:
        licence = re.search(r'^license = "(.*)"$', file.read(), re.MULTILINE)[1]
    if package.find("p:license", space).text != licence:
        return f"package.xml has another licence than {licence}"
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        if not filecmp.cmp(
            os.path.join(PACKAGE, name), os.path.join(folder, name), shallow=False
        ):
            return f"php/ext/{name} differs from php/{name}"
    built_in = os.path.join(os.path.dirname(extension_module().build()), "build")
    environment = dict(os.environ, STEAD_LIBRARY=library(), NO_INTERACTION="1")
    code, text = said("make", "test", cwd=built_in, env=environment)
    return "" if not code and re.search(r"Tests passed +: +1 ", text) else text


def pear():
    """Checks that PEAR accepts package.xml, makes the archive for PECL of it, and puts
    all files into it. A package without one of its files must be refused.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(scratch, "ext")
        shutil.copytree(os.path.join(PACKAGE, "ext"), folder)
        code, text = said("pear", "package-validate", "package.xml", cwd=folder)
        # the date is that of the release, and PEAR warns on every other day
        warnings = [line for line in text.splitlines() if "Warning" in line]
        others = [
            line for line in warnings if 'field "date" - Release Date' not in line
        ]
        if code or "Validation: 0 error(s)" not in text or others:
            return text
        code, text = said("pear", "package", "package.xml", cwd=folder)
        made = [name for name in os.listdir(folder) if name.endswith(".tgz")]
        if code or len(made) != 1:
            return text
        with tarfile.open(os.path.join(folder, made[0])) as archive:
            inside = {
                name.partition("/")[2]
                for name in archive.getnames()
                if name != "package.xml"
            }
        there = {
            os.path.relpath(os.path.join(directory, name), folder)
            for directory, _, names in os.walk(folder)
            for name in names
        } - {"package.xml", made[0]}
        if inside != there:
            return f"{made[0]} and php/ext differ in {sorted(inside ^ there)}"
        os.remove(os.path.join(folder, "batch.c"))
        code, text = said("pear", "package-validate", "package.xml", cwd=folder)
        return "" if "batch.c" in text else f"a missing file is accepted\n{text}"


def installs(scratch, tree, environment):
    """Returns what goes wrong when the documented lines install the package of this
    source tree.
    """
    application = tempfile.mkdtemp(dir=scratch)
    write_json(application, "composer", {"name": "test/app"})
    script = "\n".join(documented()).replace("/path/to/stead", "$TREE")
    script = script.replace("$TREE/php", '"$TREE/php"')
    options = {"cwd": application, "env": dict(environment, TREE=tree)}
    code, text = said("sh", "-e", "-c", script, **options)
    if code:
        return text
    program = (
        "require 'vendor/autoload.php'; echo Stead\\Map::build(['name' => 'm', "
        "'node' => [['name' => 'a']]])->locate('frank'), "
        "Stead\\Status::NotFound->value;"
    )
    _, text = said(PHP, "-r", program, **options)
    return "" if text == "a8" else text or "the application says nothing"


def write_json(directory, name, value):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, f"{name}.json"), "w", encoding="utf-8") as file:
        json.dump(value, file)


def library():
    return os.path.join(built.libraries(), "libstead.so")


def phpunit(backend):
    """Returns (passed, failed, skipped) of phpunit, with the extension or with FFI. Each
    has a group of tests that the other one cannot run.
    """
    environment = dict(os.environ, STEAD_LIBRARY=library())
    options, other = [], "extension"
    if backend == "extension":
        module = environment["STEAD_EXTENSION"] = extension_module().build()
        options, other = ["-d", f"extension={module}"], "ffi"
    program = shutil.which("phpunit")
    # the option that makes phpunit say why tests are skipped: it is another one from version 10 on
    _, version = said(PHP, program, "--version")
    old = re.search(r"PHPUnit 9\.", version)
    code, text = said(
        PHP,
        *options,
        program,
        "-c",
        PACKAGE,
        "--verbose" if old else "--display-skipped",
        "--exclude-group",
        other,
        env=environment,
    )
    ok = re.search(r"OK \((\d+) tests?", text)
    ran = re.search(r"Tests: (\d+)", text)
    number = lambda word: int((re.search(rf"{word}: (\d+)", text) or [0, 0])[1])
    total, skipped = int((ok or ran or [0, 0])[1]), number("Skipped")
    failed = max(
        sum(map(number, ("Errors", "Failures", "Warnings", "Risky", "Incomplete"))),
        int(code != 0 or total == 0),
    )
    if failed:
        print(f"== phpunit, {backend}\n{text}")
    for why in (
        re.findall(r"^\d+\) .*\n(.+)\n\n", text, re.MULTILINE) if skipped else ()
    ):
        print(f"skipped: {why}")
    return total - failed - skipped, failed, skipped


def valgrind():
    """Runs everything.php with the extension under valgrind: no memory may be lost, used
    after it was freed, or read before it was written. A loss on purpose must be
    detected.
    """
    environment = dict(
        os.environ,
        STEAD_LIBRARY=library(),
        # PHP's own allocator would hide losses, and an unloaded extension has no names
        USE_ZEND_ALLOC="0",
        ZEND_DONT_UNLOAD_MODULES="1",
    )
    command = [
        "valgrind",
        "-q",
        "--error-exitcode=9",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite",
        "--show-leak-kinds=definite",
        *(PHP, "-n", "-d", "extension=ffi"),
        *("-d", f"extension={extension_module().build()}"),
        os.path.join(PACKAGE, "tests", "everything.php"),
    ]
    code, text = said(*command, env=environment)
    if code or " results" not in text:
        return text
    code, text = said(*command, "lose", env=environment)
    return (
        ""
        # a pointer to the last of the 100 blocks may still stand on the stack
        if code == 9 and re.search("(99|100),000 bytes in (99|100) blocks", text)
        else f"valgrind does not detect a loss of 100,000 bytes\n{text}"
    )


def main():
    passed = failed = skipped = 0
    for check, needs in (
        (syntax, PHP),
        (one_file_knows_ffi, PHP),
        (style, "phpcs"),
        (composer, "composer"),
        (extension, "phpize"),
        (pecl, "phpize"),
        (pear, "pear"),
        (valgrind, "valgrind"),
    ):
        if not shutil.which(needs):
            skipped += 1
            print(f"skipped: {needs} is not installed")
            continue
        if check is valgrind and extension_module().why_not():
            skipped += 1
            print(f"skipped: valgrind: {extension_module().why_not()}")
            continue
        wrong = check()
        passed, failed = passed + (not wrong), failed + bool(wrong)
        if wrong:
            print(f"== {check.__name__}\n{wrong}")
    for backend in ("ffi", "extension"):
        lacking = None if shutil.which("phpunit") else "phpunit is not installed"
        if backend == "extension":
            lacking = lacking or extension_module().why_not()
        if lacking:
            skipped += 1
            print(f"skipped: phpunit, {backend}: {lacking}")
            continue
        counts = phpunit(backend)
        passed, failed, skipped = (
            passed + counts[0],
            failed + counts[1],
            skipped + counts[2],
        )
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
