"""examples/members: photos go from four NAS to five by stead-sync carry, which is killed
on the way, while visitors in Python, PHP and Perl look for photos, upload and remove
them. No answer is wrong, and no photo is lost, comes back or is there twice.

A language that is not installed is skipped, with the reason.
"""

import json
import os
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

# PHP and Perl call the libstead of the other tests, not that of the demo
os.environ["STEAD_BUILT"] = built.libraries()

import languages
import places

PROGRAMS = built.programs()
COUNT = 6000
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
VISITORS = {"Python": "visitor.py", "PHP": "visitor.php", "Perl": "visitor.pl"}
CLASSES = {"Python": "members.py", "PHP": "members.php", "Perl": "Members.pm"}
COMMANDS, MISSING = {}, {}


def setUpModule():
    """Prepares the languages."""
    for language, ready in languages.prepare().items():
        if language in VISITORS:
            try:
                _, command, env = ready.result()
                COMMANDS[language] = command[:-1], dict(os.environ, **env)
            except languages.NotHere as why:
                MISSING[language] = str(why)
                print(f"skipped: {language}: {why}", flush=True)


def run(program, *arguments, code=0, **options):
    """Runs a program of stead, and returns what it prints."""
    done = subprocess.run(
        [PROGRAMS[program], *arguments],
        capture_output=True,
        check=False,
        timeout=LIMIT,
        **options,
    )
    assert done.returncode == code, done.stderr.decode()
    return done.stdout


class Site:
    """A directory with maps, with a hub, and with NAS below it. `photos.map` is that of the
    web servers; the operator has her own.
    """

    def __init__(self, directory):
        self.directory = directory
        self.operators = self.path("operator", "photos.map")
        self.url = f"file://{self.path('hub', 'photos.map')}"
        for name in ("operator", "hub"):
            os.mkdir(self.path(name))
        run(
            "stead",
            "apply",
            os.path.join(EXAMPLE, "shards.toml"),
            self.path("shards.map"),
        )
        with open(os.path.join(EXAMPLE, "carry.toml"), encoding="ascii") as example:
            text = example.read()
        # as in the example, but for the hub and the time of a request
        text = text.replace("etcd://10.0.0.1/members/photos", self.url)
        with open(self.path("operator", "carry.toml"), "w", encoding="ascii") as file:
            file.write(text.replace("grace = 60 ", "grace = 1 "))
        self.carry = self.path("operator", "carry.toml")

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def apply(self, *numbers, options=()):
        """Makes the next map, of these NAS, and pushes it."""
        text = 'name = "photos"\n'
        for number in numbers:
            mount = self.path(f"nas{number}")
            os.makedirs(mount, exist_ok=True)
            with open(os.path.join(mount, ".node"), "w", encoding="ascii") as file:
                file.write(f"nas{number}\n")
            text += f'[[node]]\nname = "nas{number}"\nattributes = {{ mount = "{mount}" }}\n'
        fleet = self.path("operator", "photos.toml")
        with open(fleet, "w", encoding="utf-8") as file:
            file.write(text)
        run("stead", "apply", *options, fleet, self.operators)
        run("stead-sync", "push", self.operators, self.url)

    def places(self, users):
        """Returns {user: file}, according to the operator's map."""
        given = b"".join(user + b"\0" for user in users)
        columns = [
            [record.split(b"\t")[0].decode() for record in said.split(b"\0")[:-1]]
            for said in (
                run("stead", "locate", "-0", self.operators, input=given),
                run("stead", "path", "-0", input=given),
            )
        ]
        return {
            user: self.path(node, path)
            for user, node, path in zip(users, *columns, strict=True)
        }

    def plant(self, users):
        """Writes a photo for each user."""
        for user, path in self.places(users).items():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "xb") as file:
                file.write(user + b" 0")

    def files(self):
        """Returns {path: content} of every file on the NAS except .node."""
        found = {}
        for node in os.listdir(self.directory):
            if node.startswith("nas"):
                for folder, _, names in os.walk(self.path(node)):
                    for name in names:
                        path = os.path.join(folder, name)
                        if name != ".node":
                            with open(path, "rb") as file:
                                found[path] = file.read()
        return found


