"""nginx and php-fpm for a test, with the files of examples/php/fpm. They use loopback
and a socket of their own, and are stopped when the test ends.
"""

import glob
import grp
import os
import pwd
import resource
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import web_server
from built import libraries, script
from ports import free_port
from web_server import ROOT, children

HERE = Path(__file__).resolve().parent
EXAMPLE = ROOT / "examples" / "php" / "fpm"
PATIENCE = 240  # seconds, for steps that take one second on an idle machine
ROOM = 2 << 30  # bytes, so that a worker that leaks fails before the machine does


def fpm():
    """Returns the path of php-fpm, whatever its name is on this system."""
    names = [
        "php-fpm",
        *sorted(
            (os.path.basename(path) for path in glob.glob("/usr/sbin/php-fpm*")),
            reverse=True,
        ),
    ]
    return next((path for path in map(find, names) if path), None)


def find(name):
    """Returns the path of a program, also of one that only root has in PATH."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def why_not():
    """Returns why this cannot run here; None if it can."""
    missing = [
        name
        for name, path in (
            ("php-fpm", fpm()),
            ("nginx", find("nginx")),
            ("wrk", find("wrk")),
            ("setpriv", find("setpriv")),
        )
        if not path
    ]
    if missing:
        return f"{', '.join(missing)} not installed"
    modules = subprocess.run(
        [fpm(), "-m"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    ).stdout.decode()
    return (
        None
        if "FFI" in modules and "OPcache" in modules
        else "php-fpm has no FFI or no OPcache"
    )


def user():
    """Returns the (user, group) of the workers if we are root."""
    for name in ("www-data", "nobody"):
        try:
            entry = pwd.getpwnam(name)
            return entry.pw_name, grp.getgrgid(entry.pw_gid).gr_name
        except KeyError:
            continue
    raise RuntimeError("there is neither a user www-data nor nobody")


class FpmServer:
    """A context manager. way: the ini file, "extension", "preload", "scope" or "enable";
    or "pool", which is the lines of pool-ffi.conf; or "none".
    root: whether the masters run as root if we are root; otherwise they run as an
    ordinary user. before: a command that runs php-fpm, such as strace. page: the script
    of every request. library: whether libstead is there.
    """

    def __init__(
        self,
        place,
        way,
        *,
        root=True,
        workers=3,
        before=(),
        page="pages.php",
        settings="",
        library=True,
    ):
        self.place, self.count, self.before = place, workers, list(before)
        self.root = root and os.geteuid() == 0
        # they also end if this process is killed
        self.drop = ["setpriv", "--pdeathsig=TERM"]
        if os.geteuid() == 0 and not root:
            name, group = user()
            self.drop += [f"--reuid={name}", f"--regid={group}", "--clear-groups"]
        self.own = (
            place / "own"
        )  # a directory in which an ordinary user may create a socket
        self.prepare(way, page, settings)
        if not library:
            (place / "lib" / "libstead.so.1").unlink()
        self.running = []

    def prepare(self, way, page, settings):
        """Writes the example's files, with the paths of this test instead of the
        example's.
        """
        package = self.place / "vendor" / "stead" / "stead"
        shutil.copytree(
            ROOT / "php", package, ignore=shutil.ignore_patterns("tests", "vendor")
        )
        (self.place / "vendor" / "autoload.php").write_text(
            "<?php\nrequire __DIR__ . '/stead/stead/autoload.php';\n"
        )
        for file in (EXAMPLE / "where.php", HERE / "pages.php"):
            shutil.copyfile(file, self.place / file.name)
        (self.place / "lib").mkdir()
        shutil.copyfile(
            os.path.join(libraries(), "libstead.so"),
            self.place / "lib" / "libstead.so.1",
        )
        if way == "extension":
            shutil.copyfile(
                script("php-extension").build(), self.place / "lib" / "stead.so"
            )
        name, group = user() if self.root else ("", "")
        self.words = [
            ("/usr/local/lib", str(self.place / "lib")),
            ("= stead.so", f"= {self.place}/lib/stead.so"),
            ("/run/php/members.sock", str(self.own / "members.sock")),
            ("/srv/members/where.php", f"/srv/members/{page}"),
            ("location /where/", "location /"),
            ("/srv/members", str(self.place)),
            ("www-data", name),
            ("max_children = 3", f"max_children = {self.count}"),
        ]
        pool = self.example("pool.conf")
        if not self.root:
            pool = "".join(
                line
                for line in pool.splitlines(True)
                if not line.startswith(("user", "group", "listen."))
            )
        elif group != name:
            pool = pool.replace(f"group = {name}", f"group = {group}")
        if way == "pool":
            pool += self.example("pool-ffi.conf")
        (self.place / "fpm.conf").write_text(
            f"[global]\nerror_log = {self.own}/fpm.log\ndaemonize = no\n{pool}{settings}\n"
        )
        (self.place / "conf.d").mkdir()
        (self.place / "conf.d" / "50-stead.ini").write_text(
            self.example(f"{way}.ini") if way not in ("none", "pool") else ""
        )

    def example(self, name):
        """Returns a file of the example, with the paths of this test."""
        text = (EXAMPLE / name).read_text()
        for old, new in self.words:
            text = text.replace(old, new)
        return text

    def nginx_conf(self, port):
        """Returns a complete configuration that includes the example's."""
        server = self.example("nginx.conf").replace(
            "127.0.0.1:8080", f"127.0.0.1:{port}"
        )
        who = "user {} {};\n".format(*user()) if self.root else ""
        temporary = "".join(
            f"{kind}_temp_path {self.own}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        return (
            f"{who}daemon off;\nworker_processes 1;\npid {self.own}/nginx.pid;\n"
            f"error_log {self.own}/nginx.log;\nevents {{ worker_connections 512; }}\n"
            f"http {{\naccess_log off;\nkeepalive_requests 1000000;\n{temporary}{server}}}\n"
        )

    def start(self, command, **environment):
        with open(self.own / "said.log", "ab") as log:
            process = subprocess.Popen(
                command,
                cwd=self.place,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=dict(os.environ, **environment),
                # a limit for the child alone, not for this process
                preexec_fn=lambda: resource.setrlimit(  # noqa: PLW1509
                    resource.RLIMIT_AS, (ROOM, ROOM)
                ),
            )
        self.running.append(process)
        return process

    def __enter__(self):
        try:
            # a leading : stands for PHP's compiled-in directory
            self.process = self.start(
                [*self.before, *self.drop, fpm(), "-y", str(self.place / "fpm.conf")],
                LD_LIBRARY_PATH=str(self.place / "lib"),
                PHP_INI_SCAN_DIR=f":{self.place}/conf.d",
            )
            self.wait(
                lambda: (
                    (self.own / "members.sock").exists()
                    and len(self.workers()) == self.count
                ),
                self.process,
                "php-fpm",
            )
            for _ in range(10):
                # another process may take the port before nginx does; then nginx exits
                # immediately, and we ask for another port
                self.address = ("127.0.0.1", free_port())
                (self.place / "nginx.conf").write_text(self.nginx_conf(self.address[1]))
                nginx = self.start(
                    [
                        *self.drop,
                        find("nginx"),
                        "-p",
                        str(self.own),
                        "-e",
                        str(self.own / "nginx.log"),
                        "-c",
                        str(self.place / "nginx.conf"),
                    ]
                )
                if self.wait(self.answers, nginx, None):
                    return self
            raise AssertionError(f"nginx does not start:\n{self.log()}")
        except BaseException:
            self.__exit__()
            raise

    def wait(self, ready, process, name):
        """Waits until the server is ready. If the process exits before, returns False,
        or raises an error if a name is given.
        """
        deadline = time.monotonic() + PATIENCE
        while not ready():
            ended = process.poll() is not None
            assert not name or not ended, (
                f"{name} ended with {process.poll()}:\n{self.log()}"
            )
            if ended:
                return False
            assert time.monotonic() < deadline, (
                f"{name or 'nginx'} is not ready:\n{self.log()}"
            )
            time.sleep(0.05)
        return True

    def answers(self):
        try:
            socket.create_connection(self.address, timeout=5).close()
            return True
        except OSError:
            return False

    def __exit__(self, *_):
        for process in reversed(self.running):
            if process.poll() is not None:
                continue
            # strace does not forward signals
            master = (
                (children(process.pid) or [process.pid])[0]
                if self.before and process is self.process
                else process.pid
            )
            try:
                os.kill(master, signal.SIGTERM)
                process.wait(PATIENCE)
            except (subprocess.TimeoutExpired, ProcessLookupError):
                for pid in [*children(master), master, process.pid]:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                process.wait()

    def log(self):
        """The logs of both."""
        return "".join(
            path.read_text("utf-8", "replace")
            for path in sorted(self.own.glob("*.log"))
        )

    def master(self):
        """The process id of php-fpm's master."""
        return (
            (children(self.process.pid) or [0])[0] if self.before else self.process.pid
        )

    def workers(self):
        """The process ids of the workers."""
        return set(children(self.master()))


# for the helpers of other tests, which call them on this module
memory, open_maps = web_server.memory, web_server.open_maps
