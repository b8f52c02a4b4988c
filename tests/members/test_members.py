"""examples/members: a mover that is killed on the way carries 100,000 photos from four
NAS to five, while readers in Python, PHP and Perl look for photos all the time. The
test also counts what readers and movers with a wrong order lose.

The files are in /dev/shm if it has enough space, otherwise in target/. A language that
is not installed is skipped, with the reason.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXAMPLE = os.path.join(ROOT, "examples", "members")
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "examples")]
sys.dont_write_bytecode = True

import built
import languages

STEAD = built.program()
COUNT = 100_000
# names with other bytes, which the tree has to accept; the list has only a-z, 0-9 and _
ODD = [
    b"Frank",
    b"a b",
    "zoë".encode(),
    "łukasz".encode(),
    b"=",
    b"..",
    b"a/b",
    b"\xff\xfe",
    b"'; rm -rf *",
    b".moving",
]
LIMIT = 600  # seconds; only a machine that hangs needs that long
READERS = {"Python": "reader.py", "PHP": "reader.php", "Perl": "reader.pl"}
COMMANDS, MISSING = {}, {}


def setUpModule():
    """Prepares the languages."""
    for language, ready in languages.prepare().items():
        if language in READERS:
            try:
                _, command, env = ready.result()
                COMMANDS[language] = (
                    [*command[:-1], os.path.join(HERE, READERS[language])],
                    dict(os.environ, **env),
                )
            except languages.NotHere as why:
                MISSING[language] = str(why)
                print(f"skipped: {language}: {why}", flush=True)


def scratch():
    """Returns a directory for many small files."""
    room = "/dev/shm"
    try:
        stat = os.statvfs(room)
        roomy = (
            os.access(room, os.W_OK)
            and stat.f_bavail * stat.f_frsize > 4 << 30
            and (stat.f_favail or 1 << 30) > 1_000_000
        )
    except OSError:
        roomy = False
    os.makedirs(languages.TARGET, exist_ok=True)
    return tempfile.TemporaryDirectory(
        prefix="stead-members-", dir=room if roomy else languages.TARGET
    )


def stead(*arguments, **options):
    return subprocess.run(
        [STEAD, *arguments],
        stdout=subprocess.PIPE,
        check=True,
        timeout=LIMIT,
        **options,
    ).stdout


class Site:
    """A directory with maps, and with NAS below it."""

    def __init__(self, directory):
        self.directory = directory
        self.map = os.path.join(directory, "photos.map")
        self.before = self.map + ".before"

    def fleet(self, *numbers):
        """Writes a fleet file of these NAS, and creates them."""
        path = os.path.join(self.directory, f"{len(numbers)}.toml")
        text = 'name = "photos"\n'
        for number in numbers:
            mount = self.mount(f"nas{number}")
            os.makedirs(mount, exist_ok=True)
            with open(os.path.join(mount, ".node"), "w", encoding="ascii") as file:
                file.write(f"nas{number}\n")
            text += f'[[node]]\nname = "nas{number}"\nattributes = {{ mount = "{mount}" }}\n'
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def mount(self, node):
        return os.path.join(self.directory, node)

    def start(self, *numbers):
        """Publishes the first map, and the map of the shards."""
        stead("apply", self.fleet(*numbers), self.map)
        stead(
            "apply",
            os.path.join(EXAMPLE, "shards.toml"),
            os.path.join(self.directory, "shards.map"),
        )

    def places(self, users, map=None):
        """Returns {user: file}, according to the program."""
        given = b"".join(user + b"\0" for user in users)
        nodes = [
            record.split(b"\t")[0].decode()
            for record in stead("locate", "-0", map or self.map, input=given).split(
                b"\0"
            )[:-1]
        ]
        paths = [
            record.split(b"\t")[0].decode()
            for record in stead("path", "-0", input=given).split(b"\0")[:-1]
        ]
        assert len(nodes) == len(paths) == len(users)
        return {
            user: os.path.join(self.mount(node), path)
            for user, node, path in zip(users, nodes, paths)
        }

    def plant(self, users):
        """Writes a photo for each user."""
        for user, path in self.places(users).items():
            self.upload(user, path)

    @staticmethod
    def upload(user, path, photo=None):
        for _ in range(2):
            try:
                with open(path, "xb") as file:
                    file.write(photo or b"photo of " + user + b"\n")
                return
            except FileNotFoundError:
                os.makedirs(os.path.dirname(path))

    def files(self):
        """Returns {path: (inode, content)} of every file on the NAS except .node."""
        found = {}
        for node in os.listdir(self.directory):
            if node.startswith("nas"):
                for folder, _, names in os.walk(self.mount(node)):
                    for name in names:
                        path = os.path.join(folder, name)
                        if name != ".node":
                            with open(path, "rb") as file:
                                found[path] = (
                                    os.fstat(file.fileno()).st_ino,
                                    file.read(),
                                )
        return found

    def mover(self, *arguments, **options):
        """Starts move.py."""
        return subprocess.Popen(
            [sys.executable, os.path.join(EXAMPLE, "move.py"), *arguments],
            env=dict(os.environ, STEAD=STEAD),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def move(self, step, *more, code=0):
        """Runs a step to its end, and returns its output."""
        mover = self.mover(step, self.directory, *more)
        out, err = mover.communicate(timeout=LIMIT)
        said = (out + err).decode("utf-8", "replace")
        assert mover.returncode == code, (
            f"move.py {step} ended with {mover.returncode}: {said}"
        )
        return said

    def moving(self, users):
        """Returns {user: (old file, new file)} of the users that move according to
        stead.
        """
        given = b"".join(user + b"\0" for user in users)
        said = stead("diff", self.before, self.map, "--keys", "-0", input=given).split(
            b"\0"
        )[:-1]
        names = [record.split(b"\t", 2)[2] for record in said]
        old, new = self.places(names, self.before), self.places(names)
        return {user: (old[user], new[user]) for user in names}

    def reader(self, language, *arguments):
        """Starts a reader."""
        command, env = COMMANDS[language]
        return subprocess.Popen(
            [*command, arguments[0], self.directory, *arguments[1:]],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def listed(self, language, users, how):
        """Returns (looks, moving, misses, wrong) of a reader for these users."""
        path = os.path.join(self.directory, "listed")
        with open(path, "wb") as file:
            file.writelines(user + b"\n" for user in users)
        reader = self.reader(language, "list", path, how)
        return tuple(map(int, ended(reader).split()))


def ended(reader):
    """Returns the last output of a reader."""
    out, _ = reader.communicate(b"go on\n", timeout=LIMIT)
    assert reader.returncode == 0, f"a reader ended with {reader.returncode}"
    return out.decode().strip()


class Languages(unittest.TestCase):
    """Skips tests that need a language that is not installed."""

    def need(self, language):
        if language in MISSING:
            self.skipTest(f"{language}: {MISSING[language]}")


class WholeMove(Languages):
    """One move of 100,000 files. The tests check what was observed."""

    @classmethod
    def setUpClass(cls):
        temporary = scratch()
        # cleanups run in reverse order: readers and movers stop before their files are
        # removed
        cls.addClassCleanup(temporary.cleanup)
        cls.children = []
        cls.addClassCleanup(cls.stop)
        cls.site = site = Site(temporary.name)
        names = os.path.join(site.directory, "names")
        subprocess.run(
            [
                sys.executable,
                os.path.join(ROOT, "examples", "names", "make_names.py"),
                names,
                "--count",
                str(COUNT - len(ODD)),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        with open(names, "ab") as file:
            file.writelines(user + b"\n" for user in ODD)
        with open(names, "rb") as file:
            cls.users = file.read().split(b"\n")[:-1]
        site.start(1, 2, 3, 4)
        site.plant(cls.users)
        cls.at_first = site.files()

        # readers, during the whole move
        stop = os.path.join(site.directory, "stop")
        readers = {
            language: cls.child(language, "run", names, stop) for language in COMMANDS
        }
        for reader in readers.values():
            assert reader.stdout.readline() == b"ready\n", "a reader did not get ready"
        a_user = cls.a_moving_user()
        stale = {
            language: cls.child(language, "stale", a_user) for language in COMMANDS
        }
        cls.stale = {
            language: [reader.stdout.readline().decode().strip()]
            for language, reader in stale.items()
        }

        site.move("begin", site.fleet(1, 2, 3, 4, 5))
        cls.moves = site.moving(cls.users)
        assert a_user in cls.moves
        cls.report = json.loads(stead("diff", site.before, site.map, "--json"))

        # killed twice on the way: when about a third of the files that leave nas1, and
        # then of those that leave nas3, have arrived
        cls.killed = []
        for node in ("nas1", "nas3"):
            heads = sorted(
                (old, new)
                for old, new in cls.moves.values()
                if old.startswith(site.mount(node) + os.sep)
            )
            waited_for = heads[len(heads) // 3][1]
            mover = site.mover("carry", site.directory, "--no-sync")
            cls.children.append(mover)
            while mover.poll() is None and not os.path.exists(waited_for):
                time.sleep(0.01)
            mover.send_signal(signal.SIGKILL)
            mover.communicate(timeout=LIMIT)
            cls.killed.append((mover.returncode, cls.progress()))
        # the files' places now, and what readers with several orders find
        cls.unmoved = [
            user for user, (_, new) in cls.moves.items() if not os.path.exists(new)
        ]
        cls.carried = [
            user for user, (old, _) in cls.moves.items() if not os.path.exists(old)
        ]
        cls.sample = cls.unmoved[:1500] + cls.carried[:1500]
        cls.listed = {
            (language, how): site.listed(language, cls.sample, how)
            for language in COMMANDS
            for how in ("0", "1", "10", "look")
        }

        # readers that pause between two looks while the mover carries the file
        raced = cls.unmoved[-1]
        race = {
            (language, how): cls.child(language, "pause", raced, how)
            for language in COMMANDS
            for how in ("01", "010")
        }
        cls.race = {
            key: [reader.stdout.readline().decode().strip()]
            for key, reader in race.items()
        }
        cls.last_carry = site.move("carry", "--no-sync")
        for found, readers_there in ((cls.race, race), (cls.stale, stale)):
            for key, reader in readers_there.items():
                found[key].append(ended(reader))
        cls.end = site.move("end", "--no-sync")
        # once more, under the new map alone
        cls.after = {
            language: site.listed(language, cls.sample, "look") for language in COMMANDS
        }
        with open(stop, "wb"):
            pass
        cls.ran = {
            language: tuple(map(int, ended(reader).split()))
            for language, reader in readers.items()
        }
        cls.at_last = site.files()
        for language, (looks, moving, misses, _) in cls.ran.items():
            print(
                f"{language}: {looks:,} looks, {moving:,} of them for files that "
                f"moved, {misses} misses",
                flush=True,
            )

    @classmethod
    def child(cls, language, *arguments):
        reader = cls.site.reader(language, *arguments)
        cls.children.append(reader)
        return reader

    @classmethod
    def stop(cls):
        for child in cls.children:
            if child.poll() is None:
                child.kill()
            child.communicate()

    @classmethod
    def a_moving_user(cls):
        """Returns a user that will move, found before the new map is published."""
        trial = Site(tempfile.mkdtemp(dir=cls.site.directory))
        shutil.copyfile(cls.site.map, trial.map)
        shutil.copyfile(cls.site.map, trial.before)
        stead("apply", cls.site.fleet(1, 2, 3, 4, 5), trial.map)
        return next(user for user in trial.moving(cls.users) if user.isalnum())

    @classmethod
    def progress(cls):
        """Returns the numbers of files that are only in the old place, in both, only in
        the new place, and in none.
        """
        found = [
            (os.path.exists(old), os.path.exists(new))
            for old, new in cls.moves.values()
        ]
        return tuple(
            found.count(state)
            for state in ((True, False), (True, True), (False, True), (False, False))
        )

    def test_files_moved_are_those_of_the_plan(self):
        old, new = (
            self.site.places(self.users, self.site.map + ".history/1"),
            self.site.places(self.users),
        )
        planned = {user for user in self.users if old[user] != new[user]}
        self.assertEqual(planned, set(self.moves))
        # a file with another name or another inode than at first was moved
        moved = {
            user
            for user in self.users
            if self.at_first.get(new[user], [None])[0] != self.at_last[new[user]][0]
        }
        self.assertEqual(moved, planned)
        # the plan's share of the hash space, within 7 standard deviations for 100,000
        # random names
        share = self.report["moved"]["fraction"]
        self.assertEqual(share, 0.2)
        self.assertLess(
            abs(len(moved) - share * COUNT), 7 * (COUNT * share * (1 - share)) ** 0.5
        )

    def test_no_file_is_lost_and_none_is_there_twice(self):
        expected = {
            path: b"photo of " + user + b"\n"
            for user, path in self.site.places(self.users).items()
        }
        self.assertEqual(len(expected), COUNT)
        self.assertEqual(
            {path: photo for path, (_, photo) in self.at_last.items()}, expected
        )
        self.assertEqual(len(self.at_first), COUNT)

    def test_the_mover_was_killed_in_the_middle_and_went_on(self):
        for code, (before, both, after, nowhere) in self.killed:
            self.assertEqual(code, -signal.SIGKILL)
            self.assertGreater(before, 100)
            self.assertGreater(after, 100)
            self.assertLessEqual(both, 1)
            self.assertEqual(nowhere, 0)
        self.assertGreater(self.killed[1][1][2], self.killed[0][1][2])
        # the numbers of carried files that the runs after the kills printed; the first
        # two were killed before they could print theirs
        left = self.killed[1][1][0] + self.killed[1][1][1]
        self.assertEqual(self.last_carry, f"{left:,} files carried\n")
        self.assertEqual(self.end, "0 files carried\n")
        self.assertFalse(os.path.exists(self.site.before))

    def test_nobody_waits_in_vain(self):
        """The controls have something to count."""
        self.assertGreater(len(self.unmoved), 1000)
        self.assertGreater(len(self.carried), 1000)

    def never_miss(self, language):
        self.need(language)
        looks, moving, misses, wrong = self.ran[language]
        self.assertEqual((misses, wrong), (0, 0))
        self.assertGreater(looks, 1000)
        self.assertGreater(moving, 100)
        everybody = len(self.sample)
        self.assertEqual(self.listed[language, "look"], (everybody, everybody, 0, 0))
        self.assertEqual(self.after[language], (everybody, 0, 0, 0))

    def one_place_misses(self, language):
        self.need(language)
        unmoved, carried = (
            sum(user in group for user in self.sample)
            for group in (set(self.unmoved), set(self.carried))
        )
        self.assertEqual(self.listed[language, "0"][2], unmoved)
        self.assertEqual(self.listed[language, "1"][2], carried)
        # old, then new: a file that is no longer in the old place has arrived in the
        # new one before
        self.assertEqual(self.listed[language, "10"][2], 0)

    def two_looks_miss(self, language):
        self.need(language)
        self.assertEqual(self.race[language, "01"], ["absent", "absent"])
        self.assertEqual(self.race[language, "010"], ["absent", "found"])

    def old_requests_find(self, language):
        self.need(language)
        self.assertEqual(self.stale[language], ["found", "absent found"])

    def test_python_readers_never_miss(self):
        self.never_miss("Python")

    def test_php_readers_never_miss(self):
        self.never_miss("PHP")

    def test_perl_readers_never_miss(self):
        self.never_miss("Perl")

    def test_a_python_reader_of_one_place_misses_what_is_in_the_other(self):
        self.one_place_misses("Python")

    def test_a_php_reader_of_one_place_misses_what_is_in_the_other(self):
        self.one_place_misses("PHP")

    def test_a_perl_reader_of_one_place_misses_what_is_in_the_other(self):
        self.one_place_misses("Perl")

    def test_a_python_reader_of_new_and_old_misses_what_is_carried_between(self):
        self.two_looks_miss("Python")

    def test_a_php_reader_of_new_and_old_misses_what_is_carried_between(self):
        self.two_looks_miss("PHP")

    def test_a_perl_reader_of_new_and_old_misses_what_is_carried_between(self):
        self.two_looks_miss("Perl")

    def test_a_python_request_that_began_before_the_move_finds(self):
        self.old_requests_find("Python")

    def test_a_php_request_that_began_before_the_move_finds(self):
        self.old_requests_find("PHP")

    def test_a_perl_request_that_began_before_the_move_finds(self):
        self.old_requests_find("Perl")


# runs move.py, and kills it by SIGKILL before its Nth step that changes something; if
# it runs to its end, prints the number of such steps
KILLED = """
import os, runpy, shutil, signal, sys
program, last = sys.argv[1], int(sys.argv[2])
sys.argv = sys.argv[1:2] + sys.argv[3:]
steps = 0
def counted(call):
    def step(*arguments, **options):
        global steps
        steps += 1
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **options)
    return step
