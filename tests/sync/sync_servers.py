"""Real servers for the tests: etcd, nginx, and a relay that can be cut. All listen on
loopback only, and are ended by their process ids.
"""

import base64
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request

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
        # Many conditions run a program. The pause is longer than that takes, so that the servers
        # under test keep most of the processor.
        time.sleep(min(max(0.02, 4 * (now - begin)), 0.2))


class Process:
    """A server: started, killed, started again."""

    def __init__(self, command, log):
        self.command, self.log, self.process = command, log, None

    def start(self):
        with open(self.log, "ab") as said:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )

    def end(self, number=signal.SIGKILL):
        if self.process:
            self.process.send_signal(number)
            self.process.wait()
            self.process = None


class Etcd:
    """One etcd. `tls` is a directory with ca.pem, server.pem and server.key, `quota` the most bytes
    of its database.
    """

    def __init__(self, directory, tls=None, quota=0):
        self.port, self.tls, self.token = free_port(), tls, None
        peer = free_port()
        http = "https" if tls else "http"
        self.base = f"{http}://127.0.0.1:{self.port}"
        command = [
            "etcd",
            f"--data-dir={directory}/data",
            f"--listen-client-urls={self.base}",
            f"--advertise-client-urls={self.base}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-cluster=default=http://127.0.0.1:{peer}",
        ]
        if quota:
            command.append(f"--quota-backend-bytes={quota}")
        if tls:
            command += [
                f"--cert-file={tls}/server.pem",
                f"--key-file={tls}/server.key",
                f"--trusted-ca-file={tls}/ca.pem",
                "--client-cert-auth",
            ]
        self.process = Process(command, directory / "etcd.log")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self):
        self.process.start()
        wait_for(self.answers, "etcd")

    def kill(self):
        self.process.end(signal.SIGKILL)

    def answers(self):
        """Whether it serves requests."""
        try:
            return "header" in self.call("kv/range", {"key": "AA=="})
        except (OSError, urllib.error.URLError, ValueError):
            return False

    def url(self, name):
        """The URL of a hub."""
        scheme = "etcds" if self.tls else "etcd"
        return f"{scheme}://127.0.0.1:{self.port}/stead/{name}"

    def call(self, method, body):
        """One call of the JSON gateway."""
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = self.token
        asked = urllib.request.Request(
            f"{self.base}/v3/{method}", json.dumps(body).encode(), headers
        )
        context = None
        if self.tls:
            context = ssl.create_default_context(cafile=f"{self.tls}/ca.pem")
            # the default from Python 3.13 on
            context.verify_flags |= ssl.VERIFY_X509_STRICT
            context.load_cert_chain(f"{self.tls}/client.pem", f"{self.tls}/client.key")
        with urllib.request.urlopen(asked, timeout=LIMIT, context=context) as answer:
            return json.load(answer)

    def keys(self, prefix):
        """{key: value} of all keys with a prefix."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        answer = self.call(
            "kv/range", {"key": encoded(prefix), "range_end": encoded(end)}
        )
        pairs = answer.get("kvs", [])
        return {decoded(p["key"]).decode(): decoded(p.get("value", "")) for p in pairs}

    def has(self, key):
        """Whether there is such a key."""
        asked = {"key": encoded(key), "count_only": True}
        return int(self.call("kv/range", asked).get("count", 0)) > 0

    def put(self, key, value):
        """Writes a value."""
        self.call("kv/put", {"key": encoded(key), "value": encoded(value)})

    def delete(self, prefix):
        """Removes all keys with a prefix."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        asked = {"key": encoded(prefix), "range_end": encoded(end)}
        self.call("kv/deleterange", asked)

    def end_leases(self):
        """Ends all leases, as if their holders were gone for long enough."""
        for lease in self.call("lease/leases", {}).get("leases", []):
            try:
                self.call("lease/revoke", {"ID": lease["ID"]})
            except urllib.error.HTTPError as error:
                # 404: it has ended by itself since it was listed
                if error.code != 404:
                    raise


def encoded(text):
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def decoded(text):
    return base64.b64decode(text)


class Relay:
    """A TCP relay to a port of this machine. It can be cut, so that nobody gets through,
    and frozen, so that connections stay open and nothing passes.
    """

    def __init__(self, port):
        self.to, self.connections, self.is_cut = port, [], False
        self.cuts = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.cut()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.is_cut:
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                client.close()
                continue
            state = {"frozen": False}
            self.connections.append((client, server, state))
            for one, other in ((client, server), (server, client)):
                threading.Thread(
                    target=self.pass_on, args=(one, other, state), daemon=True
                ).start()

    def pass_on(self, one, other, state):
        try:
            while data := one.recv(1 << 16):
                if state["frozen"]:
                    return
                other.sendall(data)
        except OSError:
            pass
        if not state["frozen"]:
            for end in (one, other):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def cut(self):
        """Closes all connections, and takes no others."""
        self.is_cut = True
        open_now, self.connections = self.connections, []
        self.cuts += len(open_now)
        for client, server, _ in open_now:
            for end in (client, server):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                end.close()

    def freeze(self):
        """Lets the present connections be silent for ever; new ones work."""
        for _, _, state in self.connections:
            state["frozen"] = True
        return len(self.connections)

    def restore(self):
        self.is_cut = False


class Nginx:
    """nginx, serving one directory."""

    def __init__(self, directory, root):
        self.port = free_port()
        self.directory = directory
        directory.mkdir(exist_ok=True)
        (directory / "nginx.conf").write_text(
            f"""
            daemon off; master_process off; pid {directory}/pid; error_log {directory}/error;
            events {{ }}
            http {{
              access_log {directory}/access combined;
              client_body_temp_path {directory}/b; proxy_temp_path {directory}/p;
              fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u;
              scgi_temp_path {directory}/s;
              server {{ listen 127.0.0.1:{self.port}; root {root}; }}
            }}
            """
        )
        nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        self.process = Process(
            [nginx, "-c", str(directory / "nginx.conf"), "-p", str(directory)],
            directory / "log",
        )

    def __enter__(self):
        self.process.start()

        def answers():
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return True
            except OSError:
                return False

        wait_for(answers, "nginx")
        return self

    def __exit__(self, *_):
        self.process.end()

    def lines(self):
        """The lines of its log of requests."""
        return (self.directory / "access").read_text().splitlines()
