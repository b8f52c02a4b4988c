//! The numbers of a [`Status`] as OpenMetrics text. Names begin with `stead_rrd_`; units are
//! seconds and bytes.

use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{text, DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::families::Families;
use crate::health::Health;
use crate::passes::Pass;
use crate::role::Role;
use crate::status::{BackendStatus, Status};
use crate::tally::BOUNDS;

/// Returns the text.
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
        self.router(&mut families)?;
        self.backends(&mut families)?;
        self.log(&mut families)?;
        self.pair(&mut families)?;
        self.clients(&mut families)?;
        self.moving(&mut families)?;
        self.checks(&mut families)
    }
}

/// Returns one of the numbers of a backend.
type Number = fn(&BackendStatus) -> u64;

impl Numbers {
    fn router(&self, families: &mut Families) -> fmt::Result {
        let status = &self.0;
        let version = [("version", status.version.as_str())];
        families.gauge(
            "build_info",
            "The version of the router, as a label",
            [(version, 1)],
        )?;
        #[rustfmt::skip]
        let gauges = [
            ("start_time_seconds", "When the router started, in seconds since 1970", status.started),
            ("map_epoch", "The epoch of the map that the files are placed by", status.epoch),
            ("map_next_epoch", "The epoch that files have to be moved to; the same as stead_rrd_map_epoch when there is none", status.next_epoch.unwrap_or(status.epoch)),
            ("map_waiting_epoch", "The epoch that waits until files have been moved; the same as stead_rrd_map_next_epoch when there is none", status.waiting_epoch.or(status.next_epoch).unwrap_or(status.epoch)),
            ("known_files", "How many files the router knows, with their columns and types", status.known_files),
            ("problems", "How many problems stead-rrd status would report; 0 when all is well", status.problems().len() as u64),
        ];
        families.plain(gauges)?;
        #[rustfmt::skip]
        let gauges = [
            ("unreachable_ratio", "The fraction of the files of which no copy is up or catching up", status.exposed.unreachable),
            ("trailing_ratio", "The fraction of the files that only copies which are catching up serve", status.exposed.trailing),
            ("single_copy_ratio", "The fraction of the files of which only one copy is up where there should be more", status.exposed.single),
        ];
        families.plain(gauges)
    }

    fn backends(&self, families: &mut Families) -> fmt::Result {
        let backends = &self.0.backends;
        let each = |number: Number| {
            backends
                .iter()
                .map(move |backend| ([("backend", backend.name.as_str())], number(backend)))
        };
        let up = each(|b| u64::from(b.state == Health::Up));
        let help = "1 when the backend is connected and has all writes, else 0";
        families.gauge("backend_up", help, up)?;
        let states = backends.iter().flat_map(|backend| {
            let labels =
                |state: Health| [("backend", backend.name.as_str()), ("state", state.name())];
            [Health::Up, Health::Behind, Health::Down]
                .map(|state| (labels(state), u64::from(backend.state == state)))
        });
        let help = "1 for the state of the backend, 0 for the others";
        families.gauge("backend_state", help, states)?;
        let info = backends.iter().map(|backend| {
            let zone = backend.labels.iter().find(|(key, _)| key == "zone");
            let labels = [
                ("backend", backend.name.as_str()),
                ("address", backend.address.as_str()),
                ("zone", zone.map_or("", |(_, value)| value.as_str())),
            ];
            (labels, 1)
        });
        let help = "Address and zone of the backend, as labels";
        families.gauge("backend_info", help, info)?;
        #[rustfmt::skip]
        let gauges: [(&str, &str, Number); 13] = [
            ("backend_state_since_timestamp_seconds", "When the backend entered its state, in seconds since 1970", |b| b.since),
            ("backend_queued_lines", "Lines that wait in memory to be sent to the backend", |b| b.queued_lines),
            ("backend_queued_bytes", "The size of the lines that wait in memory, in bytes", |b| b.queued_bytes),
            ("backend_behind_records", "Durable records that a backend which is not up may lack", |b| b.behind),
            ("backend_unflushed_files", "Files with writes that no FLUSH has confirmed", |b| b.unflushed_files),
            ("backend_confirmed_record", "The record up to which the backend has everything on its disk", |b| b.confirmed),
            ("backend_lacking_files", "Files that the backend should have and lacks", |b| b.lacking),
            ("backend_gone_files", "Files that the backend has lost together with updates that it had taken; the log keeps these", |b| b.gone),
            ("backend_doubtful_files", "Files of which the backend's copy may lack values", |b| b.doubtful),
            ("backend_uncompared", "1 when all copies of the backend may lack values, since they were not compared after its address or its directory of files changed", |b| b.uncompared.into()),
            ("backend_suspended", "1 when clients have suspended files there, or files could not be flushed", |b| u64::from(b.suspended.is_some() || b.stuck > 0)),
            ("backend_files_reachable", "1 when the agent or the directory of the backend's files answers and has the files of its rrdcached, or the map names none", |b| b.files_error.is_none().into()),
            ("backend_journal", "1 when rrdcached keeps a journal of its own, which can lose updates in a crash", |b| b.journal.into()),
        ];
        for (name, help, number) in gauges {
            families.gauge(name, help, each(number))?;
        }
        let lag = each(|b| b.lag_ms).map(|(labels, lag)| (labels, lag as f64 / 1000.0));
        let help = "For how many seconds the oldest line without an answer has waited";
        families.gauge("backend_lag_seconds", help, lag)?;
        #[rustfmt::skip]
        let counters: [(&str, &str, Number); 4] = [
            ("backend_writes", "Writes that the backend has answered", |b| b.answered),
            ("backend_write_errors", "Writes that the backend has refused", |b| b.errors),
            ("backend_late_errors", "Writes that the backend refused after another one took them, or after clients were told that they are stored", |b| b.late_errors),
            ("backend_reconnects", "How often the router connected to the backend again", |b| b.reconnects),
        ];
        for (name, help, number) in counters {
            families.counter(name, help, each(number))?;
        }
        Ok(())
    }