class Members(unittest.TestCase):
    """A site, and what its visitors saw while a NAS was added."""

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(
            prefix="stead-members-", dir=places.short()
        )
        # cleanups run in reverse order: processes stop before their files are removed
        cls.addClassCleanup(temporary.cleanup)
        cls.children = []
        cls.addClassCleanup(cls.stop)
        cls.site = site = Site(temporary.name)
        names = site.path("names")
        command = [os.path.join(ROOT, "examples", "names", "make_names.py"), names]
        subprocess.run(
            [sys.executable, *command, "--count", str(COUNT)],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        with open(names, "rb") as file:
            cls.users = ODD + file.read().split(b"\n")[:-1]
        site.apply(1, 2, 3, 4)
        site.plant(cls.users)
        here = site.path("photos.map")
        watch = [PROGRAMS["stead-sync"], "watch", site.url, here, "--host", "web1"]
        with open(site.path("watch.log"), "wb") as log:
            cls.child(watch, stdout=log, stderr=log)
        until(lambda: os.path.exists(here))

        cls.visitors = {}
        for number, (language, (command, env)) in enumerate(COMMANDS.items()):
            own = site.path(f"users{number}")
            with open(own, "wb") as file:
                file.writelines(
                    user + b"\n" for user in cls.users[number :: len(COMMANDS)]
                )
            command = [*command, os.path.join(HERE, VISITORS[language])]
            cls.visitors[language] = cls.child(
                [*command, site.directory, own, site.path("stop")],
                env=env,
                stdout=subprocess.PIPE,
            )
        for language, visitor in cls.visitors.items():
            said = visitor.stdout.readline()
            assert said == b"ready\n", f"{language} is not ready; it said {said}"

        site.apply(1, 2, 3, 4, 5, options=("--carry",))
        # killed when the first photo has arrived, and when a third has
        cls.killed = 0
        for enough in (1, COUNT // 5 // 3):
            running = cls.child(
                [PROGRAMS["stead-sync"], "carry", "run", site.carry],
                stderr=subprocess.DEVNULL,
            )
            ended = running.poll
            until(
                lambda e=enough, ended=ended: cls.arrived() >= e or ended() is not None
            )
            cls.killed += running.poll() is None
            running.kill()
            running.wait()
        run("stead-sync", "carry", "run", site.carry)

        with open(site.path("stop"), "wb"):
            pass
        cls.seen, cls.due = {}, {}
        for language, visitor in cls.visitors.items():
            out, _ = visitor.communicate(timeout=LIMIT)
            assert visitor.returncode == 0, f"{language} ended: {visitor.returncode}"
            first, *lines = out.split(b"\n")[:-1]
            cls.seen[language] = tuple(map(int, first.split()))
            cls.due.update(line.split(b"\t") for line in lines)
            looks, uploads, removals, wrong = cls.seen[language]
            print(
                f"{language}: {looks:,} looks, {uploads:,} uploads, {removals:,} removals "
                f"during the carry, {wrong} wrong answers",
                flush=True,
            )
        cls.files = site.files()

    @classmethod
    def child(cls, command, **options):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
        cls.children.append(process)
        return process

    @classmethod
    def stop(cls):
        for child in cls.children:
            if child.poll() is None:
                child.kill()
            child.wait()
            if child.stdout:
                child.stdout.close()

    @classmethod
    def arrived(cls):
        """How many photos are on the new NAS."""
        return sum(len(names) for _, _, names in os.walk(cls.site.path("nas5"))) - 1

    def answers(self, language):
        if language in MISSING:
            self.skipTest(f"{language}: {MISSING[language]}")
        *done, wrong = self.seen[language]
        self.assertGreater(min(done), 100)
        self.assertEqual(wrong, 0)

    def test_no_visitor_in_python_gets_a_wrong_answer(self):
        self.answers("Python")

    def test_no_visitor_in_php_gets_a_wrong_answer(self):
        self.answers("PHP")

    def test_no_visitor_in_perl_gets_a_wrong_answer(self):
        self.answers("Perl")

    def test_the_carrier_was_killed_in_the_middle(self):
        self.assertEqual(self.killed, 2)

    def judge(self, files):
        """What of these files is not as it must be."""
        wanted = {
            path: self.due[user]
            for user, path in self.site.places(self.users).items()
            if self.due[user]
        }
        return {
            path
            for path in wanted.keys() | files.keys()
            if wanted.get(path) != files.get(path)
        }

    def test_each_photo_is_at_its_place_and_nowhere_else(self):
        self.assertEqual(len(self.due), len(self.users))
        self.assertEqual(self.judge(self.files), set())
        self.assertGreater(
            sum(b"/nas5/" in os.fsencode(path) for path in self.files), COUNT / 10
        )
        # the control: it sees a photo that is gone, that is back, and that is old
        path, *_ = self.files
        for files in (
            {other: text for other, text in self.files.items() if other != path},
            {**self.files, f"{path}.back": b"x"},
            {**self.files, path: b"old"},
        ):
            self.assertEqual(len(self.judge(files)), 1)

    def says(self, language):
        """The class of a language says what the programs say."""
        if language in MISSING:
            self.skipTest(f"{language}: {MISSING[language]}")
        command, env = COMMANDS[language]
        # a word of a command cannot be any bytes in Python
        users = [user for user in self.users[:1000] if user != b"\xff\xfe"]
        shards = self.site.path("shards.map")
        databases = {
            node["name"]: node["attributes"]["dsn"].encode()
            for node in json.loads(run("stead", "show", shards, "--json"))["nodes"]
        }
        given = b"".join(user + b"\0" for user in users)
        homes = [
            databases[record.split(b"\t")[0].decode()]
            for record in run("stead", "locate", "-0", shards, input=given).split(
                b"\0"
            )[:-1]
        ]
        expected = b"".join(
            b"%b\t%b\t%b\n" % (user, path.encode(), home)
            for (user, path), home in zip(self.site.places(users).items(), homes)
        )
        program = os.path.join(EXAMPLE, CLASSES[language])
        said = subprocess.run(
            [*command, program, self.site.directory, *users],
            env=env,
            stdout=subprocess.PIPE,
            timeout=LIMIT,
            check=True,
        ).stdout
        self.assertEqual(said, expected)
        self.assertEqual(len(set(homes)), 3)

    def test_python_says_what_the_program_says(self):
        self.says("Python")

    def test_php_says_what_the_program_says(self):
        self.says("PHP")

    def test_perl_says_what_the_program_says(self):
        self.says("Perl")


def until(condition):
    """Waits until a condition is true."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


if __name__ == "__main__":
    unittest.main()
