"""Real rrdcached servers, the router before them, and a client that sends exactly the
bytes that it is given.
"""

import os
import re
import signal
import socket
import subprocess
import time

from ports import free_port

# generous, because the machine may be very busy; nothing is measured by it
LIMIT = 120


def wait_for(condition, what):
    """Waits until the condition returns something true, and returns that."""
    end = time.monotonic() + LIMIT
    while True:
        begin = time.monotonic()
        found = condition()
        if found:
            return found
        now = time.monotonic()
        assert now < end, f"waited {LIMIT} s for {what}"
        # Many conditions run a program. The pause is longer than the condition takes, so that the
        # servers under test keep most of the processor.
        time.sleep(min(max(0.02, 8 * (now - begin)), 0.2))


def connect(address):
    """Returns a socket that is connected to an address in the form that rrdtool takes:
    unix:/path or host:port.
    """
    if address.startswith("unix:"):
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(LIMIT)
        connected.connect(address[len("unix:") :])
        return connected
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), LIMIT)


class Client:
    """A connection to an rrdcached or to the router."""

    def __init__(self, address):
        self.socket = connect(address)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, text):
        """Sends bytes or text as they are."""
        self.socket.sendall(text.encode() if isinstance(text, str) else text)

    def reply(self):
        """Reads the next complete reply."""
        head = self.file.readline()
        assert head.endswith(b"\n"), f"the server closed the connection after {head!r}"
        lines = []
        for _ in range(max(0, int(head.split()[0]))):
            lines.append(self.file.readline())
            # FETCHBIN
            data = re.match(rb"DSName-.*: BinaryData (\d+) (\d+) ", lines[-1])
            if data:
                lines.append(self.file.read(int(data[1]) * int(data[2]) + 1))
        return head + b"".join(lines)

    def ask(self, line):
        """Sends one request and returns its reply."""
        self.send(line if isinstance(line, bytes) else line + "\n")
        return self.reply()

    def batch(self, lines):
        """Returns the answer to a BATCH of these lines."""
        assert self.ask("BATCH").startswith(b"0 Go ahead")
        self.send("".join(f"{line}\n" for line in lines) + ".\n")
        return self.reply()


class Rrdcached:
    """One rrdcached, with a directory of its own."""

    def __init__(self, directory, address, base=None):
        # more than one thread, or a journal, lose updates: test_faults.py shows it
        self.threads, self.journal = 1, None
        # what its commands begin with, and more options of rrdcached
        self.prefix, self.more = [], []
        self.directory, self.address = directory, address
        # as the fleet has it
        self.reached = address
        self.base = base or directory / "db"
        self.base.mkdir(parents=True)
        directory.mkdir(exist_ok=True)
        self.process = None
        self.files, self.agent = self.base, None

    def start_agent(self, programs, listen=None, options=()):
        """Offers its files through an agent instead of the directory."""
        self.files = listen or f"unix:{self.directory}/files"
        command = [
            *self.prefix,
            programs["stead-rrd"],
            "files",
            "--base",
            self.base,
            "--listen",
            self.files,
            *options,
        ]
        before = self.agent_said("listening on")
        with open(self.directory / "agent", "ab") as said:
            self.agent = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )
        wait_for(
            lambda: self.agent_said("listening on") > before, "the agent to listen"
        )

    def agent_said(self, text):
        """Returns how often its agents have said this."""
        path = self.directory / "agent"
        return path.read_text().count(text) if path.exists() else 0

    def stop_agent(self, how=signal.SIGTERM):
        """Stops the agent."""
        if self.agent and self.agent.poll() is None:
            os.kill(self.agent.pid, how)
        if self.agent:
            self.agent.wait()
        self.agent = None

    def start(self):
        """Starts the server and waits until it answers."""
        (self.directory / "pid").unlink(missing_ok=True)
        command = [
            *self.prefix,
            "rrdcached",
            "-g",
            "-l",
            self.address,
            "-p",
            self.directory / "pid",
            "-b",
            self.base,
            "-B",
            "-R",
            "-w",
            "3600",
            "-f",
            "7200",
            "-z",
            "1",
            "-F",
            "-t",
            str(self.threads),
            *self.more,
        ]
        if self.journal:
            command += ["-j", self.journal]
        with open(self.directory / "said", "ab") as said:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )

        def answers():
            assert self.process.poll() is None, (self.directory / "said").read_text()
            try:
                with Client(self.address) as client:
                    return client.ask("PING") == b"0 PONG\n"
            except OSError:
                return False

        wait_for(answers, f"rrdcached at {self.address}")

    def stop(self, how=signal.SIGTERM):
        """Stops the server."""
        if self.process and self.process.poll() is None:
            os.kill(self.process.pid, how)
        if self.process:
            self.process.wait()
        self.process = None