for module, names in ((os, ("link", "unlink", "mkdir", "replace", "fsync")), (shutil, ("copyfileobj", "copystat", "copyfile"))):
    for name in names:
        setattr(module, name, counted(getattr(module, name)))
runpy.run_path(program, run_name="__main__")
print("steps", steps)
"""
# a mover that removes a file before it copies it, to show that a reader then misses it
RIGHT, WRONG = (
    b"    try:\n        try:\n            os.link(spare, new)\n",
    b"    os.unlink(old)\n    os.kill(os.getpid(), 9)\n",
)


class SmallMoves(Languages):
    """Moves of a few files, each with a failure."""

    USERS = [b"user%d" % i for i in range(12)] + ODD

    def setUp(self):
        temporary = scratch()
        self.addCleanup(temporary.cleanup)
        self.site = Site(temporary.name)
        self.site.start(1, 2)
        self.site.plant(self.USERS)
        self.grown = self.site.fleet(1, 2, 3)

    def moved_well(self, users=None, map=None):
        """Asserts that every photo is where the map says, and only there."""
        users = self.USERS if users is None else users
        expected = {
            path: b"photo of " + user + b"\n"
            for user, path in self.site.places(users, map).items()
        }
        self.assertEqual(
            {path: photo for path, (_, photo) in self.site.files().items()}, expected
        )

    def killed_at(self, step, *arguments):
        """Runs move.py up to a step. Returns whether it ran to its end."""
        command = [
            sys.executable,
            "-c",
            KILLED,
            os.path.join(EXAMPLE, "move.py"),
            str(step),
            arguments[0],
            self.site.directory,
            *arguments[1:],
        ]
        done = subprocess.run(
            command,
            env=dict(os.environ, STEAD=STEAD),
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        self.assertIn(done.returncode, (0, -signal.SIGKILL), done.stderr)
        return done.returncode == 0

    def test_killed_at_each_step_it_loses_nothing(self):
        kills = 0
        self.site.move("begin", self.grown)
        moves = self.site.moving(self.USERS)
        self.assertGreater(len(moves), 3)
        # each run is killed one step later than the previous one, and continues with
        # the files that that one left
        step = 1
        while not self.killed_at(step, "carry"):
            kills += 1
            for user, places in moves.items():
                photos = []
                for path in places:
                    if os.path.exists(path):
                        with open(path, "rb") as file:
                            photos.append(file.read())
                self.assertIn(
                    photos, [[b"photo of " + user + b"\n"] * n for n in (1, 2)]
                )
            step += 1
        self.assertGreater(kills, 5)
        self.site.move("end")
        self.moved_well()

    def test_begin_and_end_killed_at_each_step(self):
        kills = step = 0
        published = False
        while not published:
            step += 1
            published = (
                self.killed_at(step, "begin", self.grown)
                or json.loads(stead("show", self.site.map, "--json"))["epoch"] == 2
            )
            kills += not published
            self.moved_well(map=self.site.map + ".history/1")
        self.assertTrue(os.path.exists(self.site.before))
        step = 1
        while os.path.exists(self.site.before) and not self.killed_at(step, "end"):
            kills += 1
            step += 1
        self.assertGreater(kills, 5)
        self.assertFalse(os.path.exists(self.site.before))
        self.moved_well()

    def test_what_was_uploaded_meanwhile_stays(self):
        self.site.move("begin", self.grown)
        user, (old, new) = next(iter(self.site.moving(self.USERS).items()))
        self.site.upload(user, new, b"a newer photo")
        self.site.move("end")
        self.assertFalse(os.path.exists(old))
        with open(new, "rb") as file:
            self.assertEqual(file.read(), b"a newer photo")
        os.unlink(new)
        self.moved_well([other for other in self.USERS if other != user])

    def test_a_photo_that_comes_late_to_its_old_place_is_carried_by_end(self):
        self.site.move("begin", self.grown)
        moves = self.site.moving(self.USERS)
        user, (old, _) = next(iter(moves.items()))
        os.unlink(old)
        self.assertEqual(self.site.move("carry"), f"{len(moves) - 1} files carried\n")
        self.site.upload(user, old)
        self.assertEqual(self.site.move("end"), "1 files carried\n0 files carried\n")
        self.moved_well()

    def test_files_of_others_stay(self):
        stray = os.path.join(
            os.path.dirname(self.site.places([b"user0"])[b"user0"]), "Thumbs.db"
        )
        with open(stray, "wb") as file:
            file.write(b"not ours")
        self.site.move("begin", self.grown)
        self.assertIn("1 that are no member's there left alone", self.site.move("end"))
        os.unlink(stray)
        self.moved_well()

    def test_a_fleet_that_shrinks(self):
        self.site.move("begin", self.grown)
        self.site.move("end")
        fleet = self.site.fleet(1)
        said = self.site.move("begin", fleet, code=1)
        self.assertIn("takes back epoch 2: node nas3, added there", said)
        self.assertIn("if you mean it, add --allow take-back", said)
        self.assertFalse(os.path.exists(self.site.map + ".before"))
        self.site.move("begin", fleet, "--allow", "take-back")
        self.site.move("end")
        self.assertEqual(
            {path.split(os.sep)[-5] for path in self.site.files()}, {"nas1"}
        )
        self.moved_well()

    def test_what_cannot_be_done_is_said_and_nothing_is_changed(self):
        with open(self.site.map, "rb") as file:
            first = file.read()
        self.assertIn("no move is under way", self.site.move("carry", code=1))
        os.rename(self.site.map, self.site.map + ".away")
        self.assertIn(
            "makes the first map", self.site.move("begin", self.grown, code=1)
        )
        os.rename(self.site.map + ".away", self.site.map)
        os.unlink(os.path.join(self.site.mount("nas3"), ".node"))
        self.assertIn(
            ".node is missing: mount nas3 there",
            self.site.move("begin", self.grown, code=1),
        )
        with open(
            os.path.join(self.site.mount("nas3"), ".node"), "w", encoding="ascii"
        ) as file:
            file.write("nas2\n")
        self.assertIn("says `nas2`", self.site.move("begin", self.grown, code=1))
        wrong = os.path.join(self.site.directory, "wrong.toml")
        with (
            open(self.grown, encoding="utf-8") as source,
            open(wrong, "w", encoding="utf-8") as file,
        ):
            file.write(source.read().replace("mount", "mounted"))
        self.assertIn(
            "has no attribute `mount`", self.site.move("begin", wrong, code=1)
        )
        self.assertIn("nothing to do", self.site.move("begin", self.site.fleet(1, 2)))
        with open(self.site.map, "rb") as file:
            self.assertEqual(file.read(), first)
        self.assertFalse(os.path.exists(self.site.before))
        self.site.move("begin", self.site.fleet(1, 2, 3))
        self.assertIn(
            "a move is under way",
            self.site.move("begin", self.site.fleet(1, 2, 3), code=1),
        )
        self.moved_well(map=self.site.before)

    def test_a_file_that_cannot_be_carried_is_named_and_stays(self):
        self.site.move("begin", self.grown)
        user, (old, new) = next(iter(self.site.moving(self.USERS).items()))
        # a directory of the tree is a file, into which not even root can write
        third = os.path.dirname(new)
        os.makedirs(os.path.dirname(third), exist_ok=True)
        with open(third, "wb"):
            pass
        self.assertIn(
            f"{new}: Not a directory; no photo is lost", self.site.move("carry", code=1)
        )
        self.assertTrue(os.path.exists(old), user)
        os.unlink(third)
        self.site.move("end")
        self.moved_well()

    def test_a_mover_that_removes_first_loses_what_it_is_killed_at(self):
        """The control: readers and checks detect a file that is in no place."""
        with open(os.path.join(EXAMPLE, "move.py"), "rb") as file:
            source = file.read()
        self.assertEqual(source.count(RIGHT), 1)
        mover = os.path.join(self.site.directory, "wrong.py")
        with open(mover, "wb") as file:
            file.write(source.replace(RIGHT, WRONG + RIGHT))
        self.site.move("begin", self.grown)
        moves = self.site.moving(self.USERS)
        done = subprocess.run(
            [sys.executable, mover, "carry", self.site.directory],
            env=dict(os.environ, STEAD=STEAD),
            timeout=LIMIT,
            check=False,
        )
        self.assertEqual(done.returncode, -signal.SIGKILL)
        lost = [
            user
            for user, places in moves.items()
            if not any(map(os.path.exists, places))
        ]
        self.assertEqual(len(lost), 1)
        for language in COMMANDS:
            self.assertEqual(
                self.site.listed(language, self.USERS, "look")[2:], (1, 0), language
            )
        with self.assertRaises(AssertionError):
            self.moved_well()

    def agrees(self, language):
        """Asserts that photos and shards are those of the program."""
        self.need(language)
        command, env = COMMANDS[language]
        program = os.path.join(
            EXAMPLE,
            {"Python": "members.py", "PHP": "members.php", "Perl": "Members.pm"}[
                language
            ],
        )
        users = [user for user in self.USERS if user != b"\xff\xfe"] + [
            b"member%d" % i for i in range(1000)
        ]
        shards = os.path.join(self.site.directory, "shards.map")
        databases = {
            node["name"]: node["attributes"]["dsn"].encode()
            for node in json.loads(stead("show", shards, "--json"))["nodes"]
        }
        given = b"".join(user + b"\0" for user in users)
        homes = [
            databases[record.split(b"\t")[0].decode()]
            for record in stead("locate", "-0", shards, input=given).split(b"\0")[:-1]
        ]
        expected = b"".join(
            b"%b\t%b\t%b\n" % (user, path.encode(), home)
            for (user, path), home in zip(self.site.places(users).items(), homes)
        )
        said = subprocess.run(
            [*command[:-1], program, self.site.directory, *users],
            env=env,
            stdout=subprocess.PIPE,
            timeout=LIMIT,
            check=True,
        ).stdout
        self.assertEqual(said, expected)
        self.assertEqual(len(set(homes)), 3)

    def test_python_says_what_the_program_says(self):
        self.agrees("Python")

    def test_php_says_what_the_program_says(self):
        self.agrees("PHP")

    def test_perl_says_what_the_program_says(self):
        self.agrees("Perl")


if __name__ == "__main__":
    unittest.main()
