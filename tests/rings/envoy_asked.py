"""Asks Envoy which host a request goes to: requests with a header, a cluster that hashes
that header, and hosts that Envoy serves itself.
"""

import contextlib
import json
import re
import socket

import rings
from ports import free_port

ENVOY = rings.ROOT / ".venv-rings-tests" / "bin" / "envoy"
TYPES = "type.googleapis.com/envoy.extensions.filters"


def version():
    """Envoy's version, or nothing where it is not installed."""
    if not rings.works(ENVOY, "--version"):
        return ""
    # envoy  version: COMMIT/1.40.0/Clean/RELEASE/BoringSSL
    said = rings.output([ENVOY, "--version"]).decode()
    return "Envoy " + re.search(r"/(\d[\d.]+)/", said)[1]


def hosts_of(count):
    """Addresses of loopback that are free at one port: HOST:PORT of each."""
    for net in range(1, 50):
        port = free_port()
        hosts = [f"127.78.{net}.{i + 1}" for i in range(count)]
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            for host in hosts:
                stack.enter_context(socket.socket()).bind((host, port))
            return [f"{host}:{port}" for host in hosts]
    raise AssertionError("there are no free addresses on loopback")


def listed(hosts, weights):
    """The list of servers that stead reads."""
    return "".join(f"{host} {weight}\n" for host, weight in zip(hosts, weights))


def names(count):
    """A hash_key for each of some hosts."""
    return [f"name{i}.example" for i in range(count)]


def address(host):
    """HOST:PORT as Envoy's configuration has it."""
    name, _, port = host.rpartition(":")
    return {"socket_address": {"address": name, "port_value": int(port)}}


def listener(name, address_, route, **more):
    """A listener whose requests all take one route."""
    hosts = {"name": "all", "domains": ["*"], **more}
    hosts["routes"] = [{"match": {"prefix": "/"}, **route}]
    router = {"@type": f"{TYPES}.http.router.v3.Router"}
    manager = {
        "@type": f"{TYPES}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name,
        "http_filters": [{"name": "envoy.filters.http.router", "typed_config": router}],
        "route_config": {"virtual_hosts": [hosts]},
    }
    http = {
        "name": "envoy.filters.network.http_connection_manager",
        "typed_config": manager,
    }
    return {
        "name": name,
        "address": address_,
        "filter_chains": [{"filters": [http]}],
    }


def configuration(port, hosts, weights, cluster, hash_keys):
    """A configuration of Envoy whose cluster has these hosts and settings. `x-host` of a
    response is the host that was chosen.
    """
    route = {
        "cluster": "fleet",
        "hash_policy": [{"header": {"header_name": "x-key"}}],
    }
    chosen = {"header": {"key": "x-host", "value": "%UPSTREAM_HOST%"}}
    front = listener(
        "front",
        address(f"127.0.0.1:{port}"),
        {"route": route},
        response_headers_to_add=[chosen],
    )
    back = listener("hosts", address(hosts[0]), {"direct_response": {"status": 200}})
    back["additional_addresses"] = [{"address": address(host)} for host in hosts[1:]]
    endpoints = [
        {
            "endpoint": {"address": address(host)},
            "load_balancing_weight": weight,
        }
        for host, weight in zip(hosts, weights)
    ]
    for endpoint, hash_key in zip(endpoints, hash_keys):
        endpoint["metadata"] = {"filter_metadata": {"envoy.lb": {"hash_key": hash_key}}}
    fleet = {
        "name": "fleet",
        "type": "STATIC",
        "load_assignment": {
            "cluster_name": "fleet",
            "endpoints": [{"lb_endpoints": endpoints}],
        },
        **cluster,
    }
    return {"static_resources": {"listeners": [front, back], "clusters": [fleet]}}


def asked(keys, hosts, weights, cluster, directory, hash_keys=()):
    """The host of each key. `cluster`: the cluster's settings besides its hosts;
    `hash_keys`: the hash_key of each host, if it has one.
    """
    conf = directory / "envoy.json"

    def command(port):
        written = configuration(port, hosts, weights, cluster, hash_keys)
        conf.write_text(json.dumps(written))
        more = ["--concurrency", "1", "--disable-hot-restart", "--log-level", "error"]
        return [ENVOY, "-c", conf, *more]

    found = []
    with (
        rings.Server(command, directory / "envoy.log") as server,
        socket.create_connection(("127.0.0.1", server.port)) as connection,
    ):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answers = connection.makefile("rb")
        for at in range(0, len(keys), 500):
            some = keys[at : at + 500]
            requests = [
                b"GET / HTTP/1.1\r\nhost: x\r\nx-key: %b\r\n\r\n" % key for key in some
            ]
            connection.sendall(b"".join(requests))
            found += [chosen_host(answers) for _ in some]
    return found


def chosen_host(answers):
    """`x-host` of the next response, which has no body."""
    status = answers.readline()
    assert status.split()[1] == b"200", status
    fields = dict(
        line.rstrip().split(b": ", 1) for line in iter(answers.readline, b"\r\n")
    )
    return fields[b"x-host"].decode()


def keys(count):
    """Keys that the value of a header can be: not empty, no blank at an end, no control
    character.
    """
    carried = lambda key: (
        key == key.strip() != b"" and not any(byte < 32 or byte == 127 for byte in key)
    )
    found = list(filter(carried, rings.sample(count + 1000)))[-count:]
    assert len(found) == count
    return found
