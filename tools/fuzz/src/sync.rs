//! What stead-sync reads: the journal and the settings of a carry, what its agent hears, and what
//! other machines put into the hub.

use std::fs;

use stead_sync::carry::journal::Journal;
use stead_sync::carry::settings::Settings;
use stead_sync::carry::wire::{hear, hear_frame, say, say_piece, Ask, Frame, Hello, Sent};
use stead_sync::etcd::record::Record;
use twox_hash::XxHash3_64;

use crate::files::place;

/// A journal: the lines as they are, or with right checksums if the first byte is even.
pub fn journals(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let mut text = Vec::new();
    if first % 2 == 0 {
        for line in rest.split(|byte| *byte == b'\n') {
            text.extend(format!("{:08x} ", XxHash3_64::oneshot(line) as u32).bytes());
            text.extend(line);
            text.push(b'\n');
        }
        text.truncate(text.len() - usize::from(*first) % 5);
    } else {
        text.extend(rest);
    }
    let path = place().join("journal");
    fs::write(&path, &text).expect("the journal is written");
    let Ok(Some(story)) = Journal::peek(&path) else {
        return;
    };
    let carry = story.carry.clone();
    let journal = Journal::open(&path, &carry).expect("what can be looked at can be opened");
    assert_eq!(journal.story(), story);
    journal.begin_pass("copy", 7).expect("it goes on");
    let after = journal.story();
    drop(journal);
    let again = Journal::peek(&path)
        .expect("it can be read")
        .expect("it is there");
    assert_eq!(again, after, "what is written is what is read");
}

/// The settings of a carry.
pub fn settings(data: &[u8]) {
    let path = place().join("carry.toml");
    fs::write(&path, data).expect("the settings are written");
    let _ = Settings::read(&path);
}

/// What an agent and its carrier hear.
pub fn frames(data: &[u8]) {
    let mut from = data;
    while let Ok(frame) = hear_frame(&mut from) {
        let mut to = Vec::new();
        match frame {
            Frame::Piece(piece) => {
                say_piece(&mut to, &piece).expect("a piece is sent");
                let Ok(Frame::Piece(again)) = hear_frame(&mut &to[..]) else {
                    panic!("a piece is heard as one")
                };
                assert_eq!(again, piece);
            }
            Frame::Said(text) => {
                let _ = serde_json::from_slice::<Hello>(&text);
                let _ = serde_json::from_slice::<Sent>(&text);
                if let Ok(ask) = serde_json::from_slice::<Ask>(&text) {
                    say(&mut to, &ask).expect("a question is sent");
                    let again: Ask = hear(&mut &to[..]).expect("and heard");
                    assert_eq!(format!("{again:?}"), format!("{ask:?}"));
                }
            }
        }
    }
}

/// The head of a hub.
pub fn records(data: &[u8]) {
    if let Ok(record) = Record::parse("stead/head", data) {
        let head = record.head(1).expect("a record that was read names a map");
        assert_eq!(head.epoch, record.kept[0].epoch);
    }
}
