//! The numbers of a [`Status`] in the OpenMetrics text. Names begin with `stead_rrd_`, units are
//! seconds and bytes.

use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{text, DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use super::families::Families;
use crate::health::Health;
use crate::status::{BackendStatus, Status};
use crate::tally::BOUNDS;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;
    use crate::status::Progress;

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
