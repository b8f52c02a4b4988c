"""Random sequences of calls of libstead, beside a model of them in Python: which handles
there are, what each file holds, and what every call must return. The model knows the
maps from their bytes alone, through the reference (tests/reference).

    model.py LIBSTEAD.SO DIRECTORY SEED CALLS

Prints what differed, and `N passed, N failed, 0 skipped`. It is a process of its own, so
that a crash is one failure.
"""

import ctypes
import os
import random
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "reference"))
sys.dont_write_bytecode = True

import stead_reference as reference

OK, INVALID, DIGEST, NOT_FOUND, CONFLICT = 0, 1, 5, 8, 10
KEYS = [b"key%d" % i for i in range(40)] + [b"", b"\xff\0", b"x" * 200]
# handles and files that there may be
MOST, FILES, PUBLISHED = 60, 6, 3
NOTHING, DAMAGED = None, -1
# steps of the control
CONTROL = 2000


class Error(ctypes.Structure):
    """stead_error."""

    _fields_ = [
        ("status", ctypes.c_int32),
        ("os_errno", ctypes.c_int32),
        ("message", ctypes.c_char * 248),
    ]


class Library:
    """libstead. A call returns its status, and counts as failed when the error record does
    not say the same.
    """

    def __init__(self, path):
        self.stead = ctypes.CDLL(path)
        for name in ("free", "epoch", "share"):
            getattr(self.stead, "stead_map_" + name).argtypes = [ctypes.c_void_p]
        self.stead.stead_map_epoch.restype = ctypes.c_uint64
        self.stead.stead_map_share.restype = ctypes.c_void_p

    def call(self, name, *words):
        """Calls stead_map_NAME with an error record."""
        error = Error(status=-1)
        status = getattr(self.stead, "stead_map_" + name)(*words, ctypes.byref(error))
        return (
            status
            if status in (OK, error.status)
            else f"{status}, record {error.status}"
        )

    def map(self, name, *words):
        """Calls a function that makes a map; returns status and handle."""
        made = ctypes.c_void_p()
        status = self.call(name, *words, ctypes.byref(made))
        return status, made.value


def fleet(name, nodes):
    """Returns a fleet."""
    text = "".join(f'[[node]]\nname = "n{i}"\n' for i in range(nodes))
    return f'name = "{name}"\n{text}'.encode()


class Known:
    """A map, as its bytes say: see docs/map-format.md."""

    def __init__(self, data):
        self.bytes = data
        self.epoch = int.from_bytes(data[48:56], "little")
        self.parent, self.digest = data[64:96], data[96:128]
        read = reference.read_map(data)
        places = [reference.owner(read.final, read.point(key)) for key in KEYS]
        self.nodes = [read.policies[place].members[0] for place in places]