    fn log(&self, families: &mut Families) -> fmt::Result {
        let enabled = u64::from(self.0.log.is_some());
        let help = "1 when writes go into a durable log, else 0";
        families.plain([("log_enabled", help, enabled)])?;
        let help = "0 when nothing can be recorded in the directory of --state, else 1";
        let writable = u64::from(self.0.state_error.is_none());
        families.plain([("state_writable", help, writable)])?;
        let Some(log) = &self.0.log else {
            return Ok(());
        };
        #[rustfmt::skip]
        let gauges = [
            ("log_failed", "1 when the log takes no writes until the router is restarted", u64::from(log.failed.is_some())),
            ("log_short", "1 when the log will soon refuse writes for lack of room, or already does", u64::from(log.short.is_some())),
            ("log_size_bytes", "The size of the log on disk, in bytes", log.bytes),
            ("log_bound_bytes", "An upper bound on the size of the log, in bytes", log.bound),
            ("log_oldest_record", "The oldest record that the log keeps", log.oldest),
            ("log_newest_record", "The newest record that survives a power cut", log.newest),
        ];
        families.plain(gauges)
    }

    fn pair(&self, families: &mut Families) -> fmt::Result {
        let Some(pair) = &self.0.pair else {
            return Ok(());
        };
        #[rustfmt::skip]
        let gauges = [
            ("pair_primary", "1 when this router is the primary of its pair, 0 when it is the standby", u64::from(pair.role == Role::Primary)),
            ("pair_serving", "1 when this router serves clients", u64::from(pair.serving)),
            ("pair_term", "The term; each promotion begins a new one", pair.term),
            ("pair_connected", "1 when the log flows from the primary to the standby", u64::from(pair.connected)),
            ("pair_in_sync", "1 when the standby has everything that was answered", u64::from(pair.in_sync)),
            ("pair_alone", "1 when this primary goes on without its standby", u64::from(pair.alone.is_some())),
            ("pair_behind_records", "Records of the log that the standby lacks", pair.behind),
        ];
        families.plain(gauges)?;
        let help = "Records that this router discarded because a later primary did not have them";
        families.plain_counter("pair_discarded_records", help, pair.discarded)
    }

