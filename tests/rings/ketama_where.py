"""Prints where the real libketama places each key: `ketama_where.py SERVERS` reads keys
in hex from standard input and prints an address a line.

It runs in .venv-rings-tests, where the package ketama is, a shared object with
libketama in it. Its functions are called directly: the package's own binding hashes
other bytes than a key's UTF-8. libketama keeps its points in shared memory under a key
that it makes from the file; this removes them.
"""

import ctypes
import sys

import ketama

IPC_RMID = 0


class Point(ctypes.Structure):
    """`mcs` of ketama.h."""

    _fields_ = [("point", ctypes.c_uint), ("address", ctypes.c_char * 22)]


libc, library = ctypes.CDLL(None), ctypes.CDLL(ketama.__file__)
library.ketama_error.restype = ctypes.c_char_p
library.ketama_get_server.restype = ctypes.POINTER(Point)
# this one takes the key's length
library.ketama_get_server.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t]
servers, continuum = sys.argv[1].encode(), ctypes.c_void_p()
try:
    if not library.ketama_roll(ctypes.byref(continuum), servers):
        sys.exit(library.ketama_error().decode())
    for line in sys.stdin:
        key = bytes.fromhex(line)
        print(
            library.ketama_get_server(
                key, continuum, len(key)
            ).contents.address.decode()
        )
finally:
    key = libc.ftok(servers, ord("R"))
    libc.shmctl(libc.shmget(key, 0, 0), IPC_RMID, None)
    libc.semctl(libc.semget(key, 1, 0), 0, IPC_RMID)
