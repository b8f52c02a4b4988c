//! `GET /metrics`: asks the router for its status and writes all of it.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{HeaderValue, ALLOW, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::numbers::encode;
use crate::status::Source;

/// The content type, as OpenMetrics 1.0 defines it.
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How many connections are served at once: enough for a few scrapers.
const CONNECTIONS: usize = 32;

/// A connection that does not send its request in this time is closed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves the metrics.
pub struct Metrics {
    listener: TcpListener,
}

impl Metrics {
    /// Listens on `address`. An address that is not loopback is refused unless `public` is set.
    pub async fn bind(address: &str, public: bool) -> io::Result<Metrics> {
        let found: Vec<SocketAddr> = tokio::net::lookup_host(address).await?.collect();
        if !public && !found.iter().all(|address| address.ip().is_loopback()) {
            let reason = "not a loopback address: everybody could read the names of your \
                servers; add --public if the network is safe";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
        Ok(Metrics {
            listener: TcpListener::bind(&found[..]).await?,
        })
    }

    /// Returns the address, with the port that the system chose if port 0 was requested.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves requests. Never returns. When it is dropped, its connections are closed: what this
    /// source says is of no use any more.
    pub async fn run<S: Source>(&self, source: Arc<S>) {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok(place) = Arc::clone(&room).acquire_owned().await else {
                return;
            };
            let Ok((stream, _)) = self.listener.accept().await else {
                // no descriptor is left: a client has to leave first
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let source = Arc::clone(&source);
            connections.spawn(async move {
                let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
                    let source = Arc::clone(&source);
                    async move {
                        Ok::<_, Infallible>(
                            answer(request.method(), request.uri().path(), &*source).await,
                        )
                    }
                });
                let served = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(PATIENCE)
                    .max_buf_size(16 << 10) // a scraper's request has some hundred bytes
                    .serve_connection(TokioIo::new(stream), service);
                let _ = served.await; // a scraper that has left needs no answer
                drop(place);
            });
        }
    }
}

async fn answer<S: Source>(method: &Method, path: &str, source: &S) -> Response<Full<Bytes>> {
    let plain = |code: StatusCode, text: &'static str| {
        let mut response = Response::new(Full::from(text));
        *response.status_mut() = code;
        response.headers_mut().insert(
            CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        );
        response
    };
    if method != Method::GET && method != Method::HEAD {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "ask with GET\n");
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match path {
        "/metrics" => match encode(source.status().await) {
            Ok(text) => {
                let mut response = Response::new(Full::from(text));
                response
                    .headers_mut()
                    .insert(CONTENT_TYPE, HeaderValue::from_static(TYPE));
                response
            }
            Err(fmt::Error) => plain(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the metrics could not be written\n",
            ),
        },
        "/" => plain(StatusCode::OK, "stead-rrd: the metrics are at /metrics\n"),
        _ => plain(StatusCode::NOT_FOUND, "the metrics are at /metrics\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;
    use crate::status::Status;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    struct FakeSource;

    impl Source for FakeSource {
        async fn status(&self) -> Status {
            sample()
        }
    }

    async fn ask(request: &str) -> String {
        let metrics = Metrics::bind("127.0.0.1:0", false).await.unwrap();
        let address = metrics.address().unwrap();
        tokio::spawn(async move { metrics.run(Arc::new(FakeSource)).await });
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn http_is_answered() {
        let asked = |line: &str| {
            ask_owned(format!(
                "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            ))
        };
        async fn ask_owned(request: String) -> String {
            ask(&request).await
        }
        let answer = asked("GET /metrics").await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("HTTP/1.1 200 ") && head.contains(TYPE),
            "{head}"
        );
        assert_eq!(body, encode(sample()).unwrap());
        assert!(asked("GET /x").await.starts_with("HTTP/1.1 404 "));
        assert!(asked("POST /metrics").await.starts_with("HTTP/1.1 405 "));
        assert!(ask("what is this\r\n\r\n")
            .await
            .starts_with("HTTP/1.1 400 "));
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000));
        assert!(ask(&long).await.starts_with("HTTP/1.1 4"));
    }

    /// A scraper keeps its connection, and must not hear for ever what a router was before.
    #[tokio::test]
    async fn a_connection_ends_with_the_source_that_it_asks() {
        let metrics = Metrics::bind("127.0.0.1:0", false).await.unwrap();
        let mut stream = tokio::net::TcpStream::connect(metrics.address().unwrap())
            .await
            .unwrap();
        let request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let mut answer = [0; 4096];
        let asked = async {
            stream.write_all(request).await.unwrap();
            stream.read(&mut answer).await.unwrap()
        };
        let count = tokio::select! {
            count = asked => count,
            () = metrics.run(Arc::new(FakeSource)) => 0,
        };
        assert!(answer[..count].starts_with(b"HTTP/1.1 200 "));
        let again = match stream.write_all(request).await {
            Ok(()) => stream.read(&mut answer).await,
            Err(error) => Err(error),
        };
        assert!(matches!(again, Ok(0) | Err(_)), "{again:?}");
    }

    #[tokio::test]
    async fn a_public_address_needs_to_be_asked_for() {
        let refused = Metrics::bind("0.0.0.0:0", false).await.err().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        Metrics::bind("0.0.0.0:0", true).await.unwrap();
    }
}