def resident(pid):
    """Returns how many bytes of memory a process holds, and 0 after it has ended."""
    try:
        with open(f"/proc/{pid}/status") as status:
            return next(
                (
                    int(line.split()[1]) << 10
                    for line in status
                    if line.startswith("VmRSS:")
                ),
                0,
            )
    except OSError:
        return 0


def descriptors(pid):
    """Returns how many descriptors a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


class Cluster:
    """Four backends in two zones with R = 2, the router, and `single`: one rrdcached
    with the base that the router claims to have.
    """

    # only clients cause a flush
    QUIET = ("--flush-after", "86400", "--check-every", "0")
    # the copies of each file
    copies = 2

    def __init__(self, programs, place, quiet=False):
        self.programs, self.place = programs, place
        addresses = [
            f"127.0.0.1:{free_port()}",
            f"unix:{place}/a2/s",
            f"unix:{place}/b1/s",
            f"127.0.0.1:{free_port()}",
        ]
        self.backends = {
            name: Rrdcached(place / name, address)
            for name, address in zip(("a1", "a2", "b1", "b2"), addresses)
        }
        self.base = place / "rrd"
        self.single = Rrdcached(place / "single", f"unix:{place}/single/s", self.base)
        self.router = None
        self.tcp, self.unix = None, f"unix:{place}/s"
        self.map = place / "rrd.map"
        self.state = place / "state"
        self.options = [*self.QUIET] if quiet else []
        # options of each listener
        self.policy = []
        # what clients may ask, in the form of --allow
        self.allow = "DEFAULT,SUSPENDALL,RESUMEALL" if quiet else None

    def publish(self, names=None, rule=""):
        """Writes a map of these backends, or of all, with one more line in the fleet.
        Returns the program's output.
        """
        nodes = "".join(self.node(name) for name in names or self.backends)
        fleet = self.place / "fleet.toml"
        fleet.write_text(
            f'name = "rrd"\nreplicas = {self.copies}\nspread = ["zone"]\n{rule}\n{nodes}'
        )
        return subprocess.run(
            [self.programs["stead"], "apply", fleet, self.map],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

    def node(self, name):
        """Returns a backend in the form of a fleet."""
        backend = self.backends[name]
        files = f', files = "{backend.files}"' if backend.files else ""
        return (
            f'[[node]]\nname = "{name}"\nlabels = {{ zone = "{name[0]}" }}\n'
            f'attributes = {{ rrdcached = "{backend.reached}"{files} }}\n'
        )

    def servers(self):
        """Returns every running rrdcached."""
        return [*self.backends.values(), self.single]

    def __enter__(self):
        self.publish()
        try:
            for server in self.servers():
                server.start()
            self.start_router()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop_router()
        for server in self.servers():
            server.stop_agent()
            server.stop(signal.SIGKILL)  # an orderly stop takes a second

    def start_router(self, *options):
        """Starts the router and waits until its backends are up."""
        allow = ["--allow", self.allow] if self.allow else []
        command = [
            self.programs["stead-rrd"],
            "serve",
            "--map",
            self.map,
            "--base",
            self.base,
            "--state",
            self.state,
            "--listen",
            self.unix,
            *allow,
            *self.policy,
            "--listen",
            "127.0.0.1:0",
            *allow,
            *self.policy,
            *options,
            *self.options,
        ]
        with open(self.place / "router", "wb") as said:
            self.router = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )
        self.tcp = wait_for(
            lambda: self.router_said(r"listening on (127\.\S+)"), "the router to listen"
        )[0]
        self.all_up(1)

    def router_said(self, pattern):
        """Returns every match of the pattern in the router's messages so far."""
        said = (self.place / "router").read_text()
        assert self.router.poll() is None, f"the router ended: {said}"
        return re.findall(pattern, said)

    def all_up(self, times):
        """Waits until every backend has come up this many times."""
        for name in self.backends:
            wait_for(
                lambda name=name: (
                    len(self.router_said(rf"backend {name} \(\S+ is up")) >= times
                ),
                f"{name} to be up",
            )

    def stop_router(self, how=signal.SIGTERM):
        """Stops the router."""
        if self.router and self.router.poll() is None:
            os.kill(self.router.pid, how)
        if self.router:
            self.router.wait()
        self.router = None

    def located(self, names):
        """Returns for each name its backends, primary first, according to the program
        `stead`.
        """
        text = "".join(f"{name}\n" for name in names)
        command = [self.programs["stead"], "locate", self.map]
        lines = subprocess.run(
            command, input=text, stdout=subprocess.PIPE, text=True, check=True
        ).stdout.splitlines()
        return {
            name: nodes.split(",")
            for name, nodes in (line.split("\t") for line in lines)
        }
