//! What monitoring asks for: the numbers of a [`Status`] over HTTP, in the OpenMetrics text that
//! Prometheus and its kin read.
//!
//! `GET /metrics` asks the router once and writes all of it. Names begin with `stead_rrd_`, units
//! are seconds and bytes.

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
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    text, DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::health::Health;
use crate::status::{BackendStatus, Source, Status};
use crate::tally::BOUNDS;

/// The type of the text, as OpenMetrics 1.0 names it.
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Connections at once: a few scrapers, and no room for a crowd.
const CONNECTIONS: usize = 32;
/// A connection that does not send its request in this time is closed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves the numbers.
pub struct Metrics {
    listener: TcpListener,
}

impl Metrics {
    /// Listens; an address that is not loopback is refused unless `public`.
    pub async fn bind(address: &str, public: bool) -> io::Result<Metrics> {
        let found: Vec<SocketAddr> = tokio::net::lookup_host(address).await?.collect();
        if !public && !found.iter().all(|address| address.ip().is_loopback()) {
            let reason = "not a loopback address: everybody could read the names of your servers; \
                say --public if the network is safe";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
        Ok(Metrics {
            listener: TcpListener::bind(&found[..]).await?,
        })
    }

    /// The address, with the port that the system chose when 0 was asked for.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves; never ends.
    pub async fn run<S: Source>(self, source: Arc<S>) {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let Ok(place) = Arc::clone(&room).acquire_owned().await else {
                return;
            };
            let Ok((stream, _)) = self.listener.accept().await else {
                // no descriptor is left: some client has to go first
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let source = Arc::clone(&source);
            tokio::spawn(async move {
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
                    .max_buf_size(16 << 10) // a request of a scraper has some hundred bytes
                    .serve_connection(TokioIo::new(stream), service);
                let _ = served.await; // a scraper that has gone needs no answer
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

/// The text.
pub fn encode(status: Status) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("stead_rrd");
    registry.register_collector(Box::new(Numbers(status)));
    let mut text = String::new();
    text::encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Numbers(Status);

impl Collector for Numbers {
    fn encode(&self, encoder: DescriptorEncoder) -> fmt::Result {
        let mut families = Families(encoder);
        let status = &self.0;
        let version = [("version", status.version.as_str())];
        families.gauge(
            "build_info",
            "The version of the router, as a label",
            None,
            [(version, 1)],
        )?;
        families.plain(
            "start_time",
            "When the router started, in seconds since 1970",
            Some(Unit::Seconds),
            status.started,
        )?;
        families.plain(
            "map_epoch",
            "The epoch of the map that files lie by",
            None,
            status.epoch,
        )?;
        families.plain(
            "map_next_epoch",
            "The epoch that files have to be moved to; the epoch itself when there is none",
            None,
            status.next_epoch.unwrap_or(status.epoch),
        )?;
        families.plain(
            "problems",
            "How many problems stead-rrd status would name; 0 when all is well",
            None,
            status.problems().len() as u64,
        )?;
        families.plain(
            "unreachable_ratio",
            "The part of the files of which no copy is up",
            None,
            status.exposed.unreachable,
        )?;
        families.plain(
            "single_copy_ratio",
            "The part of the files of which one copy is up and more should be",
            None,
            status.exposed.single,
        )?;
        self.backends(&mut families)?;
        self.log(&mut families)?;
        self.clients(&mut families)?;
        self.moving(&mut families)
    }
}

impl Numbers {
    fn backends(&self, families: &mut Families) -> fmt::Result {
        let backends = &self.0.backends;
        let each = |number: fn(&BackendStatus) -> u64| {
            backends
                .iter()
                .map(move |backend| ([("backend", backend.name.as_str())], number(backend)))
        };
        families.gauge(
            "backend_up",
            "1 when the backend is connected and has all writes, else 0",
            None,
            each(|b| u64::from(b.state == Health::Up)),
        )?;
        let states = backends.iter().flat_map(|backend| {
            let labels =
                |state: Health| [("backend", backend.name.as_str()), ("state", state.name())];
            [Health::Up, Health::Behind, Health::Down]
                .map(|state| (labels(state), u64::from(backend.state == state)))
        });
        families.gauge(
            "backend_state",
            "1 for the state that the backend is in, 0 for the others",
            None,
            states,
        )?;
        let info = backends.iter().map(|backend| {
            let zone = backend
                .labels
                .iter()
                .find(|(key, _)| key == "zone")
                .map_or("", |(_, value)| value.as_str());
            (
                [
                    ("backend", backend.name.as_str()),
                    ("address", backend.address.as_str()),
                    ("zone", zone),
                ],
                1,
            )
        });
        families.gauge(
            "backend_info",
            "Address and zone of the backend, as labels",
            None,
            info,
        )?;
        families.gauge(
            "backend_state_since_timestamp",
            "When the backend came into its state, in seconds since 1970",
            Some(Unit::Seconds),
            each(|b| b.since),
        )?;
        families.gauge(
            "backend_queued_lines",
            "Lines that wait in memory to be sent to the backend",
            None,
            each(|b| b.queued_lines),
        )?;
        families.gauge(
            "backend_queued",
            "Bytes of the lines that wait in memory",
            Some(Unit::Bytes),
            each(|b| b.queued_bytes),
        )?;
        families.gauge(
            "backend_behind_records",
            "Durable records that a backend which is not up may lack",
            None,
            each(|b| b.behind),
        )?;
        families.gauge(
            "backend_unflushed_files",
            "Files with writes that no FLUSH has confirmed",
            None,
            each(|b| b.unflushed_files),
        )?;
        families.gauge(
            "backend_confirmed_record",
            "The record up to which the backend has everything on its disk",
            None,
            each(|b| b.confirmed),
        )?;
        families.gauge(
            "backend_lacking_files",
            "Files that the backend should have and lacks",
            None,
            each(|b| b.lacking),
        )?;
        families.gauge(
            "backend_journal",
            "1 when rrdcached keeps a journal of its own, by which \
            it can lose updates when it crashes",
            None,
            each(|b| b.journal.into()),
        )?;
        families.counter(
            "backend_writes",
            "Writes that the backend has answered",
            each(|b| b.answered),
        )?;
        families.counter(
            "backend_write_errors",
            "Writes that the backend has refused",
            each(|b| b.errors),
        )?;
        families.counter(
            "backend_reconnects",
            "How often the connection to the backend was made again",
            each(|b| b.reconnects),
        )
    }

    fn log(&self, families: &mut Families) -> fmt::Result {
        let Some(log) = &self.0.log else {
            return families.plain(
                "log_enabled",
                "1 when writes go into a durable log, else 0",
                None,
                0u64,
            );
        };
        families.plain(
            "log_enabled",
            "1 when writes go into a durable log, else 0",
            None,
            1u64,
        )?;
        families.plain(
            "log_failed",
            "1 when the log takes no writes until the router is started again",
            None,
            u64::from(log.failed.is_some()),
        )?;
        families.plain(
            "log_short",
            "1 when the log will refuse writes soon for want of room, or does so already",
            None,
            u64::from(log.short.is_some()),
        )?;
        families.plain(
            "log_size",
            "Bytes of the log on the disk",
            Some(Unit::Bytes),
            log.bytes,
        )?;
        families.plain(
            "log_bound",
            "The most that the log may grow to",
            Some(Unit::Bytes),
            log.bound,
        )?;
        families.plain(
            "log_oldest_record",
            "The oldest record that the log keeps",
            None,
            log.oldest,
        )?;
        families.plain(
            "log_newest_record",
            "The newest record that survives a crash",
            None,
            log.newest,
        )
    }

    fn clients(&self, families: &mut Families) -> fmt::Result {
        let clients = &self.0.clients;
        families.plain(
            "clients_connected",
            "Clients that are connected",
            None,
            clients.connected,
        )?;
        families.plain_counter(
            "clients_accepted",
            "Connections that were taken",
            clients.accepted,
        )?;
        families.plain_counter(
            "clients_refused",
            "Connections that could not be taken",
            clients.refused,
        )?;
        let verbs = || {
            clients
                .verbs
                .iter()
                .map(|verb| ([("verb", verb.verb.as_str())], verb))
        };
        families.counter(
            "requests",
            "Answered requests; a line of a BATCH counts as one of its own",
            verbs().map(|(labels, verb)| (labels, verb.requests)),
        )?;
        families.counter(
            "request_errors",
            "Requests whose answer was an error",
            verbs().map(|(labels, verb)| (labels, verb.errors)),
        )?;
        let mut family = families.begin(
            "request_duration",
            "From reading a request to its answer",
            Some(&Unit::Seconds),
            MetricType::Histogram,
        )?;
        for (labels, verb) in verbs() {
            let bounds = BOUNDS
                .iter()
                .map(|bound| Duration::from_micros(*bound).as_secs_f64())
                .chain([f64::INFINITY]);
            let buckets: Vec<(f64, u64)> = bounds.zip(verb.buckets.iter().copied()).collect();
            family
                .encode_family(&labels)?
                .encode_histogram::<NoLabelSet>(verb.seconds, verb.requests, &buckets, None)?;
        }
        Ok(())
    }

    fn moving(&self, families: &mut Families) -> fmt::Result {
        let moving = self.0.moving.as_ref();
        families.plain(
            "move_running",
            "1 while files are moved or a backend is repaired, else 0",
            None,
            u64::from(self.0.is_moving()),
        )?;
        let Some(moving) = moving else { return Ok(()) };
        families.plain(
            "move_files",
            "Files that the move has to carry",
            None,
            moving.files,
        )?;
        families.plain(
            "move_done_files",
            "Files that have been carried",
            None,
            moving.done,
        )?;
        families.plain(
            "move_failed_files",
            "Files that could not be carried",
            None,
            moving.failed,
        )?;
        families.plain(
            "move_carried",
            "Bytes that this run has carried",
            Some(Unit::Bytes),
            moving.bytes,
        )
    }
}

/// Writes families of metrics, one after the other.
struct Families<'a>(DescriptorEncoder<'a>);

type Labels<'l, const N: usize> = [(&'l str, &'l str); N];

impl Families<'_> {
    fn begin<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        unit: Option<&'s Unit>,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, help, unit, kind)
    }

    /// A gauge without labels.
    fn plain(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        value: impl prometheus_client::encoding::EncodeGaugeValue,
    ) -> fmt::Result {
        let encoder = self.begin(name, help, unit.as_ref(), MetricType::Gauge)?;
        ConstGauge::new(value).encode(encoder)
    }

    /// A gauge with a value for each set of labels.
    fn gauge<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        values: impl IntoIterator<Item = (Labels<'l, N>, u64)>,
    ) -> fmt::Result {
        let mut family = self.begin(name, help, unit.as_ref(), MetricType::Gauge)?;
        values.into_iter().try_for_each(|(labels, value)| {
            ConstGauge::new(value).encode(family.encode_family(&labels)?)
        })
    }

    /// A counter without labels; its sample ends in `_total`.
    fn plain_counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let encoder = self.begin(name, help, None, MetricType::Counter)?;
        ConstCounter::new(value).encode(encoder)
    }

    /// A counter with a value for each set of labels.
    fn counter<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels<'l, N>, u64)>,
    ) -> fmt::Result {
        let mut family = self.begin(name, help, None, MetricType::Counter)?;
        values.into_iter().try_for_each(|(labels, value)| {
            ConstCounter::new(value).encode(family.encode_family(&labels)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{sample, Progress};
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
        tokio::spawn(metrics.run(Arc::new(FakeSource)));
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

    #[tokio::test]
    async fn a_public_address_needs_to_be_asked_for() {
        let refused = Metrics::bind("0.0.0.0:0", false).await.err().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        Metrics::bind("0.0.0.0:0", true).await.unwrap();
    }

    /// tests/rrd has a strict parser read a real router's; here: the numbers are those of the
    /// status.
    #[test]
    fn the_numbers_are_those_of_the_status() {
        let mut status = sample();
        status.backends[1].state = Health::Down;
        status.backends[2].name = "quote\" back\\ line\n".to_owned();
        status.moving = Some(Progress {
            files: 10,
            done: 4,
            failed: 1,
            bytes: 77,
            ..Progress::default()
        });
        let text = encode(status).unwrap();
        for line in [
            "# TYPE stead_rrd_backend_up gauge",
            "# HELP stead_rrd_backend_up 1 when the backend is connected and has all writes, else \
             0",
            "stead_rrd_backend_up{backend=\"a1\"} 1",
            "stead_rrd_backend_up{backend=\"a2\"} 0",
            "stead_rrd_backend_state{backend=\"a2\",state=\"down\"} 1",
            "stead_rrd_backend_up{backend=\"quote\\\" back\\\\ line\\n\"} 1",
            "stead_rrd_backend_info{backend=\"a1\",address=\"10.0.0.51:42217\",zone=\"a\"} 1",
            "# UNIT stead_rrd_log_size_bytes bytes",
            "stead_rrd_log_size_bytes 12582912",
            "stead_rrd_clients_accepted_total 1",
            "stead_rrd_requests_total{verb=\"update\"} 1203231",
            "stead_rrd_request_errors_total{verb=\"update\"} 3",
            "stead_rrd_request_duration_seconds_bucket{le=\"0.0005\",verb=\"update\"} 0",
            "stead_rrd_request_duration_seconds_bucket{le=\"0.001\",verb=\"update\"} 1203231",
            "stead_rrd_request_duration_seconds_bucket{le=\"+Inf\",verb=\"update\"} 1203231",
            "stead_rrd_request_duration_seconds_count{verb=\"fetch\"} 1",
            "stead_rrd_request_duration_seconds_sum{verb=\"fetch\"} 0.003",
            "stead_rrd_map_next_epoch 7",
            "stead_rrd_move_running 1",
            "stead_rrd_move_carried_bytes 77",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        assert!(text.ends_with("\n# EOF\n"));
    }
}
