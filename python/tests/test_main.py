"""`python -m stead` compared with `stead locate`: the same bytes, the same exit
codes.
"""

import os
import signal
import subprocess
import sys

import pytest
import stead

KEYS = [
    b"frank",
    b"",
    b"Frank",
    b"a b",
    b"tab\there",
    b"new\nline",
    b"cr\r",
    b"\r",
    b"crcr\r\r",
    b"\xff\xfe",
    "Zoë".encode(),
    b"-x",
    b"--",
    b"x" * 200_000,
]
MODULE = [sys.executable, "-m", "stead"]


@pytest.fixture
def folder(tmp_path, monkeypatch, copies):
    monkeypatch.chdir(tmp_path)
    copies.save("m.map")
    damaged = bytearray(copies.to_bytes())
    damaged[700] ^= 1
    (tmp_path / "damaged.map").write_bytes(damaged)
    (tmp_path / "text.map").write_bytes(b"no map\n")
    (tmp_path / "version.map").write_bytes(
        copies.to_bytes()[:8] + b"\x63" + copies.to_bytes()[9:]
    )
    return tmp_path


def run(command, arguments, data=b""):
    done = subprocess.run(
        [*command, *arguments],
        input=data,
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "data"),
    [
        (
            [
                b"m.map",
                *[
                    key
                    for key in KEYS
                    if not key.startswith(b"-") and len(key) < 100_000
                ],
            ],
            b"",
        ),
        ([b"m.map", b"--", b"-x", b"--", b"frank"], b""),
        ([b"m.map", b"-0", b"frank", b"bob"], b""),
        ([b"-0", b"m.map", b"frank", b"new\nline"], b""),
        ([b"m.map", b"frank", b"--prefer", b"5", b"bob"], b""),
        ([b"--prefer=2", b"m.map", b"frank"], b""),
        ([b"m.map", b"--prefer", b"1000", b"-0", b"frank"], b""),
        ([b"m.map"], b""),
        ([b"m.map"], b"".join(key + b"\n" for key in KEYS)),
        ([b"m.map"], b"frank\r\njustin"),
        ([b"m.map"], b"frank\r\njustin\r"),
        ([b"m.map"], b"\n\n\r\n"),
        ([b"m.map"], b"a\0b\nc"),
        ([b"m.map", b"-0"], b"".join(key + b"\0" for key in KEYS)),
        ([b"m.map", b"-0"], b"frank\r\n\0\0last"),
        ([b"m.map", b"-0"], b"\0"),
        (
            [b"m.map", b"--prefer", b"3"],
            b"".join(b"user%d\n" % i for i in range(20_000)),
        ),
        ([b"m.map"], b"".join(b"user%d\n" % i for i in range(100_000))),
    ],
)
def test_answers_are_the_programs(folder, program, arguments, data):
    said = run([program, "locate"], arguments, data)
    assert run(MODULE, arguments, data) == said
    assert said[0] == 0 and said[2] == b"" and (said[1] or not data)


@pytest.mark.parametrize(
    "arguments",
    [
        ["none.map", "frank"],
        ["damaged.map", "frank"],
        ["text.map"],
        ["version.map", "a"],
        [".", "a"],
        ["none/m.map"],
        ["m.map/x"],
        ["a\nb.map", "x"],
    ],
)
def test_errors_are_the_programs(folder, program, arguments):
    said = run([program, "locate"], arguments)
    code, out, error = run(MODULE, arguments)
    assert (code, out) == (said[0], said[1]) and code in (65, 66, 74)
    assert error.count(b"\n") == 1 and error.startswith(b"stead: ")
    # the program opens the file without a stat before it
    assert error.replace(b"cannot stat", b"cannot open") == said[2]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--wrong"],
        ["m.map", "-x"],
        ["m.map", "-1"],
        ["m.map", "--prefer", "0", "a"],
        ["m.map", "--prefer", "x", "a"],
        ["m.map", "--prefer", "-1", "a"],
        ["m.map", "--prefer"],
        ["m.map", "--pref", "2", "a"],
        ["--prefer", "2"],
    ],
)
def test_wrong_usage_ends_with_64(folder, program, arguments):
    code, out, error = run(MODULE, arguments)
    assert code == run([program, "locate"], arguments)[0] == 64 and out == b""
    assert (
        error.startswith(b"stead: ")
        and error.endswith(b"; see --help\n")
        and error.count(b"\n") == 1
    )


def test_help_and_version(folder):
    code, out, _ = run(MODULE, ["--help"])
    assert code == 0 and b"KEY<TAB>node1,node2" in out and b"Exit codes: 0 done" in out
    assert run(MODULE, ["--version"]) == (
        0,
        f"stead {stead.__version__}\n".encode(),
        b"",
    )


def test_each_answer_comes_before_the_next_question(folder, copies):
    process = subprocess.Popen(
        [*MODULE, "m.map"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    for key in ("frank", "bob", ""):
        process.stdin.write(key.encode() + b"\n")
        process.stdin.flush()
        assert (
            process.stdout.readline().decode()
            == f"{key}\t{','.join(copies.locate_all(key))}\n"
        )
    assert process.communicate()[0] == b"" and process.returncode == 0


def test_a_closed_pipe_ends_it_without_a_word(folder):
    process = subprocess.Popen(
        [*MODULE, "m.map"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    with pytest.raises(BrokenPipeError):
        for _ in range(10_000):
            process.stdin.write(b"frank\n" * 1000)
    with pytest.raises(BrokenPipeError):
        process.stdin.close()
    assert process.stderr.read() == b"" and process.wait(60) == 141
    process.stderr.close()


def test_a_full_disk_is_74(folder):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*MODULE, "m.map", "frank"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (
        done.returncode == 74
        and done.stderr.count(b"\n") == 1
        and b"No space left" in done.stderr
    )


def test_ctrl_c_ends_it_without_a_traceback(folder):
    process = subprocess.Popen(
        [*MODULE, "m.map"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdin.write(b"frank\n")
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert (
        process.communicate(timeout=60)[1] == b""
        and process.returncode == -signal.SIGINT
    )


def test_no_locale_changes_a_byte(folder):
    for locale in (
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "C.UTF-8"},
        {"PYTHONIOENCODING": "utf-16"},
    ):
        done = subprocess.run(
            [*MODULE, b"m.map", "Zoë".encode(), b"\xff"],
            stdout=subprocess.PIPE,
            env={**os.environ, **locale},
            check=True,
        )
        assert [line.split(b"\t")[0] for line in done.stdout.splitlines()] == [
            "Zoë".encode(),
            b"\xff",
        ]
