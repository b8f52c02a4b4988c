"""nginx as a client of memcached (`hash $key`, with or without `consistent`): `python
nginx.py MODE` or `python nginx.py MODE version`.
"""

import re
import shutil
import socket
import sys
import tempfile

from proxies import free_address, lacking, read_input, running, said_by

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/sbin")
MODES = {"modulo": "", "consistent": " consistent"}
CONFIGURATION = """
daemon off; master_process off; pid {scratch}/pid; error_log stderr warn;
events {{ worker_connections 256; }}
http {{
    access_log off; client_body_temp_path {scratch}/b; proxy_temp_path {scratch}/p;
    fastcgi_temp_path {scratch}/f; uwsgi_temp_path {scratch}/u; scgi_temp_path {scratch}/s;
    keepalive_requests 1000000;
    upstream fleet {{ hash $arg_k{how}; {servers} keepalive 64; }}
    server {{ listen {listen}; location / {{ set $memcached_key $arg_k; memcached_pass fleet; }} }}
}}
"""


def answers(stream, count):
    """Returns the bodies of this many answers."""
    for _ in range(count):
        status, length = stream.readline(), 0
        for line in iter(stream.readline, b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
            if not line:
                sys.exit("nginx ended the connection")
        body = stream.read(length)
        yield body.decode() if b" 200 " in status else ""


def main(mode, *version):
    if not NGINX:
        return lacking("nginx is not installed")
    if version:
        print(re.search(r"nginx/([\d.]+)", said_by(NGINX, "-v"))[1])
        return 0
    servers, keys = read_input()
    with tempfile.TemporaryDirectory() as scratch:
        address = free_address()
        with open(f"{scratch}/conf", "w", encoding="ascii") as file:
            listen, upstream = (
                "{}:{}".format(*address),
                " ".join(f"server {server};" for server in servers),
            )
            file.write(
                CONFIGURATION.format(
                    scratch=scratch, how=MODES[mode], listen=listen, servers=upstream
                )
            )
        with (
            running(
                address, NGINX, "-c", f"{scratch}/conf", "-p", scratch, "-e", "stderr"
            ),
            socket.create_connection(address) as connection,
        ):
            stream = connection.makefile("rb")
            # send many requests before the first answer is read
            for first in range(0, len(keys), 100):
                some = keys[first : first + 100]
                connection.sendall(
                    b"".join(
                        b"GET /?k=%b HTTP/1.1\r\nHost: a\r\n\r\n" % key for key in some
                    )
                )
                print("\n".join(answers(stream, len(some))))
    return 0


sys.exit(main(*sys.argv[1:]))
