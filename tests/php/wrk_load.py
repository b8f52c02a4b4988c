"""wrk as a load whose answers are all kept. The answers are compared with the published
maps, as far as they contain the facts.
"""

import json
import re
import subprocess
import threading
from collections import Counter
from contextlib import contextmanager

import stead_reference
from fpm_server import find

# each thread requests member0, member1, ... and writes the status and body of every
# answer to its own file
SCRIPT = """
local threads = 0
function setup(thread) thread:set("number", threads); threads = threads + 1 end
function init(args)
    kind, directory, pause, next_key = args[1], args[2], tonumber(args[4]), number * 7
    file = io.open(directory .. "/wrk-" .. args[3] .. "-" .. number, "w")
    file:setvbuf("full", 65536)
end
function request()
    next_key = (next_key + 1) % 500
    return wrk.format("GET", "/" .. kind .. "/member" .. next_key)
end
function delay() return pause end
function response(status, headers, body) file:write(status, " ", body, "\\n") end
"""


class Wrk:
    """Rounds of wrk; `asked` counts its requests, `failed` those that failed."""

    def __init__(self, server, kind, directory):
        self.server, self.kind, self.directory = server, kind, directory
        self.asked = self.failed = self.rounds = 0
        self.rates = []
        self.script = directory / "wrk.lua"
        self.script.write_text(SCRIPT)

    def round(self, seconds=2, connections=6, pause=0):
        """Runs wrk for this time. Each connection makes a pause of some milliseconds
        between its requests.
        """
        self.rounds += 1
        url = "http://{}:{}".format(*self.server.address)
        command = [
            find("wrk"),
            "-t",
            "1",
            "-c",
            str(connections),
            "-d",
            f"{seconds}s",
            "--timeout",
            "60s",
            "-s",
            str(self.script),
            url,
            "--",
            self.kind,
            str(self.directory),
            str(self.rounds),
            str(pause),
        ]
        said = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True
        ).stdout.decode()
        self.asked += int(re.search(r"(\d+) requests in", said)[1])
        self.rates.append(float(re.search(r"Requests/sec: +([\d.]+)", said)[1]))
        # at its end wrk drops requests that are under way, which is not an error
        self.failed += sum(
            map(int, re.findall(r"(?:connect|read|write|timeout) (\d+)", said))
        ) + sum(map(int, re.findall(r"Non-2xx or 3xx responses: (\d+)", said)))

    @contextmanager
    def all_the_while(self):
        """Runs round after round while the context is open, and leaves time for others."""
        stop, problems = threading.Event(), []

        def run():
            try:
                while not stop.is_set():
                    self.round(pause=3)
            except Exception as problem:  # noqa: BLE001  the waiting thread reports it
                problems.append(problem)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield self
        finally:
            stop.set()
            thread.join()
        assert not problems, problems

    def answers(self):
        """Returns {(status, body): number of times}."""
        found = Counter()
        for path in self.directory.glob("wrk-*"):
            with open(path, encoding="utf-8") as file:
                # the last line may be incomplete when wrk ends
                found.update(line for line in file if line.endswith("}\n"))
        return {
            tuple(line.rstrip("\n").split(" ", 1)): count
            for line, count in found.items()
        }

    def faults(self, epochs):
        """Returns {fault: number of times}: errors, and answers that fit no published
        map or mix two
        """
        faults = Counter()
        for (status, body), count in self.answers().items():
            said = json.loads(body)
            if status != "200" or said["epoch"] not in epochs:
                faults["error"] += count
                continue
            published = epochs[said["epoch"]]
            wanted = {"again": published.map.epoch}
            if "key" in said:
                node = stead_reference.locate(
                    published.map, published.map.point(said["key"].encode())
                )
                wanted.update(node=node, address=published.addresses[node])
            faults["mixed"] += count * any(
                said[name] != value for name, value in wanted.items() if name in said
            )
        return +faults
