"""The program `stead` that the wheel brings, and `python -m stead`, which runs it."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig

import pytest
import stead

PROGRAM = os.path.join(sysconfig.get_path("scripts"), "stead")
MODULE = [sys.executable, "-m", "stead"]
FLEET = "name = 'members'\n[[node]]\nname = 'db1'\n[[node]]\nname = 'db2'\n"


def run(command, *arguments, data=b"", **named):
    done = subprocess.run(
        [*command, *arguments], input=data, capture_output=True, check=False, **named
    )
    return done.returncode, done.stdout, done.stderr


def test_it_has_every_verb():
    code, said, _ = run([PROGRAM], "--help")
    assert code == 0
    for verb in (
        *("plan", "apply", "locate", "show", "diff", "check", "path", "survey"),
        *("simulate", "ring", "history", "rollback"),
    ):
        assert f"\n  {verb} ".encode() in said, verb
    assert run([PROGRAM], "--version")[1].decode() == f"stead {stead.__version__}\n"


@pytest.mark.parametrize(
    "command", [[PROGRAM], MODULE], ids=["stead", "python -m stead"]
)
def test_it_answers_as_the_module_does(command, tmp_path):
    (tmp_path / "fleet.toml").write_text(FLEET)
    assert run(command, "apply", "fleet.toml", "m.map", cwd=tmp_path)[0] == 0
    members = stead.Map.open(tmp_path / "m.map")
    assert members == stead.Map.build(FLEET)
    keys = [b"frank", b"\xff", b"-x", b""]
    said = run(command, "locate", "m.map", data=b"\n".join(keys) + b"\n", cwd=tmp_path)
    assert said == (
        0,
        b"".join(b"%b\t%b\n" % (key, members.locate(key).encode()) for key in keys),
        b"",
    )
    # arguments and exit codes are passed on
    assert run(command, "locate", "m.map", "--", "-x", cwd=tmp_path)[0] == 0
    assert run(command, "locate", "none.map", "a", cwd=tmp_path)[0] == 66
    assert run(command, "loacte")[0] == 64


def test_ctrl_c_ends_it_as_it_ends_programs(tmp_path):
    stead.Map.build(FLEET).save(tmp_path / "m.map")
    process = subprocess.Popen(
        [*MODULE, "locate", tmp_path / "m.map"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    process.stdin.write(b"frank\n")
    process.stdin.flush()
    assert process.stdout.readline()  # it has begun
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == -signal.SIGINT
    process.stdin.close()
    process.stdout.close()


def test_a_missing_program_is_named(tmp_path):
    package = tmp_path / "stead"
    shutil.copytree(os.path.dirname(stead.__file__), package)
    here = tmp_path / "usr"
    code = (
        "import runpy, sys, sysconfig\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        f"sysconfig.get_path = lambda *_: {str(tmp_path)!r}\n"
        f"sys.executable = {str(here / 'python3')!r}\n"
        "sys.argv[1:] = ['--version']\n"
        "runpy.run_module('stead', run_name='__main__')\n"
    )
    status, _, said = run([sys.executable, "-c"], code)
    assert status == 1
    assert said.decode().startswith(
        "stead: the program `stead` is not installed beside"
    )
    # a package in a folder (pip install -t) has it in the folder's bin, and that of a distribution
    # beside Python itself
    for folder in tmp_path / "bin", here:
        folder.mkdir()
        shutil.copy(PROGRAM, folder)
        status, said, _ = run([sys.executable, "-c"], code)
        assert (status, said.decode()) == (0, f"stead {stead.__version__}\n")
        shutil.rmtree(folder)
