//! An agent that knows the term of one router refuses what a router of an older term has begun.

use std::io::ErrorKind;
use std::sync::Arc;

use stead_rrd::connection::Address;
use stead_rrd::files::{Agent, Files, Rate};
use stead_rrd::term::{Claim, Term};

const RRD: &[u8] = b"RRD\0some bytes";

async fn agent(base: &std::path::Path) -> (Address, tokio::task::JoinHandle<()>) {
    let any = Address::parse("127.0.0.1:0").unwrap();
    let agent = Agent::bind(base, &any, false, false).await.unwrap();
    let address = Address::parse(&agent.address().unwrap()).unwrap();
    (address, tokio::spawn(agent.run()))
}

fn claim(number: u64) -> Arc<Claim> {
    Arc::new(Claim::new(Term {
        number,
        owner: number,
    }))
}

#[tokio::test]
async fn an_agent_refuses_an_older_term_even_in_the_middle_of_a_copy() {
    let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(source.path().join("a.rrd"), RRD).unwrap();
    std::fs::write(target.path().join("b.rrd"), RRD).unwrap();
    let (address, running) = agent(target.path()).await;
    let (old, new) = (claim(1), claim(2));
    let old_files = Files::agent(address.clone()).claiming(&old);
    let new_files = Files::agent(address.clone()).claiming(&new);
    let from = Files::directory(source.path());
    assert!(old_files.claim().await.unwrap());
    Files::copy(&from, &old_files, b"a.rrd", &Rate::default())
        .await
        .unwrap();
    // a copy that takes longer than the old router is the primary
    std::fs::write(
        source.path().join("slow.rrd"),
        [RRD, &[7; 400_000]].concat(),
    )
    .unwrap();
    let (slow_from, slow_to) = (from.clone(), old_files.clone());
    let slow = tokio::spawn(async move {
        Files::copy(&slow_from, &slow_to, b"slow.rrd", &Rate::new(Some(200_000))).await
    });
    while std::fs::read_dir(target.path())
        .unwrap()
        .filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().starts_with(".stead-rrd-copy.")
        })
        .count()
        == 0
    {
        tokio::task::yield_now().await;
    }
    assert!(new_files.claim().await.unwrap());
    let error = slow.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains("since term 2"), "{error}");
    assert!(!target.path().join("slow.rrd").exists());
    for files in [&old_files, &Files::agent(address)] {
        let error = files.remove(b"b.rrd").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    }
    // the old router hears of it when it asks
    assert!(old_files.claim().await.is_err());
    assert_eq!(old.higher().borrow().unwrap().number, 2);
    assert!(new_files.remove(b"b.rrd").await.unwrap());
    // and after a restart of the agent, too
    running.abort();
    let (address, _running) = agent(target.path()).await;
    let again = Files::agent(address.clone()).claiming(&claim(1));
    let error = again.remove(b"a.rrd").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    let listed = Files::agent(address)
        .list(|name, _| assert_eq!(name, b"a.rrd"))
        .await
        .unwrap();
    assert_eq!(listed.files, 1);
}
