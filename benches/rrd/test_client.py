"""The client of `make bench-rrd` counts what it is answered, and stops at anything that
is not success. The servers here answer as the tests tell them.

    python3 -m unittest discover -s benches/rrd
"""

import contextlib
import json
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

CLIENT = Path(__file__).resolve().parent / "client"
COMPILER = shlex.split(os.environ.get("CC", "cc"))
GO_AHEAD = b"0 Go ahead.  End with dot '.' on its own line.\n"
ENQUEUED = b"0 errors, enqueued 1 value(s).\n"


class Server:
    """Answers like an rrdcached, except for what `answer` says to a line."""

    def __init__(self, answer=lambda line, server: None, shown=lambda server: 0):
        self.answer, self.shown = answer, shown
        self.lines, self.lock, self.largest = [], threading.Lock(), 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        # a client that stops at an error resets its connections
        with contextlib.suppress(OSError), client, client.makefile("rb") as file:
            batch = 0
            for line in file:
                if line == b"STATS\n":
                    said = b"1 Statistics follow\nUpdatesReceived: %d\n" % (
                        len(self.lines) + self.shown(self)
                    )
                elif line == b"BATCH\n":
                    batch, said = 1, GO_AHEAD
                elif line == b".\n":
                    self.largest, batch = max(self.largest, batch - 1), 0
                    said = self.answer(line, self) or b"0 errors\n"
                else:
                    with self.lock:
                        self.lines.append(line)
                    if batch:
                        batch += 1
                        continue
                    said = self.answer(line, self) or ENQUEUED
                client.sendall(said)


