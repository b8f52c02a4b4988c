"""Tries the packages of the languages, each where nothing else of stead is but what it
needs: libstead from its package for Debian.
"""

import os
import shutil
import sys
import tempfile

import system
import tree
from machines import COUNT, FLEET, NODES, PERL, PHP, PYTHON, copy_of, here, made

# a map in a directory, made by the program of the wheel
PLACE = "/try"


def write(text, *path):
    with open(os.path.join(*path), "w", encoding="utf-8") as file:
        file.write(text)


def prepared(suite):
    """Returns a clean system with libstead and its header, and the languages."""
    there = copy_of(suite, "languages")
    for path in made(system.folder(suite), "libstead*.deb"):
        there.put(path, "packages")
    there.install(
        *("php-cli", "php-dev", "php-pear", "composer", "perl-xs-dev", "libperl-dev"),
        *("gcc", "libc6-dev", "make", "pkgconf", "python3-venv", "php-zip"),
    )
    there.run("dpkg -i /packages/libstead1_*.deb /packages/libstead-dev_*.deb")
    os.makedirs(there.path(PLACE))
    write(FLEET, there.path(PLACE), "fleet.toml")
    for name, text in (("where.py", PYTHON), ("where.php", f"<?php {PHP}")):
        write(text, there.path(PLACE), name)
    write(PERL, there.path(PLACE), "where.pl")
    return there


def test(suite):
    """Counts the checks of all languages."""
    tree.say(f"trying the packages of the languages in a clean {suite}")
    there = prepared(suite)
    wheel(there)
    pecl(there)
    composer(there)
    cpan(there)


def answers(there, what, command):
    """Counts a check that a command in the directory of the map knows both nodes."""
    code, said = there.call(f"cd {PLACE} && {command}")
    COUNT.equal(what, (code, said.strip()), (0, NODES))


def wheel(there):
    (path,) = made("python", "*.whl")
    file = there.put(path, "packages")
    there.run("python3 -m venv /venv")
    code, said = there.call(f"/venv/bin/pip install -q --no-index {file}")
    COUNT.that("pip installs the wheel, without a network", code == 0, said)
    code, said = there.call(
        f"cd {PLACE} && /venv/bin/stead apply fleet.toml members.map"
    )
    COUNT.that("the program of the wheel applies a fleet", code == 0, said)
    answers(there, "the wheel's module answers", "/venv/bin/python where.py")
    there.run("/venv/bin/pip uninstall -q -y stead")
    code, said = there.call("find /venv -name '*stead*'")
    COUNT.equal("pip removes all of it", said, "")


def pecl(there):
    (path,) = made("php", "*.tgz")
    file = there.put(path, "packages")
    code, said = there.call(f"yes '' | pecl install {file}")
    COUNT.that("pecl installs the extension", code == 0, said[-3000:])
    php = "php -d extension=stead.so where.php"
    answers(there, "the extension answers", php)
    there.call("pecl uninstall stead")
    code, said = there.call("find $(php-config --extension-dir) -name '*stead*'")
    COUNT.equal("pecl removes it", said, "")


def composer(there):
    (path,) = made("php", "*.zip")
    there.put(path, "packages/composer")
    project = (
        'mkdir /project && cd /project && echo \'{"name": "test/application"}\' >composer.json && '
        "composer config repositories.stead artifact /packages/composer && "
        "composer config repositories.packagist.org false && "
        f"composer require -q stead/stead:{tree.version()}"
    )
    code, said = there.call(project, COMPOSER_ALLOW_SUPERUSER="1")
    COUNT.that("composer requires the package, without a network", code == 0, said)
    loaded = "php -d auto_prepend_file=/project/vendor/autoload.php where.php"
    answers(there, "the package answers through FFI", loaded)
    remove = "cd /project && ls vendor && composer remove -q stead/stead && ls vendor"
    code, said = there.call(remove, COMPOSER_ALLOW_SUPERUSER="1")
    COUNT.equal("composer removes it", (code, said.split().count("stead")), (0, 1))


