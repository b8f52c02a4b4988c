//! Redis Cluster's 16,384 slots, from the output of `redis-cli cluster nodes` (`cluster.c`:
//! `clusterGenNodeDescription`, `keyHashSlot`).
//!
//! A key's slot is CRC-16/XMODEM of its tag, modulo 16,384. A line is `ID IP:PORT@CPORT[,HOSTNAME]
//! FLAGS MASTER PING PONG EPOCH LINK SLOTS...`. A master holds its slots; its replicas, in the
//! order of the lines, are the further nodes of the policy, unless `nodes=masters`.
//!
//! Slots that no node holds, that are migrating, or that a failed master holds, are errors: the
//! answer of a map would be wrong for some of their keys. Failed replicas, and nodes in handshake
//! or without an address, are left out if they hold nothing. `fail?`, the opinion of one node, is
//! ignored.

use crate::cell::Cells;
use crate::error::Result;
use crate::hash::{Affixes, Function, Hash};
use crate::ring::choices::{Choice, Choices, Values};
use crate::ring::draw::{Member, Ring};
use crate::ring::kind::Kind;
use crate::ring::ranges::{table, Range};
use crate::ring::servers::{Line, Servers};
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "redis-slots",
    about: "Redis Cluster's 16384 slots, and who holds them",
    servers: "what `redis-cli cluster nodes` prints",
    choices: &[
        Choice {
            name: "nodes",
            values: Values::OneOf(&["all", "masters"]),
            about: "whether replicas are nodes as well",
        },
        Choice {
            name: "names",
            values: Values::OneOf(&["address", "id"]),
            about: "what a node is called: IP:PORT, or its id of 40 hex digits",
        },
    ],
    draw,
    list: None,
    variants: &[],
};

/// The number of slots: `CLUSTER_SLOTS`.
const SLOTS: u64 = 16_384;

/// A line of a node that is not left out.
struct ClusterNode<'a> {
    line: &'a Line<'a>,
    id: &'a str,
    /// The id of its master, if it is a replica.
    master: Option<&'a str>,
    slots: Vec<(u128, u128)>,
}

fn draw(servers: &Servers<'_>, choices: &Choices) -> Result<Ring> {
    let (masters_only, by_id) = (
        choices.text("nodes") == "masters",
        choices.text("names") == "id",
    );
    let lines = servers.lines()?;
    let mut nodes: Vec<ClusterNode<'_>> = Vec::new();
    let mut members: Vec<Member> = Vec::new();
    for line in &lines {
        let words = line.words();
        let [id, address, flags, master, _, _, _, _, slots @ ..] = &words[..] else {
            return Err(line.wrong("this is no line of CLUSTER NODES: it has less than 8 words"));
        };
        let slots = slots
            .iter()
            .map(|text| range(line, text))
            .collect::<Result<Vec<_>>>()?;
        let flag = |name: &str| flags.split(',').any(|flag| flag == name);
        if let Some(gone) = ["fail", "noaddr", "handshake"]
            .into_iter()
            .find(|gone| flag(gone))
        {
            if !slots.is_empty() {
                return Err(line.wrong(format!(
                    "this node is marked `{gone}` and holds slots; let a \
                    replica take over, or mend it, and list again"
                )));
            }
            continue;
        }
        let is_replica = flag("slave") || flag("replica");
        if !is_replica && !flag("master") {
            return Err(line.wrong(format!("the flags `{flags}` name neither master nor slave")));
        }
        if is_replica && (masters_only || !slots.is_empty()) {
            if slots.is_empty() {
                continue;
            }
            return Err(line.wrong("a replica holds no slots of its own"));
        }
        let (address, more) = address.split_once(',').unwrap_or((address, ""));
        let address = address.split('@').next().unwrap_or(address);
        let mut member = Member::new(line.name(if by_id { id } else { address })?, Weight::ONE);
        let hostname = more
            .split(',')
            .next()
            .filter(|host| !host.is_empty() && !host.contains('='));
        let attributes = [
            ("id", Some(*id)),
            ("address", Some(address)),
            ("hostname", hostname),
        ];
        member.attributes = attributes
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        members.push(member);
        nodes.push(ClusterNode {
            line,
            id,
            master: is_replica.then_some(master),
            slots,
        });
    }
    let mut ranges: Vec<Range> = Vec::new();
    for (number, node) in (0u32..).zip(&nodes) {
        if let Some(master) = node.master {
            if !nodes
                .iter()
                .any(|other| other.id == master && other.master.is_none())
            {
                return Err(node
                    .line
                    .wrong(format!("its master `{master}` is not among the nodes")));
            }
        }
        if node.slots.is_empty() {
            continue;
        }
        let replicas = (0u32..)
            .zip(&nodes)
            .filter(|(_, replica)| replica.master == Some(node.id))
            .map(|(number, _)| number);
        let holders: Vec<u32> = std::iter::once(number).chain(replicas).collect();
        if holders.len() > usize::from(u8::MAX) {
            return Err(node
                .line
                .wrong("this master has more than 254 replicas; set nodes=masters"));
        }
        ranges.extend(node.slots.iter().map(|(first, last)| Range {
            first: *first,
            last: *last,
            holders: holders.clone(),
            line: node.line.number,
        }));
    }
    let cells = Cells::from_stored(SLOTS);
    let table = table(servers.file, ranges, cells, "slot")?;
    let replicas = table
        .iter()
        .map(|(_, holders)| holders.len())
        .max()
        .unwrap_or(1) as u32;
    Ok(Ring {
        hash: Hash::of(Function::Crc16Tag, false, Affixes::default()),
        cells,
        replicas,
        members,
        table,
    })
}

