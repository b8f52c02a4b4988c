"""Runs a program under strace: lists its system calls, and makes one of them fail, lie,
or be the last one.
"""

import os
import re
import shutil
import subprocess
from collections import Counter, namedtuple

# The errors that fit a call, by name; every other call gets EIO. Memory is left out: a
# lack of it ends the process, which the kills cover.
ERRORS = {
    "openat": ["EIO", "ENOSPC", "EACCES", "EINTR", "EMFILE"],
    "write": ["EIO", "ENOSPC", "EINTR"],
    "read": ["EIO", "EINTR"],
    "fsync": ["EIO", "ENOSPC", "EINTR"],
    "fdatasync": ["EIO", "ENOSPC"],
    "rename": ["EIO", "ENOSPC", "EACCES"],
    "unlink": ["EIO", "EACCES"],
    "statx": ["EIO", "EACCES"],
    "newfstatat": ["EIO", "EACCES"],
    "close": ["EIO", "EINTR", "ENOSPC"],
    "getrandom": ["EIO", "EINTR", "ENOSYS"],
    "mkdir": ["EIO", "ENOSPC", "EACCES"],
    "flock": ["EIO", "EINTR", "ENOLCK"],
    "fchmod": ["EIO", "EPERM"],
}
MEMORY = {"mmap", "munmap", "mprotect", "brk", "mremap", "madvise"}
ENDS = {"exit", "exit_group", "execve"}
# These say that they did what they did not do. A rename that lies is left out: nobody
# can notice it, short of reading the map back for ever.
LIARS = {"fsync", "fdatasync", "fchmod", "flock", "mkdir", "unlink"}

Call = namedtuple("Call", "name nth started result text")
Fault = namedtuple("Fault", "kind name nth inject")


def why_not():
    """Returns why programs cannot be traced here; empty when they can."""
    if not shutil.which("strace"):
        return "strace is missing (package strace)"
    done = subprocess.run(
        ["strace", "-f", "-o", os.devnull, "true"], capture_output=True, check=False
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [""]
        return f"strace may not trace here (it needs the right to ptrace): {said[-1]}"
    return ""


def calls(command, cwd, env):
    """Runs a command; returns its system calls in order. They count as started from the
    first one that names a file of the scene or of the command.
    """
    log = os.path.join(cwd, ".calls")
    subprocess.run(
        ["strace", "-f", "-y", "-o", log, *command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    os.remove(log)
    seen, found, started = Counter(), [], False
    for line in lines:
        call = re.match(r"\d+ +(\w+)\((.*)", line)
        if not call:
            continue
        name, rest = call.groups()
        seen[name] += 1
        started = started or (
            name != "execve"
            and any(f'"{word}"' in rest for word in command[1:] if "." in word)
        )
        result = re.search(r"= (\d+)\b[^=]*$", rest)
        result = int(result[1]) if result else 0
        found.append(Call(name, seen[name], started, result, rest))
    return found


def faults(found):
    """Returns every fault for these calls: a kill at each, and for those after the start
    each error that fits and each lie.
    """
    for call in found:
        yield Fault("kill", call.name, call.nth, "signal=KILL")
    for call in found:
        if not call.started or call.name in MEMORY or call.name in ENDS:
            continue
        for error in ERRORS.get(call.name, ["EIO"]):
            yield Fault("errno", call.name, call.nth, f"error={error}")
    for call in found:
        if not call.started:
            continue
        lies = set()
        if call.name == "write":
            lies = {0, 1, call.result // 2, call.result}
        elif call.name == "read":
            # a fleet is text without a digest, so nobody can know that a byte is made up
            lies = {0} if ".toml>" in call.text else {0, 1}
            lies -= {call.result}
        elif call.name in LIARS:
            lies = {0}
        for lie in sorted(lies):
            yield Fault("lie", call.name, call.nth, f"retval={lie}")


def run(command, fault, cwd, env):
    """Runs a command with a fault; returns its exit code, what it said, and whether the
    fault took effect.
    """
    log = f"{cwd}.log"
    done = subprocess.run(
        [
            "strace",
            "-f",
            "-o",
            log,
            "-e",
            f"trace={fault.name}",
            "-e",
            f"inject={fault.name}:{fault.inject}:when={fault.nth}",
            *command,
        ],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
    )
    with open(log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    os.remove(log)
    effect = "killed by SIGKILL" if fault.kind == "kill" else "(INJECTED)"
    return done.returncode, done.stderr.decode("utf-8", "replace"), effect in text
