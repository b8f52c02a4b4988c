"""Calls libstead with one input in a child of its own, and measures the call: the status
that it returns, its CPU time, and how much memory it takes at most.

The child may use ten seconds of CPU and a GiB more than it has, as in `make fuzz`: a
call that never ends or takes all memory ends the child, and is seen.
"""

import ctypes
import json
import os
import resource
import signal
import time
import traceback
from dataclasses import dataclass

CPU_SECONDS, MEMORY = 10, 1 << 30
MESSAGE = 248
SMALL = b'name = "m"\n[[node]]\nname = "a"\n'


class Error(ctypes.Structure):
    """stead_error."""

    _fields_ = [
        ("status", ctypes.c_int32),
        ("os_errno", ctypes.c_int32),
        ("message", ctypes.c_char * MESSAGE),
    ]


@dataclass
class Outcome:
    """What came of a call. `status` is a text when the child did not live to say it."""

    status: object
    message: str = ""
    seconds: float = 0.0
    peak: int = 0


class Library:
    """libstead, and the calls that take bytes of others."""

    def __init__(self, path):
        self.stead = ctypes.CDLL(path)
        self.stead.stead_map_free.argtypes = [ctypes.c_void_p]

    def read(self, data):
        """stead_map_from_bytes."""
        return self.made("stead_map_from_bytes", data, ctypes.c_size_t(len(data)))

    def build(self, data):
        """stead_map_build."""
        words = (data, ctypes.c_size_t(len(data)), b"fleet", None, None)
        return self.made("stead_map_build", *words)

    def open(self, path):
        """stead_map_open."""
        return self.made("stead_map_open", os.fsencode(path), ctypes.c_uint32(0))

    def warm(self):
        """Makes calls whose memory counts for nobody: the code that they run, and what the
        library keeps for the process, are there afterwards.
        """
        self.build(SMALL)
        self.build(SMALL + b"[[node]]")
        self.read(SMALL)

    def made(self, name, *words):
        """Calls a function that makes a map; returns status and message."""
        made, error = ctypes.c_void_p(), Error()
        status = getattr(self.stead, name)(
            *words, ctypes.byref(made), ctypes.byref(error)
        )
        if made.value:
            self.stead.stead_map_free(made)
        return status, error.message.decode("utf-8", "replace")


def kilobytes(field):
    """Returns a number of /proc/self/status, in bytes."""
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith(field + ":"))
    return int(line.split()[1]) << 10


def measure(library, call, seconds=CPU_SECONDS):
    """Calls `call`, which returns a status and a message, in a child."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reads)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            room = kilobytes("VmSize") + MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (room, room))
            library.warm()
            # from now on the peak is that of the call
            with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
                file.write("5")
            before, begun = kilobytes("VmRSS"), time.process_time()
            status, message = call()
            took = time.process_time() - begun
            said = [status, message, took, kilobytes("VmHWM") - before]
            os.write(writes, json.dumps(said).encode())
            os._exit(0)
        except MemoryError:
            pass
        except (OSError, ValueError, ctypes.ArgumentError):
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writes)
    with os.fdopen(reads, "rb") as pipe:
        said = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code or not said:
        name = signal.Signals(-code).name if code < 0 else f"exit {code}"
        return Outcome(f"ended by {name}")
    return Outcome(*json.loads(said))
