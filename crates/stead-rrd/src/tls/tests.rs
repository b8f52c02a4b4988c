//! Tests of TLS with certificates of every kind, right and wrong.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    date_time_ymd, BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Identity, Paths, Secured};

/// A CA whose certificates are files in a directory.
struct Ca<'a> {
    place: &'a Path,
    name: &'static str,
    issuer: Issuer<'static, KeyPair>,
}

impl Ca<'_> {
    fn new<'a>(place: &'a Path, name: &'static str) -> Ca<'a> {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let own = params.self_signed(&key).unwrap();
        std::fs::write(place.join(format!("{name}.pem")), own.pem()).unwrap();
        Ca {
            place,
            name,
            issuer: Issuer::new(params, key),
        }
    }

    /// Makes a certificate for `name`, after `change`, and returns its files.
    fn paths(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Paths {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        // a file for each, as the same name may be certified twice
        let number = std::fs::read_dir(self.place).unwrap().count();
        let file = |kind| self.place.join(format!("{number}.{kind}"));
        std::fs::write(file("cert"), cert.pem()).unwrap();
        std::fs::write(file("key"), key.serialize_pem()).unwrap();
        Paths {
            cert: file("cert"),
            key: file("key"),
            ca: self.place.join(format!("{}.pem", self.name)),
            clients: Vec::new(),
        }
    }

    fn identity(&self, name: &str) -> Identity {
        Identity::load(&self.paths(name, |_| {})).unwrap()
    }
}

/// What a server and a client meant to send, or the error of each.
type Met = (io::Result<Vec<u8>>, io::Result<Vec<u8>>);

const SERVER: &[u8] = b"from the server";
const CLIENT: &[u8] = b"from the client";

async fn talk(secured: io::Result<Secured>, own: &[u8], other: usize) -> io::Result<Vec<u8>> {
    let mut secured = secured?;
    secured.write_all(own).await?;
    secured.flush().await?;
    let mut read = vec![0; other];
    secured.read_exact(&mut read).await?;
    Ok(read)
}

/// Lets a client connect to a server as `address`.
async fn meet(server: Identity, client: Identity, address: &str) -> Met {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap();
    let serve = async {
        let (stream, _) = listener.accept().await.unwrap();
        let secured = Secured::accept_as(&Arc::new(server), stream);
        talk(Ok(secured), SERVER, CLIENT.len()).await
    };
    let ask = async {
        let stream = TcpStream::connect(place).await.unwrap();
        let secured = Secured::connect_as(&client, address, stream).await;
        talk(secured, CLIENT, SERVER.len()).await
    };
    tokio::join!(serve, ask)
}

fn error_of(side: io::Result<Vec<u8>>) -> String {
    side.unwrap_err().to_string()
}

#[tokio::test]
async fn two_sides_of_one_ca_talk_by_name_and_by_address() {
    let place = tempfile::tempdir().unwrap();
    let ca = Ca::new(place.path(), "ca");
    for (name, address) in [
        ("rrd1.example", "rrd1.example:1"),
        ("127.0.0.1", "127.0.0.1:1"),
        ("::1", "[::1]:1"),
    ] {
        let (server, client) = (ca.identity(name), ca.identity("router.example"));
        let (server, client) = meet(server, client, address).await;
        assert_eq!(server.unwrap(), CLIENT, "{name}");
        assert_eq!(client.unwrap(), SERVER, "{name}");
    }
}

#[tokio::test]
async fn a_wrong_certificate_is_refused_in_words_on_both_sides() {
    let place = tempfile::tempdir().unwrap();
    let (ca, other) = (Ca::new(place.path(), "ca"), Ca::new(place.path(), "other"));
    let expired = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    };
    let early = |params: &mut CertificateParams| params.not_before = date_time_ymd(2900, 1, 1);
    let for_servers = |params: &mut CertificateParams| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    };
    let load = |paths: Paths| Identity::load(&paths).unwrap();
    let name = "rrd1.example";
    let mut stranger = ca.paths(name, |_| {});
    stranger.ca = place.path().join("other.pem");
    let mut strict = ca.paths(name, |_| {});
    strict.clients = vec!["router.example".to_owned(), "10.0.0.9".to_owned()];
    let good = || ca.identity(name);
    for (server, client, at_server, at_client) in [
        (
            load(ca.paths(name, expired)),
            good(),
            "has expired",
            "its certificate has expired",
        ),
        (
            load(ca.paths(name, early)),
            good(),
            "",
            "is not valid yet; look at the clocks",
        ),
        (
            ca.identity("rrd2.example"),
            good(),
            "",
            "is for rrd2.example, not for rrd1.example",
        ),
        (
            other.identity(name),
            good(),
            "does not know the CA of our",
            "is of another CA",
        ),
        (
            good(),
            load(ca.paths(name, expired)),
            "its certificate has expired",
            "(--tls-cert) has expired",
        ),
        (good(), load(ca.paths(name, early)), "is not valid yet", ""),
        // it accepts the server, and the server does not accept it
        (
            load(stranger),
            load(Paths {
                ca: place.path().join("ca.pem"),
                ..ca.paths(name, |_| {})
            }),
            "is of another CA",
            "does not know the CA of our certificate",
        ),
        (
            good(),
            load(ca.paths(name, for_servers)),
            "is not made for this side",
            "",
        ),
        (
            load(strict.clone()),
            good(),
            "is for no name of --tls-clients",
            "",
        ),
    ] {
        let (server, client) = meet(server, client, "rrd1.example:1").await;
        let (server, client) = (error_of(server), error_of(client));
        assert!(server.contains(at_server), "{at_server}: {server}");
        assert!(client.contains(at_client), "{at_client}: {client}");
    }
    for name in ["router.example", "10.0.0.9"] {
        let (server, client) = (load(strict.clone()), ca.identity(name));
        assert_eq!(
            meet(server, client, "rrd1.example:1").await.0.unwrap(),
            CLIENT
        );
    }
}

