//! Measures how many records a second the durable log takes, from one writer and from 64 that wait
//! for their syncs: `log_speed DIR [SECONDS]`.
//!
//! The disk decides the result. For comparison, the same run also measures plain writes in the same
//! directory, with a sync after each.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stead_rrd::log::{durable, Durability, Durable, Log, Size};

const RECORD: &[u8] = &[b'x'; 100];

fn main() -> io::Result<()> {
    let mut line = std::env::args().skip(1);
    let Some(dir) = line.next() else {
        return Err(io::Error::other("usage: log_speed DIR [SECONDS]"));
    };
    let time = Duration::from_secs(line.next().and_then(|n| n.parse().ok()).unwrap_or(3));
    let plain = plain(&Path::new(&dir).join("plain"), time)?;
    println!("write and sync    1 waiting {plain:>9.0}/s");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()?;
    for waiting in [1, 64, 1024] {
        let dir = Path::new(&dir).join("log");
        let log = Arc::new(Durable::open(&dir, Size::default())?);
        let start = Instant::now();
        let tasks: Vec<_> = (0..waiting)
            .map(|_| {
                let log = log.clone();
                runtime.spawn(async move {
                    let mut latencies = Vec::new();
                    while start.elapsed() < time {
                        let asked = Instant::now();
                        let number = log.append(RECORD, Durability::Power)?;
                        durable(&*log, number).await?;
                        latencies.push(asked.elapsed());
                    }
                    io::Result::Ok(latencies)
                })
            })
            .collect();
        let mut all = Vec::new();
        for task in tasks {
            all.extend(runtime.block_on(task)??);
        }
        let rate = all.len() as f64 / start.elapsed().as_secs_f64();
        all.sort_unstable();
        let at = |part: usize| all.get(all.len() * part / 100).copied().unwrap_or_default();
        println!(
            "append         {waiting:>4} waiting {rate:>9.0}/s, {:.1} x plain, p50 {:?}, p99 {:?}",
            rate / plain,
            at(50),
            at(99)
        );
        drop(log);
        std::fs::remove_dir_all(dir)?;
    }
    Ok(())
}

fn plain(path: &Path, time: Duration) -> io::Result<f64> {
    let mut file = std::fs::File::create(path)?;
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < time {
        file.write_all(RECORD)?;
        file.sync_data()?;
        count += 1;
    }
    std::fs::remove_file(path)?;
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}
