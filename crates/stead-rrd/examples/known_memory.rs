//! The memory of what the router knows of a million files: `known_memory [FILES]`.

use stead_rrd::known::Known;
use stead_rrd::reply::Reply;
use stead_rrd::shape::Shape;

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}

fn main() {
    let files: u64 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_000_000);
    let known = Known::default();
    let before = resident();
    let mut bytes = 0;
    for number in 0..files {
        let name = format!(
            "datacenter{}/host{:05}/interface-eth{}/if_octets.rrd",
            number % 7,
            number / 20,
            number % 20
        );
        bytes += name.len() as u64;
        let kind = ["GAUGE", "COUNTER", "DERIVE"][number as usize % 3];
        let info = Reply::list("Info", [format!("ds[v].type 2 {kind}")]);
        if let Some(found) = Shape::read(&info, &Reply::ok("1700000000")) {
            known.learn(name.as_bytes(), found);
        }
    }
    println!(
        "{} of {files} files known, names of {} bytes: {} MiB",
        known.count(),
        bytes / files.max(1),
        (resident() - before) >> 10
    );
}