#[tokio::test]
async fn who_does_not_speak_tls_is_told_from_others() {
    let place = tempfile::tempdir().unwrap();
    let ca = Ca::new(place.path(), "ca");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(b"FLUSH host/a.rrd\n").await.unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    let secured = Secured::accept_as(&Arc::new(ca.identity("a")), stream);
    let said = error_of(talk(Ok(secured), SERVER, 1).await);
    assert!(said.contains("it does not speak TLS"), "{said}");
    // it answers with an alert, by which our own clients know TLS
    assert_eq!(plain.read_u8().await.unwrap(), super::ALERT);

    let stream = TcpStream::connect(address).await.unwrap();
    let (mut plain, _) = listener.accept().await.unwrap();
    plain.write_all(b"stead-rrd files 1\n").await.unwrap();
    let said = Secured::connect_as(&ca.identity("a"), "a:1", stream).await;
    let said = said.err().unwrap().to_string();
    assert!(said.contains("it does not speak TLS"), "{said}");
    let mut said = [0; 2];
    plain.read_exact(&mut said).await.unwrap();
    assert_eq!(said, super::HELLO);
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_is_dropped_soon() {
    let place = tempfile::tempdir().unwrap();
    let identity = Arc::new(Ca::new(place.path(), "ca").identity("a"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    for half in [&b""[..], &super::HELLO] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(half).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let mut secured = Secured::accept_as(&identity, stream);
        let began = tokio::time::Instant::now();
        let error = secured.read(&mut [0; 9]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), 10); // on the test's clock
        assert!(
            error.to_string().contains("no certificate for 10 s"),
            "{error}"
        );
        // its socket is closed although the stream still exists
        assert!(matches!(client.read(&mut [0; 9]).await, Ok(0) | Err(_)));
    }
}

#[tokio::test]
async fn more_than_the_sockets_hold_arrives_whole_and_ends_cleanly() {
    const BYTES: usize = 8 << 20;
    let place = tempfile::tempdir().unwrap();
    let ca = Ca::new(place.path(), "ca");
    let (server, client) = (Arc::new(ca.identity("a")), ca.identity("b"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let byte = |at: usize| (at * 31 + at / 977) as u8;
    let serve = async {
        let (stream, _) = listener.accept().await.unwrap();
        let mut secured = Secured::accept_as(&server, stream);
        // the answer waits in the socket until this side reads
        let all: Vec<u8> = (0..BYTES).map(byte).collect();
        secured.write_all(&all).await.unwrap();
        assert_eq!(secured.read_u8().await.unwrap(), 7);
        secured.shutdown().await.unwrap();
    };
    let ask = async {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut secured = Secured::connect_as(&client, "a:1", stream).await.unwrap();
        let mut read = Vec::new();
        while read.len() < BYTES {
            assert!(secured.read_buf(&mut read).await.unwrap() > 0);
        }
        assert!((0..BYTES).all(|at| read[at] == byte(at)) && read.len() == BYTES);
        secured.write_all(&[7]).await.unwrap();
        secured.flush().await.unwrap();
        assert_eq!(secured.read_buf(&mut read).await.unwrap(), 0);
    };
    tokio::join!(serve, ask);
}

#[test]
fn files_that_are_no_identity_are_named() {
    let place = tempfile::tempdir().unwrap();
    let ca = Ca::new(place.path(), "ca");
    let good = ca.paths("a", |_| {});
    let other = ca.paths("a", |_| {});
    let (missing, text) = (place.path().join("missing"), place.path().join("text"));
    std::fs::write(&text, "no certificate\n").unwrap();
    let broken = place.path().join("broken");
    let bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    std::fs::write(&broken, bad).unwrap();
    type Change<'a> = &'a dyn Fn(&mut Paths, PathBuf);
    let changes: [(Change<'_>, &PathBuf, &str); 8] = [
        (
            &|paths, path| paths.cert = path,
            &missing,
            "--tls-cert FILE: No such file",
        ),
        (
            &|paths, path| paths.key = path,
            &missing,
            "--tls-key FILE: No such file",
        ),
        (
            &|paths, path| paths.ca = path,
            &missing,
            "--tls-ca FILE: No such file",
        ),
        (
            &|paths, path| paths.cert = path,
            &text,
            "--tls-cert FILE: it does not contain a cert",
        ),
        (
            &|paths, path| paths.key = path,
            &text,
            "--tls-key FILE: it does not contain a private",
        ),
        (
            &|paths, path| paths.ca = path,
            &broken,
            "--tls-ca FILE: not a certificate of a CA",
        ),
        (
            &|paths, path| paths.key = path,
            &other.key,
            "--tls-key FILE: not the key of --tls-cert",
        ),
        (
            &|paths, path| paths.cert = path,
            &broken,
            "--tls-cert FILE, --tls-key",
        ),
    ];
    for (change, path, words) in changes {
        let mut paths = good.clone();
        change(&mut paths, path.clone());
        let said = Identity::load(&paths).unwrap_err();
        let words = words.replace("FILE", &path.display().to_string());
        assert!(
            said.starts_with(&words) && !said.contains('\n'),
            "{words}: {said}"
        );
    }
    let mut paths = good.clone();
    paths.clients = vec!["no name".to_owned()];
    assert!(Identity::load(&paths)
        .unwrap_err()
        .contains("--tls-clients \"no name\""));
    assert!(Identity::load(&good).is_ok());
}
