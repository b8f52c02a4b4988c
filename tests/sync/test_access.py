"""Who gets in: TLS with a CA of one's own and client certificates, users and passwords."""

import subprocess
from pathlib import Path

import pytest
from sync_servers import Etcd, encoded, wait_for
from sync_site import Site


def certificate(directory, name, extensions):
    """Makes NAME.pem and NAME.key, signed by the CA of the directory."""

    def openssl(*words, text=None):
        subprocess.run(
            ["openssl", *words],
            cwd=directory,
            input=text,
            check=True,
            capture_output=True,
        )

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    if name == "ca":
        openssl(
            "req",
            "-x509",
            *key,
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
            "-subj",
            "/CN=ca",
            "-addext",
            "keyUsage=critical,keyCertSign,cRLSign",
        )
        return
    openssl(
        "req",
        *key,
        "-keyout",
        f"{name}.key",
        "-out",
        f"{name}.csr",
        "-subj",
        f"/CN={name}",
    )
    (directory / f"{name}.ext").write_text(
        extensions + "authorityKeyIdentifier = keyid\n"
    )
    openssl(
        *f"x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 9".split(),
        *f"-out {name}.pem -extfile {name}.ext".split(),
    )


@pytest.fixture
def papers(place):
    """Makes a CA, a server's certificate and a client's."""
    directory = place / "papers"
    directory.mkdir()
    certificate(directory, "ca", "")
    both = "extendedKeyUsage = serverAuth, clientAuth\n"
    certificate(directory, "server", "subjectAltName = IP:127.0.0.1\n" + both)
    certificate(directory, "client", both)
    return directory


def test_tls_with_client_certificates(programs, place, papers, cluster):
    (place / "etcd").mkdir()
    with (
        Etcd(place / "etcd", papers) as etcd,
        Site(programs, place, etcd.url("m"), etcd) as site,
    ):
        options = []
        for word, name in (
            ("ca", "ca.pem"),
            ("cert", "client.pem"),
            ("key", "client.key"),
        ):
            options += [f"--{word}", str(papers / name)]
        anna = site.operator()
        anna.apply("a")
        done = anna.push(*options)
        assert done.returncode == 0, done.stderr
        host = site.host("web1", *options)
        host.wait(1)
        anna.apply("a", "b")
        anna.push(*options)
        host.wait(2)
        # without the CA, and without a certificate
        blind = anna.push()
        assert blind.returncode == 68 and "with --ca" in blind.stderr, blind.stderr
        assert anna.push("--ca", papers / "ca.pem").returncode == 68
        assert anna.push("--ca", papers / "client.key").returncode == 65
        assert anna.push("--ca", papers / "none").returncode == 66
        # http for https, and https for http
        plain = site.url.replace("etcds://", "etcd://")
        done = anna.push(url=plain)
        assert done.returncode == 68 and "https:// or etcds://" in done.stderr
        secret = cluster.url("m").replace("etcd://", "etcds://")
        done = anna.push(url=secret)
        assert done.returncode == 68 and "with http:// or etcd://" in done.stderr
        done = anna.push(url="etcd://127.0.0.1:1/m")
        assert done.returncode == 68 and "start the hub" in done.stderr, done


def test_users_and_passwords(programs, place, cluster):
    (place / "etcd").mkdir()
    password = "correct horse"
    with (
        Etcd(place / "etcd") as etcd,
        Site(programs, place, etcd.url("m"), etcd) as site,
    ):
        for user, role in (("root", "root"), ("anna", "maps"), ("eve", "none")):
            etcd.call("auth/role/add", {"name": role})
            etcd.call("auth/user/add", {"name": user, "password": password})
            etcd.call("auth/user/grant", {"user": user, "role": role})
        etcd.call(
            "auth/role/grant",
            {
                "name": "maps",
                "perm": {
                    "permType": "READWRITE",
                    "key": encoded("/stead/m/"),
                    "range_end": encoded("/stead/m0"),
                },
            },
        )
        etcd.call("auth/enable", {})
        file = place / "password"
        file.write_text(password + "\n")
        anna = site.operator()
        anna.apply("a")
        options = ("--user", "anna", "--password-file", str(file))
        done = anna.push(*options)
        assert done.returncode == 0, done.stderr
        host = site.host("web1", *options)
        host.wait(1)
        anna.apply("a", "b")
        assert anna.push(*options).returncode == 0
        host.wait(2)
        # by the environment
        env = {"STEAD_SYNC_USER": "anna", "STEAD_SYNC_PASSWORD": password}
        assert site.sync("status", site.url, **env).returncode == 0
        for given in (
            {},
            {"STEAD_SYNC_USER": "anna", "STEAD_SYNC_PASSWORD": "wrong"},
            {"STEAD_SYNC_USER": "eve", "STEAD_SYNC_PASSWORD": password},
        ):
            refused = site.sync("status", site.url, **given)
            assert refused.returncode == 77, refused
            assert password not in refused.stderr
            if given.get("STEAD_SYNC_USER") == "eve":
                said = f"etcd://127.0.0.1:{etcd.port}/stead/m/hosts/: etcd says: "
                assert said in refused.stderr
                said = (
                    "the user eve needs a role that may read what is below /stead/m/hosts/: "
                    "`etcdctl role grant-permission ROLE --prefix=true read /stead/m/hosts/`"
                )
                assert said in refused.stderr, refused.stderr
            elif given:
                assert "correct the user anna or" in refused.stderr, refused.stderr
        # a user who may only read
        perm = {"permType": "READ", "key": encoded("/stead/m/")}
        perm["range_end"] = encoded("/stead/m0")
        root = {"name": "root", "password": password}
        etcd.token = etcd.call("auth/authenticate", root)["token"]
        etcd.call("auth/role/grant", {"name": "none", "perm": perm})
        etcd.token = None
        env = {"STEAD_SYNC_USER": "eve", "STEAD_SYNC_PASSWORD": password}
        anna.apply("a", "b", "c")
        refused = site.sync("push", anna.map, site.url, **env)
        said = "the user eve needs a role that may "
        assert refused.returncode == 77 and said in refused.stderr, refused
        assert "write what is below /stead/m/" in refused.stderr, refused
        assert site.sync("push", anna.map, site.url, *options).returncode == 0
        host.wait(3)
        assert password not in host.said()
        assert password not in Path(f"/proc/{host.process.pid}/cmdline").read_text()
        # the tokens of a killed etcd are gone: the watch logs in again
        etcd.kill()
        etcd.process.start()
        anna.apply(*"abcd")
        wait_for(lambda: anna.push(*options).returncode == 0, "etcd")
        host.wait(4)
        # another password: the watch takes it from its file, without being started again
        root = {"name": "root", "password": password}
        etcd.token = etcd.call("auth/authenticate", root)["token"]
        changed = {"name": "anna", "password": "battery staple"}
        etcd.call("auth/user/changepw", changed)
        anna.apply(*"abcde")
        refused = anna.push(*options)
        assert refused.returncode == 77 and "authentication failed" in refused.stderr
        file.write_text("battery staple\n")
        assert anna.push(*options).returncode == 0
        host.wait(5)
