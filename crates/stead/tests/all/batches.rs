//! Many keys at once: the same answers as key by key.

use std::num::NonZeroUsize;
use std::thread;

use stead::policy::NodeId;
use stead::{build, Fleet, Keys, Map, Plan};

fn maps(replicas: u32) -> (Map, Map) {
    let fleet = |nodes: u32| {
        let nodes: String = (0..nodes)
            .map(|n| format!("[[node]]\nname = 'n{n:02}'\n"))
            .collect();
        let text = format!("name = 'm'\nreplicas = {replicas}\n{nodes}");
        Fleet::parse(&text, "fleet").unwrap()
    };
    let old = build(&fleet(7), None).unwrap();
    let new = build(&fleet(9), Some(&old)).unwrap();
    (old, new)
}

fn keys() -> Vec<Vec<u8>> {
    let long = (0..300).map(|length| vec![b'k'; length]);
    long.chain((0u32..2000).map(|n| n.to_le_bytes().to_vec()))
        .collect()
}

#[test]
fn many_keys_live_where_each_of_them_does() {
    let (map, _) = maps(1);
    let all: Vec<_> = map.locate_many(keys()).collect();
    let each: Vec<_> = keys().iter().map(|key| map.locate(key)).collect();
    assert_eq!(all, each);
    assert_eq!(map.locate_many([b"frank"; 0]).count(), 0);
}

#[test]
fn keys_on_several_threads_live_where_each_of_them_does() {
    let (map, _) = maps(1);
    // enough for four threads, each of which takes at least 2^14
    let keys: Vec<[u8; 4]> = (0u32..70_000).map(u32::to_le_bytes).collect();
    let each: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let wanted: Vec<NodeId> = each.iter().map(|key| map.locate(key)).collect();
    // two callers at once, which race for the table that the map makes of its slices
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut nodes = vec![NodeId(u32::MAX); each.len()];
                let threads = NonZeroUsize::new(4).unwrap();
                map.locate_keys(Keys::each(&each), threads, &mut nodes, |node| node);
                assert!(nodes == wanted);
            });
        }
    });
}

#[test]
fn many_keys_move_as_each_of_them_does() {
    for replicas in [1, 3] {
        let (old, new) = maps(replicas);
        let plan = Plan::between(&old, &new).unwrap();
        let rows: Vec<_> = plan.affects_many(keys()).collect();
        let mut next = rows.iter();
        for (position, key) in keys().iter().enumerate() {
            for number in plan.affects(key) {
                let (row, of) = (next.next().unwrap(), plan.moves[number]);
                assert_eq!((row.key, row.from, row.to), (position, of.from, of.to));
            }
            // the nodes that a key leaves and enters are those by which its two places differ
            let held = |map: &Map| {
                let mut names: Vec<_> = map
                    .locate_all(key)
                    .map(|node| map.node(node).name().to_owned())
                    .collect();
                names.sort();
                names
            };
            let mut expected = held(&old);
            for row in rows.iter().filter(|row| row.key == position) {
                let (from, to) = (old.node(row.from.unwrap()), new.node(row.to.unwrap()));
                assert!(expected.contains(&from.name().to_owned()));
                expected.retain(|name| name != from.name());
                expected.push(to.name().to_owned());
            }
            expected.sort();
            assert_eq!(expected, held(&new));
        }
        assert!(next.next().is_none() && rows.len() > 300, "{}", rows.len());
    }
}