@unittest.skipUnless(shutil.which(COMPILER[0]), f"{COMPILER[0]} is not installed")
class Load(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="stead-bench-")
        cls.addClassCleanup(directory.cleanup)
        cls.place = Path(directory.name)
        for name in ("load", "echo"):
            command = [*COMPILER, "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]
            command += ["-o", cls.place / name, CLIENT / f"{name}.c"]
            subprocess.run(command, check=True)
        cls.names = [f"host/{number}.rrd" for number in range(8)]
        (cls.place / "files").write_text("".join(f"{name}\n" for name in cls.names))

    def run_load(self, servers, *words):
        command = [self.place / "load", "--files", self.place / "files"]
        for server in servers:
            command += ["--to", server.address]
        command += ["--start", 1000, "--seconds", 60, *words]
        return subprocess.run(
            list(map(str, command)), capture_output=True, text=True, check=False
        )

    def good(self, servers, *words):
        done = self.run_load(servers, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def bad(self, servers, *words):
        done = self.run_load(servers, *words)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\Aload: [^\n]+\n\Z")
        return done.stderr

    def test_each_file_gets_newer_and_newer_updates_and_no_line_comes_twice(self):
        for words in (
            ["--clients", 1],
            ["--clients", 3],
            ["--batch", 7],
            ["--batch", 7, "--clients", 3],
            ["--rate", 100000],
            ["--rate", 100000, "--clients", 3],
        ):
            with self.subTest(words=words), Server() as server:
                said = self.good([server], "--updates", 100, *words)
                self.assertEqual(said["updates"], 100)
                self.assertEqual(len(server.lines), 100)
                times = {name: [] for name in self.names}
                for line in server.lines:
                    verb, name, value = line.decode().split()
                    self.assertEqual(verb, "update")
                    times[name].append(int(value.partition(":")[0]))
                for name, found in times.items():
                    start = list(range(1000, 1000 + len(found)))
                    self.assertEqual(found, start, name)
                newest = max(map(max, filter(None, times.values())))
                self.assertEqual(said["newest"], newest)

    def test_a_batch_has_its_lines_and_is_one_request(self):
        with Server() as server:
            said = self.good([server], "--updates", 100, "--batch", 40)
            self.assertEqual((said["requests"], server.largest), (3, 40))

    def test_two_servers_get_the_same_and_both_are_waited_for(self):
        def sleep(line, server):
            time.sleep(0.01)

        for words in ([], ["--clients", 2], ["--batch", 5], ["--rate", 100000]):
            with self.subTest(words=words), Server() as quick, Server(sleep) as slow:
                said = self.good([quick, slow], "--updates", 20, *words)
                self.assertEqual(said["updates"], 20)
                self.assertEqual(sorted(quick.lines), sorted(slow.lines))
                # the slow server slept for this long
                self.assertGreaterEqual(said["p50_us"], 10_000)

    def test_an_error_ends_the_run_and_is_shown(self):
        def refuse(line, server):
            if len(server.lines) == 5:
                return b"-1 illegal attempt to update\n"
            return None

        for words in ([], ["--clients", 2], ["--rate", 100000]):
            with self.subTest(words=words), Server(refuse) as server:
                said = self.bad([server], "--updates", 50, *words)
                self.assertIn(f"{server.address}: not the answer of success", said)
                self.assertIn("-1 illegal attempt to update", said)

    def test_an_error_in_a_batch_ends_the_run(self):
        refuse = b"1 errors\n3 No such file: host/1.rrd\n"
        with Server(lambda line, server: refuse) as server:
            said = self.bad([server], "--updates", 50, "--batch", 10)
            self.assertIn("3 No such file", said)

    def test_an_answer_of_more_values_is_none_of_success(self):
        more = b"0 errors, enqueued 2 value(s).\n"
        with Server(lambda line, server: more) as server:
            self.bad([server], "--updates", 50)

    def test_a_server_that_goes_away_ends_the_run(self):
        with Server() as server:
            server.serve = lambda client: client.close()
            said = self.bad([server], "--updates", 50)
            self.assertRegex(said, "closed the connection|cannot receive|cannot send")

    def test_delivered_is_when_the_servers_have_received_all(self):
        # it shows its last 30 updates only from the fourth question after them
        asked = []

        def shown(server):
            if len(server.lines) < 50:
                return 0
            asked.append(None)
            return 0 if len(asked) > 3 else -30

        with Server(shown=shown) as server:
            words = ["--updates", 50, "--server", server.address]
            said = self.good([server], *words)
        self.assertEqual((said["lacked"], len(asked)), (30, 4))
        self.assertGreater(said["delivered_seconds"], said["seconds"])

    def test_more_than_was_answered_ends_the_run(self):
        with Server(shown=lambda server: int(len(server.lines) == 50)) as server:
            words = ["--updates", 50, "--server", server.address]
            said = self.bad([server], *words)
            self.assertIn("50 updates were answered, and the servers got 51", said)

    def test_what_a_server_received_before_does_not_count(self):
        with Server(shown=lambda server: 1000) as server:
            words = ["--updates", 50, "--server", server.address]
            self.assertEqual(self.good([server], *words)["lacked"], 0)

    def test_late_is_counted_from_when_an_update_was_due(self):
        # the first answer takes 0.2 s; the others were due meanwhile
        def answer(line, server):
            if len(server.lines) == 1:
                time.sleep(0.2)

        with Server(answer) as server:
            said = self.good([server], "--updates", 20, "--rate", 1000)
        self.assertGreaterEqual(said["late_p50_us"], 100_000)
        self.assertLess(said["p50_us"], said["late_p50_us"])

    def test_a_wrong_command_line_says_what_to_do(self):
        with Server() as server:
            for words, what in (
                (["--clients", 9], "9 clients cannot share 8 files"),
                (["--clients", 0], "--clients 0: give a number"),
                (["--batch", 5, "--rate", 10], "give no --batch with it"),
                (["--rate", "x"], "--rate x: give a number"),
                (["--files", "/none"], "/none: No such file"),
                (["more"], "more: not an option"),
                (["--to", "nowhere"], "give unix:/path or host:port"),
            ):
                with self.subTest(words=words):
                    self.assertIn(what, self.bad([server], *words))

    def test_the_echo_answers_every_load(self):
        with subprocess.Popen(
            [self.place / "echo"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as echo:
            server = type("Echo", (), {"address": echo.stdout.readline().strip()})
            for words in ([], ["--clients", 4], ["--batch", 500, "--clients", 4]):
                said = self.good([server], "--updates", 5000, *words)
                self.assertEqual(said["updates"], 5000)
            echo.stdin.close()


if __name__ == "__main__":
    unittest.main()