    fn clients(&self, families: &mut Families) -> fmt::Result {
        let clients = &self.0.clients;
        let help = "Clients that are connected";
        families.plain([("clients_connected", help, clients.connected)])?;
        let help = "Connections that were accepted";
        families.plain_counter("clients_accepted", help, clients.accepted)?;
        let help = "Connections that could not be accepted";
        families.plain_counter("clients_refused", help, clients.refused)?;
        let help = "Reads that were answered by a copy that may lack values";
        families.plain_counter("reads_behind", help, clients.behind)?;
        let verbs = || {
            let verbs = clients.verbs.iter();
            verbs.map(|verb| ([("verb", verb.verb.as_str())], verb))
        };
        let requests = verbs().map(|(labels, verb)| (labels, verb.requests));
        let help = "Answered requests; each line of a BATCH counts as one";
        families.counter("requests", help, requests)?;
        let errors = verbs().map(|(labels, verb)| (labels, verb.errors));
        let help = "Requests whose answer was an error";
        families.counter("request_errors", help, errors)?;
        let help = "The time from reading a request to its answer";
        let mut family = families.begin("request_duration_seconds", help, MetricType::Histogram)?;
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
        let help = "1 while files are moved or a backend is repaired, else 0";
        families.plain([("move_running", help, u64::from(self.0.is_moving()))])?;
        // an alert on a figure that is missing would be silent
        let moving = self.0.moving.clone().unwrap_or_default();
        #[rustfmt::skip]
        let gauges = [
            ("move_files", "Files that the last move or repair since the start has to copy", moving.files),
            ("move_done_files", "Files that have been copied", moving.done),
            ("move_failed_files", "Files that could not be copied", moving.failed),
            ("move_carried_bytes", "Bytes that this run has copied", moving.bytes),
        ];
        families.plain(gauges)
    }

    fn checks(&self, families: &mut Families) -> fmt::Result {
        let check = &self.0.check;
        let running = check.asked.is_some() || (check.slow.is_some() && check.waits.is_none());
        let help = "1 while the copies of all files are compared, else 0";
        families.plain([("check_running", help, u64::from(running))])?;
        let help = "Files whose copies were compared since the start";
        families.plain_counter("check_compared_files", help, check.compared)?;
        let help = "Files whose copies were found to differ since the start";
        families.plain_counter("check_differing_files", help, check.differing)?;
        let left = |of: fn(&Pass) -> u64| check.incomplete.as_ref().map_or(0, of);
        #[rustfmt::skip]
        let gauges = [
            ("check_uncompared_files", "Files that the check which has ended last could not compare", left(|pass| pass.skipped)),
            ("check_unlisted_backends", "Backends whose files that check could not list", left(|pass| pass.unlisted)),
        ];
        families.plain(gauges)?;
        let Some(last) = &check.last else {
            return Ok(());
        };
        #[rustfmt::skip]
        let gauges = [
            ("check_last_end_timestamp_seconds", "When the last whole check ended, in seconds since 1970", last.ended),
            ("check_last_files", "Files that the last whole check looked at", last.files),
            ("check_last_differing_files", "Files of these whose copies differed", last.differing),
            ("check_last_misplaced_files", "Files of these that are only where the map does not place them", last.misplaced),
            ("check_last_skipped_files", "Files of these that could not be compared", last.skipped),
            ("check_last_stray_copies", "Copies where the map does not place them, besides the right ones", last.strays),
            ("check_last_needed_strays", "Copies of these that have values which the right ones lack, or could not be compared", last.needed),
        ];
        families.plain(gauges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;
    use crate::status::{Progress, StateError};

    /// The metrics have the numbers of the status. tests/rrd also lets a strict parser read the
    /// metrics of a real router.
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
        status.check.differing = 5;
        let full = (std::io::ErrorKind::StorageFull, "full".to_owned());
        status.state_error = StateError::of(Some(full), None);
        status.check.last = Some(Pass {
            ended: 1_700_000_100,
            misplaced: 6,
            ..Pass::default()
        });
        status.check.incomplete = Some(Pass {
            skipped: 8,
            unlisted: 1,
            ..Pass::default()
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
            "stead_rrd_state_writable 0",
            "stead_rrd_backend_lag_seconds{backend=\"a1\"} 0.008",
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
            "stead_rrd_map_waiting_epoch 7",
            "stead_rrd_move_running 1",
            "stead_rrd_move_carried_bytes 77",
            "stead_rrd_check_running 0",
            "stead_rrd_check_differing_files_total 5",
            "stead_rrd_check_last_end_timestamp_seconds 1700000100",
            "stead_rrd_check_last_misplaced_files 6",
            "stead_rrd_check_uncompared_files 8",
            "stead_rrd_check_unlisted_backends 1",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        assert!(text.ends_with("\n# EOF\n"));
    }

    /// An alert on a figure that is missing would be silent.
    #[test]
    fn the_numbers_of_a_move_are_there_before_any_move() {
        let text = encode(sample()).unwrap();
        for name in [
            "files",
            "done_files",
            "failed_files",
            "carried_bytes",
            "running",
        ] {
            let line = format!("stead_rrd_move_{name} 0");
            assert!(text.lines().any(|other| other == line), "{line}");
        }
    }
}