def cpan(there):
    (path,) = made("perl", "*.tar.gz")
    file = there.put(path, "packages")
    folder = os.path.basename(path).removesuffix(".tar.gz")
    build = f"cd / && tar xzf {file} && cd {folder} && perl Makefile.PL && make"
    code, said = there.call(f"{build} && make test")
    COUNT.that("perl Makefile.PL, make, make test pass", code == 0, said[-3000:])
    there.run(f"cd /{folder} && make install")
    answers(there, "the Perl module answers", "perl where.pl")


def sdist():
    """Installs the source distribution into a fresh virtualenv of this machine, with the
    cargo that is here. pip fetches maturin, and cargo the crates."""
    (path,) = made("python", "stead-*.tar.gz")
    tree.say("installing the source distribution of the Python module (some minutes)")
    with tempfile.TemporaryDirectory() as folder:
        here([sys.executable, "-m", "venv", "venv"], folder)
        objects = os.path.join(tree.WORK, "objects-sdist")
        pip = ["venv/bin/pip", "install", "-q", "--disable-pip-version-check", path]
        code, said = here(pip, folder, CARGO_TARGET_DIR=objects)
        COUNT.that("pip builds and installs the source distribution", code == 0, said)
        write(FLEET, folder, "fleet.toml")
        code, said = here(
            ["venv/bin/stead", "apply", "fleet.toml", "members.map"], folder
        )
        COUNT.that("its program applies a fleet", code == 0, said)
        code, said = here(["venv/bin/python", "-c", PYTHON], folder)
        COUNT.equal("its module answers", (code, said.strip()), (0, NODES))


def crates():
    """Builds a program that needs the published library, and the published programs,
    from the packaged crates, in one workspace."""
    from crates import PUBLISHED

    tree.say("building the packaged crates (some minutes)")
    folder = os.path.join(tree.WORK, "crates-tried")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "where", "src"))
    names = [f"{name}-{tree.version()}" for name in PUBLISHED]
    for name in names:
        (path,) = made("crates", f"{name}.crate")
        here(["tar", "xzf", path], folder)
    # cargo takes these instead of those of crates.io, where none is yet
    patches = "".join(
        f"{name} = {{ path = '{name}-{tree.version()}' }}\n" for name in PUBLISHED
    )
    members = ", ".join(f'"{name}"' for name in ["where", *names])
    write(
        f"[workspace]\nresolver = '2'\nmembers = [{members}]\n"
        f"[patch.crates-io]\n{patches}"
        "[profile.dev]\ndebug = false\n",
        *(folder, "Cargo.toml"),
    )
    write(
        "[package]\nname = 'where'\nversion = '0.1.0'\nedition = '2021'\n"
        f"[dependencies]\nstead = '{tree.version()}'\n",
        *(folder, "where", "Cargo.toml"),
    )
    write(
        'fn main() {\n    let map = stead::Map::open("members.map").unwrap();\n'
        "    for key in std::env::args().skip(1) {\n"
        '        print!("{} ", map.node(map.locate(key.as_bytes())).name());\n    }\n}\n',
        *(folder, "where", "src", "main.rs"),
    )
    # the versions that the tree is tested with
    shutil.copy(os.path.join(tree.ROOT, "Cargo.lock"), folder)
    objects = os.path.join(tree.WORK, "objects-crates")
    for command in (
        ["build", "-p", "where", "-p", "stead-cli"],
        ["check", "--workspace"],
    ):
        code, said = here(
            [tree.CARGO, *command, "-q"], folder, CARGO_TARGET_DIR=objects
        )
        COUNT.that(f"cargo {' '.join(command)}", code == 0, said[-3000:])
        if code:
            return
    write(FLEET, folder, "fleet.toml")
    programs = os.path.join(objects, "debug")
    apply = [os.path.join(programs, "stead"), "apply", "fleet.toml", "members.map"]
    code, said = here(apply, folder)
    COUNT.that("the crate's program applies a fleet", code == 0, said)
    code, said = here([os.path.join(programs, "where"), "frank", "bob"], folder)
    COUNT.equal("the crate answers", (code, said.strip()), (0, NODES))
