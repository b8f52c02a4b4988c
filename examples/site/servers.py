"""The servers of the site: etcd, PostgreSQL, and a web server for each language. They
listen on loopback or on sockets of their own, and are ended by their process ids.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time

import parts

# seconds, for starts that take one on an idle machine
PATIENCE = 90
WORKERS = 3


class Failed(Exception):
    """A server does not start, or a command fails."""


def wait_for(condition, what):
    """Waits until the condition is true."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"waited {PATIENCE} s for {what}")
        time.sleep(0.02)


def listens(port):
    """Whether a server listens on a port of loopback."""
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def free_port():
    """Returns a port of loopback that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


class Process:
    """A server. It also ends when the demo is killed."""

    def __init__(self, command, log, *, user=None, end=signal.SIGTERM, **environment):
        self.log, self.end_by = log, end
        drop = [parts.find("setpriv"), f"--pdeathsig={end.name[3:]}"]
        if user:
            drop += [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}"]
            drop.append("--clear-groups")
        with open(log, "ab") as said:
            self.process = subprocess.Popen(
                [*drop, *command],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=os.path.dirname(log),
                env={**os.environ, **environment},
                start_new_session=True,  # the demo itself handles Ctrl-C
            )

    def wait(self, ready, what):
        """Waits until it is ready."""

        def or_ended():
            if self.process.poll() is not None:
                with open(self.log, encoding="utf-8", errors="replace") as file:
                    raise Failed(f"{what} does not start: {file.read()[-500:].strip()}")
            return ready()

        wait_for(or_ended, what)

    def end(self):
        """Ends it."""
        if self.process.poll() is None:
            self.process.send_signal(self.end_by)

    def gone(self):
        """Waits until it has ended; kills it if it does not."""
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Servers:
    """All processes of the site, in a directory of its own."""

    def __init__(self, place):
        self.place, self.running, self.piped = place, [], []

    def directory(self, name):
        """Makes a directory for a server."""
        path = os.path.join(self.place, name)
        os.makedirs(path, exist_ok=True)
        return path

    def start(self, command, name, **more):
        """Starts a process, and returns it."""
        log = os.path.join(self.directory(name), "log")
        process = Process(command, log, **more)
        self.running.append(process)
        return process

    def start_piped(self, command):
        """Starts a process whose standard error is read, and returns its Popen."""
        process = subprocess.Popen(
            [parts.find("setpriv"), "--pdeathsig=TERM", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.piped.append(process)
        return process

    def end(self):
        """Ends all processes, the last first."""
        for process in self.piped:
            process.kill()
            process.wait()
        for process in reversed(self.running):
            process.end()
        for process in reversed(self.running):
            process.gone()
        self.running = []

    def etcd(self):
        """Starts etcd, and returns its port."""
        port, peer = free_port(), free_port()
        client, other = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
        options = [
            f"--data-dir={self.directory('etcd')}/data",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={other}",
            f"--initial-advertise-peer-urls={other}",
            f"--initial-cluster=default={other}",
        ]
        process = self.start([parts.find("etcd"), *options], "etcd")
        process.wait(lambda: listens(port), "etcd")
        return port

    # ---- PostgreSQL: one cluster is made, and copied for each shard

    def user(self):
        """Returns the user of PostgreSQL, which refuses to run as root."""
        if os.geteuid():
            return None
        try:
            return pwd.getpwnam("postgres")
        except KeyError:
            return pwd.getpwnam("nobody")

    def template(self):
        """Makes the cluster that all shards are copies of."""
        user, data = self.user(), os.path.join(self.place, "shard")
        options = ["--auth=trust", "--username=site", "--encoding=UTF8", "--locale=C"]
        os.mkdir(data)
        if user:
            os.chown(data, user.pw_uid, user.pw_gid)
        drop = {"user": user.pw_uid, "group": user.pw_gid} if user else {}
        done = subprocess.run(
            [parts.postgres("initdb"), *options, "--no-sync", "-D", data],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            **drop,
        )
        if done.returncode:
            raise Failed(f"initdb: {done.stderr.strip()[-500:]}")
        with open(f"{data}/postgresql.conf", "a", encoding="ascii") as file:
            # what is on these disks is worth a minute
            file.write(
                "listen_addresses = ''\nfsync = off\nshared_buffers = 16MB\n"
                "max_connections = 60\nautovacuum = off\nmax_wal_size = 100MB\n"
            )

    def shard(self, name):
        """Starts a shard, and returns its connection string: a socket that only this
        user can reach.
        """
        user, data = self.user(), os.path.join(self.place, name)
        subprocess.run(
            ["cp", "-a", os.path.join(self.place, "shard"), data], check=True
        )
        command = [parts.postgres("postgres"), "-D", data, "-k", data]
        # the signal by which it does not wait for its clients
        log = os.path.join(self.directory("shards"), name)
        process = Process(command, log, user=user, end=signal.SIGQUIT)
        self.running.append(process)
        shard = f"host={data} user=site dbname=postgres"
        import psycopg2

        def answers():
            try:
                psycopg2.connect(shard).close()
                return True
            except psycopg2.OperationalError:
                return False

        process.wait(answers, f"PostgreSQL {name}")
        with open(f"{parts.HERE}/members.sql", encoding="ascii") as file:
            table = file.read()
        with psycopg2.connect(shard) as connection, connection.cursor() as cursor:
            cursor.execute(table)
        connection.close()
        return shard

    # ---- a web host for each language, with the path of its map file

    def python(self, map):
        """Starts gunicorn, and returns its port."""
        from importlib.metadata import version

        port = free_port()
        new = int(version("gunicorn").partition(".")[0]) > 24
        command = [
            *(sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}"),
            *("--workers", str(WORKERS), "--chdir", parts.HERE, "--keep-alive", "60"),
            *(["--no-control-socket"] if new else []),
            *("--worker-class", "gthread", "--threads", "1", "members:application"),
        ]
        path = {"PYTHONPATH": parts.python_module(), "PYTHONDONTWRITEBYTECODE": "1"}
        process = self.start(command, "gunicorn", STEAD_MAP=map, **path)
        process.wait(lambda: listens(port), "gunicorn")
        return port

    def perl(self, map):
        """Starts Starman, and returns its port."""
        parts.perl_needs()
        port = free_port()
        command = [
            *(parts.PERL, parts.perl_module(), parts.find("starman")),
            *("--workers", str(WORKERS), "--max-requests", "1000000"),
            *("--listen", f"127.0.0.1:{port}", "--env", "deployment"),
            os.path.join(parts.HERE, "members.psgi"),
        ]
        process = self.start(command, "starman", STEAD_MAP=map)
        process.wait(lambda: listens(port), "starman")
        return port

    def php(self, map):
        """Starts php-fpm and nginx, and returns the port of nginx."""
        parts.php_needs()
        port, here = free_port(), self.directory("php")
        is_root = os.geteuid() == 0
        who = "user = root\ngroup = root\n" if is_root else ""
        with open(f"{here}/fpm.conf", "w", encoding="ascii") as file:
            # way 2 of docs/php.md: this pool may use FFI
            file.write(
                f"[global]\nerror_log = {here}/fpm.log\ndaemonize = no\n"
                f"[members]\n{who}listen = {here}/socket\npm = static\n"
                f"pm.max_children = {WORKERS}\nenv[STEAD_MAP] = {map}\n"
                f"php_admin_value[ffi.enable] = true\n"
                f"env[STEAD_LIBRARY] = {parts.program('libstead.so')}\n"
            )
        keep = "".join(
            f"{kind}_temp_path {here}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        with open(f"{here}/nginx.conf", "w", encoding="ascii") as file:
            file.write(
                f"{'user root;' if is_root else ''}\ndaemon off;\nworker_processes 1;\n"
                f"pid {here}/nginx.pid;\nerror_log {here}/nginx.log;\n"
                f"events {{ worker_connections 128; }}\nhttp {{\naccess_log off;\n{keep}"
                f"keepalive_requests 1000000;\nserver {{\nlisten 127.0.0.1:{port};\n"
                f"location / {{\nfastcgi_pass unix:{here}/socket;\n"
                f"fastcgi_param SCRIPT_FILENAME {parts.HERE}/members.php;\n"
                "fastcgi_param REQUEST_METHOD $request_method;\n"
                "fastcgi_param REQUEST_URI $request_uri;\n"
                "fastcgi_param CONTENT_TYPE $content_type;\n"
                "fastcgi_param CONTENT_LENGTH $content_length;\n}\n}\n}\n"
            )
        root = ["--allow-to-run-as-root"] if is_root else []
        fpm = self.start([parts.fpm(), "-y", f"{here}/fpm.conf", *root], "php")
        fpm.wait(lambda: os.path.exists(f"{here}/socket"), "php-fpm")
        command = [parts.find("nginx"), "-c", f"{here}/nginx.conf", "-p", here]
        nginx = self.start([*command, "-e", f"{here}/nginx.log"], "php")
        nginx.wait(lambda: listens(port), "nginx")
        return port

    def remove(self):
        """Removes the directory."""
        shutil.rmtree(self.place, ignore_errors=True)