/// Reads slots as a line writes them: `5` or `0-5460`.
fn range(line: &Line<'_>, text: &str) -> Result<(u128, u128)> {
    if let Some(moving) = text.strip_prefix('[') {
        let slot = moving.split('-').next().unwrap_or(moving);
        return Err(line.wrong(format!(
            "slot {slot} is on its way to another node; let that end \
            (redis-cli --cluster fix), and list again"
        )));
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| line.number_of(text, "slot", SLOTS - 1).map(u128::from);
    let (first, last) = (number(first)?, number(last)?);
    if last < first {
        return Err(line.wrong(format!("the range {text} ends before it starts")));
    }
    Ok((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    // as redis-server 7.0.15 printed it, with shorter ids
    const NODES: &str = "d40f 127.0.0.1:17713@27713,host-3 slave f213 0 1795277916483 1 connected\n\
        f213 127.0.0.1:17711@27711 myself,master - 0 1795277915000 1 connected 0-8000 9000\n\
        f3cb 127.0.0.1:17712@27712,,shard-id=69bc master,fail? - 0 1795277914476 0 connected 8001-8999 9001-16383\n\
        aaaa 127.0.0.1:17714@27714 slave,fail f3cb 0 1795277914476 0 disconnected\n\
        bbbb :0@0 master,noaddr - 0 0 0 disconnected\n";

    fn drawn(list: &str, set: &[&str]) -> Result<Ring> {
        KIND.draw_text("nodes", list, set)
    }

    #[test]
    fn a_slot_is_held_by_its_master_and_then_its_replicas() {
        let ring = drawn(NODES, &[]).unwrap();
        let names: Vec<&str> = ring
            .members
            .iter()
            .map(|member| member.name.as_str())
            .collect();
        assert_eq!(
            names,
            ["127.0.0.1:17713", "127.0.0.1:17711", "127.0.0.1:17712"]
        );
        assert_eq!(
            ring.table,
            [
                (0, vec![1, 0]),
                (8001, vec![2]),
                (9000, vec![1, 0]),
                (9001, vec![2])
            ]
        );
        assert_eq!(
            ring.members[0]
                .attributes
                .get("hostname")
                .map(String::as_str),
            Some("host-3")
        );
        assert_eq!(ring.members[2].attributes.get("hostname"), None);
        // foo -> 12182, user1000 -> 3443: the Redis Cluster specification
        assert_eq!(
            (ring.locate(b"foo"), ring.locate(b"{user1000}.following")),
            (Some(2), Some(1))
        );
        let masters = drawn(NODES, &["nodes=masters", "names=id"]).unwrap();
        assert_eq!(
            (
                masters.replicas,
                masters.members[0].name.as_str(),
                masters.table.len()
            ),
            (1, "f213", 4)
        );
        assert!(ring.map("redis").is_ok() && masters.map("redis").is_ok());
    }

    #[test]
    fn what_is_not_settled_is_refused() {
        for (from, to, problem) in [
            (" 9000\n", "\n", "nodes:3: slot 9000 has no holder"),
            (
                " 9000\n",
                " 9000 [5->-f3cb]\n",
                "nodes:2: slot 5 is on its way to another node",
            ),
            (
                " 9000\n",
                " 9000 [8001-<-f3cb]\n",
                "nodes:2: slot 8001 is on its way to another node",
            ),
            (
                "9001-16383",
                "9001-16000",
                "nodes:3: slots 16001 to 16383 have no holder",
            ),
            (
                "9001-16383",
                "9000-16383",
                "nodes:3: slot 9000 has a holder already",
            ),
            (
                "9001-16383",
                "9001-16384",
                "nodes:3: the slot `16384` is not a whole number up to 16383",
            ),
            (
                "fail?",
                "fail",
                "nodes:3: this node is marked `fail` and holds slots",
            ),
            (
                "slave f213",
                "slave cccc",
                "nodes:1: its master `cccc` is not among the nodes",
            ),
            (
                "slave f213",
                "myself - ",
                "nodes:1: the flags `myself` name neither master nor slave",
            ),
            (
                "connected\n",
                "\n",
                "nodes:1: this is no line of CLUSTER NODES",
            ),
        ] {
            assert!(NODES.contains(from), "{from}");
            let error = drawn(&NODES.replacen(from, to, 1), &[])
                .unwrap_err()
                .to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