class Model:
    """The model, and the library beside it."""

    def __init__(self, library, directory, seed):
        self.library, self.chance = library, random.Random(seed)
        self.directory, self.passed, self.failed, self.seen = directory, 0, 0, {}
        self.maps = self.made()
        self.handles = []  # (handle, number of its map)
        self.files = [NOTHING] * (FILES + PUBLISHED)
        self.speaks = True

    def made(self):
        """Makes the maps: four epochs of one, two that could be its fifth, and another."""
        before, maps = None, []
        for count in (2, 3, 4, 5):
            before = self.built(fleet("m", count), before)
            maps.append(before)
        maps += [self.built(fleet("m", count), before) for count in (6, 7)]
        maps.append(self.built(fleet("other", 3), None))
        known = []
        for handle in maps:
            data, length = ctypes.c_void_p(), ctypes.c_size_t()
            words = ctypes.byref(data), ctypes.byref(length)
            assert self.library.call("bytes", ctypes.c_void_p(handle), *words) == OK
            known.append(Known(ctypes.string_at(data.value, length.value)))
            self.library.stead.stead_map_free(handle)
        return known

    def built(self, text, before):
        """Builds a map."""
        words = ctypes.c_size_t(len(text)), b"fleet", ctypes.c_void_p(before), None
        status, handle = self.library.map("build", text, *words)
        assert status == OK, status
        return handle

    def path(self, number):
        """Returns the path of a file."""
        return os.fsencode(os.path.join(self.directory, f"{number}.map"))

    def that(self, what, got, wanted):
        """Counts a call, by what it must return."""
        if ":" not in what:  # a call, and not what it gave
            kind = what.split()[0], str(wanted)
            self.seen[kind] = self.seen.get(kind, 0) + 1
        good = got == wanted
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        if not good and self.speaks and self.failed <= 10:
            print(f"{what}: got {got!r}, must be {wanted!r}")

    # ---- what a step may do

    def keep(self, what, got, wanted, number):
        """Counts a call that makes a map, and keeps the handle."""
        status, handle = got
        self.that(what, status, wanted)
        if handle:
            self.that("made: a handle with STEAD_OK only", status, OK)
            self.handles.append((handle, number))

    def from_bytes(self):
        number = self.chance.randrange(len(self.maps))
        data, wanted = self.maps[number].bytes, OK
        if self.chance.random() < 0.3:
            at = self.chance.randrange(200, len(data))
            data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
            wanted = DIGEST
        size = ctypes.c_size_t(len(data))
        self.keep(
            "from_bytes", self.library.map("from_bytes", data, size), wanted, number
        )

    def opened(self):
        file = self.chance.randrange(len(self.files))
        holds = self.files[file]
        wanted = {NOTHING: NOT_FOUND, DAMAGED: DIGEST}.get(holds, OK)
        way = self.chance.choice(["open 0", "open 1", "open_uncached"])
        name, *flags = way.split()
        words = [ctypes.c_uint32(int(flag)) for flag in flags]
        made = self.library.map(name, self.path(file), *words)
        self.keep(name, made, wanted, holds)

    def peeked(self):
        file = self.chance.randrange(len(self.files))
        epoch, digest = ctypes.c_uint64(), ctypes.create_string_buffer(32)
        status = self.library.call("peek", self.path(file), ctypes.byref(epoch), digest)
        holds = self.files[file]
        # it verifies nothing, so a damaged file has an epoch and a digest, too
        self.that("peek", status, NOT_FOUND if holds is NOTHING else OK)
        if holds not in (NOTHING, DAMAGED):
            known = self.maps[holds]
            self.that("peek: epoch", epoch.value, known.epoch)
            self.that("peek: digest", digest.raw, known.digest)

    def asked(self):
        handle, number = self.chance.choice(self.handles)
        known, key = self.maps[number], self.chance.randrange(len(KEYS))
        node = ctypes.c_int32()
        words = KEYS[key], ctypes.c_size_t(len(KEYS[key])), ctypes.byref(node)
        self.that(
            "locate", self.library.call("locate", ctypes.c_void_p(handle), *words), OK
        )
        self.that("locate: node", node.value, known.nodes[key])
        self.that(
            "epoch: value", self.library.stead.stead_map_epoch(handle), known.epoch
        )

    def same(self):
        (a, first), (b, second) = self.chance.choices(self.handles, k=2)
        got = self.library.stead.stead_map_same(ctypes.c_void_p(a), ctypes.c_void_p(b))
        self.that("same: answer", bool(got), first == second)

    def digest(self):
        handle, number = self.chance.choice(self.handles)
        digest = ctypes.create_string_buffer(32)
        self.that(
            "digest", self.library.call("digest", ctypes.c_void_p(handle), digest), OK
        )
        self.that("digest: bytes", digest.raw, self.maps[number].digest)

    def shared(self):
        handle, number = self.chance.choice(self.handles)
        self.handles.append((self.library.stead.stead_map_share(handle), number))

    def freed(self):
        at = self.chance.randrange(len(self.handles))
        self.library.stead.stead_map_free(self.handles.pop(at)[0])

    def saved(self):
        handle, number = self.chance.choice(self.handles)
        file = self.chance.randrange(FILES)
        words = ctypes.c_void_p(handle), self.path(file)
        self.that("save", self.library.call("save", *words), OK)
        self.files[file] = number

    def removed(self):
        file = self.chance.randrange(len(self.files))
        path = os.fsdecode(self.path(file))
        for more in ("", ".lock"):
            if os.path.exists(path + more):
                os.remove(path + more)
        shutil.rmtree(path + ".history", ignore_errors=True)
        self.files[file] = NOTHING

    def damaged(self):
        file = self.chance.randrange(FILES)
        if self.files[file] in (NOTHING, DAMAGED):
            return
        data = bytearray(self.maps[self.files[file]].bytes)
        data[self.chance.randrange(200, len(data))] ^= 0x10
        new = os.fsdecode(self.path(file)) + ".new"
        with open(new, "wb") as out:
            out.write(data)
        os.replace(new, self.path(file))
        self.files[file] = DAMAGED

    def published(self):
        file = self.chance.randrange(FILES, FILES + PUBLISHED)
        holds = self.files[file]
        handle, number = self.chance.choice(self.handles)
        known = self.maps[number]
        # often the map that is there, so that many of these succeed
        there = [one for one in self.handles if one[1] == holds] + [(None, NOTHING)]
        previous, before = self.chance.choice(
            self.handles if self.chance.random() < 0.3 else there
        )
        if before is NOTHING and known.epoch != 1:
            return
        if holds != before:
            wanted = CONFLICT
        else:
            is_next = before is NOTHING or self.maps[before].digest == known.parent
            wanted = OK if is_next else INVALID
        words = (
            ctypes.c_void_p(handle),
            ctypes.c_void_p(previous),
            self.path(file),
            None,
        )
        got = self.library.call("publish", *words)
        self.that("publish", got, wanted)
        if got == OK:
            self.files[file] = number

    def missing(self):
        """Calls without a map."""
        node = ctypes.byref(ctypes.c_int32())
        got = self.library.call("locate", None, b"k", ctypes.c_size_t(1), node)
        self.that("locate without a map", got, INVALID)
        self.that("save", self.library.call("save", None, self.path(0)), INVALID)
        self.library.stead.stead_map_free(None)

    def step(self):
        """Takes a step at random."""
        free = [self.from_bytes, self.opened, self.peeked, self.removed, self.damaged]
        with_handle = [self.asked, self.same, self.digest, self.shared, self.saved]
        steps = [*free, self.missing]
        if self.handles:
            steps += [*with_handle, *[self.published] * 3, self.freed]
        self.chance.choice(steps)()
        while len(self.handles) > MOST:
            self.freed()


def blind(library, directory, seed):
    """Returns whether a model that is wrong about one map differs from the library in
    nothing: the control.
    """
    os.mkdir(directory)
    model = Model(library, directory, seed)
    model.speaks, model.maps[2].nodes = False, [-1] * len(KEYS)
    for _ in range(CONTROL):
        model.step()
    return model.failed == 0


def main():
    path, directory, seed, calls = sys.argv[1:]
    library = Library(path)
    model = Model(library, directory, int(seed))
    for _ in range(int(calls)):
        model.step()
    kinds = sorted(model.seen.items())
    print(", ".join(f"{name} {status}: {times}" for (name, status), times in kinds))
    model.that(
        "control: a wrong model is found",
        blind(library, directory + "/wrong", 1),
        False,
    )
    print(f"{model.passed} passed, {model.failed} failed, 0 skipped")
    return 1 if model.failed else 0


if __name__ == "__main__":
    sys.exit(main())
