//! Measures how fast files are copied: `cargo run --release -p stead-rrd --example files_speed --
//! DIR FILES BYTES AT_ONCE`.
//!
//! It first measures what the disk needs: AT_ONCE threads write each file, sync it, rename it and
//! sync its directory. Then it copies with [`Files::copy`], between directories and from agent to
//! agent.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stead_rrd::connection::Address;
use stead_rrd::files::{Agent, Files, Rate};

fn name(file: usize) -> String {
    format!("host{:04}/value{}.rrd", file / 10, file % 10)
}

fn bare(dir: &Path, files: usize, bytes: &[u8], at_once: usize) -> std::io::Result<Duration> {
    let (start, next) = (Instant::now(), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let work = || loop {
            let file = next.fetch_add(1, Ordering::Relaxed);
            if file >= files {
                return Ok(());
            }
            let path = dir.join(name(file));
            let parent = path.parent().unwrap_or(dir);
            std::fs::create_dir_all(parent)?;
            let temporary = path.with_extension("new");
            std::fs::write(&temporary, bytes)?;
            std::fs::File::open(&temporary)?.sync_all()?;
            std::fs::rename(&temporary, &path)?;
            std::fs::File::open(parent)?.sync_all()?;
        };
        let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(std::io::Error::other("a thread failed")))
        })
    })?;
    Ok(start.elapsed())
}

async fn copied(
    from: &Files,
    to: &Files,
    files: usize,
    at_once: usize,
) -> std::io::Result<Duration> {
    let (start, next) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
    let mut tasks = Vec::new();
    for _ in 0..at_once {
        let (from, to, next) = (from.clone(), to.clone(), Arc::clone(&next));
        tasks.push(tokio::spawn(async move {
            loop {
                let file = next.fetch_add(1, Ordering::Relaxed);
                if file >= files {
                    return Ok(());
                }
                Files::copy(&from, &to, name(file).as_bytes(), &Rate::default()).await?;
            }
        }));
    }
    for task in tasks {
        task.await
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))?;
    }
    Ok(start.elapsed())
}

async fn agent(base: &Path) -> std::io::Result<Files> {
    let any = Address::Tcp("127.0.0.1:0".into());
    let agent = Agent::bind(base, &any, false, false).await?;
    let address = Address::Tcp(agent.address()?);
    tokio::spawn(agent.run());
    Ok(Files::agent(address))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, numbers @ ..] = &arguments[..] else {
        return Err(std::io::Error::other("DIR FILES BYTES AT_ONCE"));
    };
    let [files, bytes, at_once] = [0, 1, 2].map(|at| {
        numbers
            .get(at)
            .and_then(|text| text.parse().ok())
            .unwrap_or([1000, 100_000, 8][at])
    });
    let dir = Path::new(dir);
    let data = [b"RRD\0".to_vec(), vec![7; bytes]].concat();
    let told = |what: &str, time: Duration| {
        let seconds = time.as_secs_f64();
        println!(
            "{what:20} {:>8.0} files/s {:>8.1} MB/s",
            files as f64 / seconds,
            (files * data.len()) as f64 / seconds / 1e6
        );
    };
    let [source, first, second] = ["bare", "directory", "agent"].map(|name| dir.join(name));
    for place in [&source, &first, &second] {
        std::fs::create_dir_all(place)?;
    }
    told("bare writes", bare(&source, files, &data, at_once)?);
    told(
        "directory, directory",
        copied(
            &Files::directory(&source),
            &Files::directory(&first),
            files,
            at_once,
        )
        .await?,
    );
    told(
        "agent, agent",
        copied(
            &agent(&source).await?,
            &agent(&second).await?,
            files,
            at_once,
        )
        .await?,
    );
    Ok(())
}
