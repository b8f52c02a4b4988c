//! The agent of stead-rrd, which other machines ask for files: a real one on a socket hears any
//! bytes, and nothing outside its directory changes.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use stead_rrd::connection::Address;
use stead_rrd::files::{Agent, HELLO};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};

use crate::files::directory;

/// How long an agent may take to hear an input and to close the connection, on a machine that has
/// much else to do.
const LIMIT: Duration = Duration::from_secs(60);

struct Served {
    runtime: Runtime,
    place: TempDir,
    socket: PathBuf,
}

thread_local! {
    static SERVED: RefCell<Option<Served>> = const { RefCell::new(None) };
}

fn serve() -> Served {
    let place = directory();
    let base = place.path().join("base");
    fs::create_dir(&base).expect("the directory of the files");
    fs::write(place.path().join("outside"), "safe").expect("a file outside of it");
    let socket = place.path().join("socket");
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let address = Address::parse(&format!("unix:{}", socket.display())).expect("an address");
    let agent = runtime.block_on(Agent::bind(base, &address, false, false));
    runtime.spawn(agent.expect("an agent").run());
    Served {
        runtime,
        place,
        socket,
    }
}

/// What a client sends after the first line: frames, each with a kind, a length and a body.
pub fn frames(data: &[u8]) {
    SERVED.with_borrow_mut(|served| {
        let served = served.get_or_insert_with(serve);
        let heard = served
            .runtime
            .block_on(async { tokio::time::timeout(LIMIT, talk(&served.socket, data)).await });
        heard.expect("the agent ends a connection in time");
        let outside = fs::read(served.place.path().join("outside")).expect("it is there");
        assert_eq!(outside, b"safe");
        let around = fs::read_dir(served.place.path())
            .expect("the place")
            .count();
        assert_eq!(around, 3, "nothing is written outside the directory");
    });
}

async fn talk(socket: &PathBuf, data: &[u8]) {
    let mut stream = UnixStream::connect(socket)
        .await
        .expect("the agent listens");
    let mut text = HELLO.to_vec();
    let mut rest = data;
    while let [kind, length, body @ ..] = rest {
        let (body, behind) = body.split_at(body.len().min(usize::from(*length)));
        match kind {
            // bytes that are no frame
            0xff => text.extend(body),
            kind => {
                text.extend((body.len() as u32).to_le_bytes());
                text.push(*kind);
                text.extend(body);
            }
        }
        rest = behind;
    }
    // an agent that refuses may close the connection before it has read everything
    let _ = stream.write_all(&text).await;
    let _ = stream.shutdown().await;
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said).await;
}
