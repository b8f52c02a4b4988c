//! OpenStack Swift's part rings, from the file that its proxy servers read (`ring.py`: `RingData`;
//! `utils`: `hash_path`).
//!
//! A `.ring.gz` of format 1 is, under gzip: `R1NG`, a version of 16 bits, the length of a JSON text
//! as 32 bits (both big-endian), the text (devices, part_shift, replica_count, byteorder), and for
//! each replica a row of 16-bit device ids, one a partition, in the byte order that the text names.
//! A key is /account/container/object. Its partition is the first 32 bits of MD5(prefix + key +
//! suffix), shifted right by part_shift. Its nodes are the devices of the partition in all rows,
//! each once. Handoffs are not in the map; `prefer` takes their place.
//!
//! The other formats (0: pickled; 2: since 2.36) are refused. So are rings with a row that is not
//! complete, which exist while the number of replicas changes.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use serde::Deserialize;

use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::hash::{Affixes, Function, Hash, AFFIX_MAX};
use crate::name::check_node_name;
use crate::ring::choices::{Choice, Choices, Values};
use crate::ring::compile::{Table, POINTS_MAX};
use crate::ring::draw::{Member, Ring};
use crate::ring::kind::Kind;
use crate::ring::servers::{wrong, Servers};
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "swift",
    about: "the part rings of OpenStack Swift: account, container or object",
    servers: "the .ring.gz file itself, of format 1",
    choices: &[
        Choice {
            name: "prefix",
            values: Values::Text,
            about: "swift_hash_path_prefix of swift.conf",
        },
        Choice {
            name: "suffix",
            values: Values::Text,
            about: "swift_hash_path_suffix of swift.conf",
        },
    ],
    draw,
    list: None,
    variants: &[],
};

/// The largest size of the JSON text in bytes: 65,536 devices, with room for their `meta`.
const TEXT_MAX: u32 = 1 << 26;
/// The largest number of device ids in all rows together, so that a small file cannot decompress
/// without bound: 2^22 partitions of 16 replicas, or 2^24 of 4.
const ENTRIES_MAX: u64 = 1 << 26;
/// The id that stands for no device.
const NO_DEVICE: u16 = u16::MAX;

/// The fields of the JSON text.
#[derive(Deserialize)]
struct Head {
    devs: Vec<Option<Device>>,
    part_shift: u32,
    replica_count: u64,
    #[serde(default)]
    byteorder: Option<String>,
}

#[derive(Deserialize)]
struct Device {
    region: Option<u64>,
    zone: u64,
    ip: String,
    port: u64,
    device: String,
    weight: f64,
    #[serde(default)]
    meta: Option<String>,
    #[serde(default)]
    replication_ip: Option<String>,
    #[serde(default)]
    replication_port: Option<u64>,
}

fn draw(servers: &Servers<'_>, choices: &Choices) -> Result<Ring> {
    let refuse = |problem: String| wrong(servers.file, 1, problem);
    let mut file = Contents {
        file: servers.file,
        from: MultiGzDecoder::new(servers.bytes),
    };
    let [a, b, c, d, high, low] = file.array()?;
    if [a, b, c, d] != *b"R1NG" {
        return Err(refuse(
            "this is no ring of Swift: it does not start with R1NG; rings of format \
            0 are too old to be read"
                .to_owned(),
        ));
    }
    let version = u16::from_be_bytes([high, low]);
    if version != 1 {
        let way =
            "have it written once more: swift-ring-builder BUILDER write_ring --format-version 1";
        return Err(refuse(format!(
            "the ring has format {version}, and stead reads format 1; {way}"
        )));
    }
    let length = u32::from_be_bytes(file.array()?);
    if length > TEXT_MAX {
        return Err(refuse(format!(
            "its text of {length} bytes is longer than {TEXT_MAX}"
        )));
    }
    let text = file.bytes(length.into())?;
    let head: Head = serde_json::from_slice(&text)
        .map_err(|error| refuse(format!("its text is not what Swift writes: {error}")))?;
    let power = 32u32
        .checked_sub(head.part_shift)
        .filter(|power| 1u128 << power <= POINTS_MAX);
    let Some(power) = power else {
        return Err(refuse(format!(
            "part_shift {} is outside of 8 to 32",
            head.part_shift
        )));
    };
    let parts = 1u64 << power;
    if !(1..=255).contains(&head.replica_count) || parts * head.replica_count > ENTRIES_MAX {
        return Err(refuse(format!(
            "{} replicas of {parts} partitions: outside of 1 to 255, or more \
            than {ENTRIES_MAX} in all",
            head.replica_count
        )));
    }
    let number = match head.byteorder.as_deref() {
        None | Some("little") => u16::from_le_bytes,
        Some("big") => u16::from_be_bytes,
        Some(other) => {
            return Err(refuse(format!(
                "the byte order `{other}` is neither little nor big"
            )))
        }
    };
    let rows: Vec<Vec<u8>> = (0..head.replica_count)
        .map(|_| file.bytes(2 * parts))
        .collect::<Result<_>>()?;
    file.end()?;

    let (members, numbers) = members(servers.file, &head.devs)?;
    let mut table = Table::with_capacity(parts as usize);
    for part in 0..parts as usize {
        let mut holders: Vec<u32> = Vec::with_capacity(rows.len());
        for row in &rows {
            let id = row
                .get(2 * part..2 * part + 2)
                .and_then(|two| two.try_into().ok())
                .map_or(NO_DEVICE, number);
            let Some(Some(member)) = numbers.get(usize::from(id)) else {
                return Err(refuse(format!(
                    "partition {part} names device {id}, which is not in the ring; rebalance it"
                )));
            };
            if !holders.contains(member) {
                holders.push(*member);
            }
        }
        table.push((part as u128, holders));
    }
    let affix = |name: &'static str| {
        let text = choices.text(name).as_bytes().to_vec();
        match text.len() > AFFIX_MAX {
            true => Err(Error::Invalid {
                problem: format!("{name}=...: the {name} is longer than {AFFIX_MAX} bytes"),
            }),
            false => Ok(text),
        }
    };
    let affixes = Affixes {
        prefix: affix("prefix")?,
        suffix: affix("suffix")?,
    };
    let cells = Cells::from_stored(parts);
    Ok(Ring {
        hash: Hash::of(Function::Md5, false, affixes),
        cells,
        replicas: rows.len() as u32,
        members,
        table,
    })
}

/// The devices as nodes, and the node of each device id.
fn members(file: &str, devices: &[Option<Device>]) -> Result<(Vec<Member>, Vec<Option<u32>>)> {
    let refuse = |problem: String| wrong(file, 1, problem);
    let heaviest = devices
        .iter()
        .flatten()
        .map(|device| device.weight)
        .fold(0.0, f64::max);
    // Swift's weights have no upper bound; only their ratios count
    let mut divisor = 1.0;
    while heaviest / divisor > 1e6 && heaviest.is_finite() {
        divisor *= 10.0;
    }
    let mut members = Vec::new();
    let mut numbers = Vec::with_capacity(devices.len());
    for (id, device) in devices.iter().enumerate() {
        let Some(device) = device else {
            numbers.push(None);
            continue;
        };
        let host = if device.ip.contains(':') {
            format!("[{}]", device.ip)
        } else {
            device.ip.clone()
        };
        let name = format!("{host}:{}/{}", device.port, device.device);
        check_node_name(&name)
            .map_err(|why| refuse(format!("the name `{name}` of device {id} {why}")))?;
        let weight = Weight::parse(&format!("{:.6}", device.weight / divisor));
        let weight = weight.map_err(|why| {
            refuse(format!(
                "the weight `{}` of device {id} {why}",
                device.weight
            ))
        })?;
        // as Swift reads rings that were made before it had regions
        let region = device.region.unwrap_or(1);
        let labels = [
            ("region", region.to_string()),
            ("zone", device.zone.to_string()),
            ("ip", device.ip.clone()),
        ];
        let mut attributes = vec![
            ("id", id.to_string()),
            ("port", device.port.to_string()),
            ("device", device.device.clone()),
        ];
        attributes.extend(
            device
                .replication_ip
                .clone()
                .map(|ip| ("replication_ip", ip)),
        );
        attributes.extend(
            device
                .replication_port
                .map(|port| ("replication_port", port.to_string())),
        );
        attributes.extend(
            device
                .meta
                .clone()
                .filter(|meta| !meta.is_empty())
                .map(|meta| ("meta", meta)),
        );
        let pairs = |pairs: Vec<(&str, String)>| {
            pairs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<BTreeMap<_, _>>()
        };
        numbers.push(Some(members.len() as u32));
        members.push(Member {
            name,
            weight,
            labels: pairs(labels.into()),
            attributes: pairs(attributes),
        });
    }
    Ok((members, numbers))
}

/// Reads the bytes of a gzip file in pieces.
struct Contents<'a> {
    file: &'a str,
    from: MultiGzDecoder<&'a [u8]>,
}

impl Contents<'_> {
    /// Reads `count` bytes.
    fn bytes(&mut self, count: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new(); // grows with what is there, not with what was asked for
        let read = self.from.by_ref().take(count).read_to_end(&mut bytes);
        read.map_err(|error| {
            wrong(
                self.file,
                1,
                format!("this is no whole file of gzip: {error}"),
            )
        })?;
        if (bytes.len() as u64) < count {
            let why = "while the number of replicas is not a whole one the last row is short: set \
                one, and rebalance";
            return Err(wrong(
                self.file,
                1,
                format!("the ring ends too early; {why}"),
            ));
        }
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.bytes(N as u64)?.try_into().unwrap_or([0; N]))
    }

    /// Checks that nothing is left. Reading past the end makes gzip check its sum.
    fn end(&mut self) -> Result<()> {
        match self.from.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(wrong(
                self.file,
                1,
                "there is more in it after the last row",
            )),
            Err(error) => Err(wrong(
                self.file,
                1,
                format!("this is no whole file of gzip: {error}"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{write::GzEncoder, Compression};
    use md5::{Digest, Md5};
    use std::io::Write;

    const DEVICES: &str = r#"[{"id": 0, "region": 1, "zone": 1, "ip": "10.0.0.1", "port": 6200, "device": "sdb1", "weight": 100.0, "meta": ""},
        null,
        {"id": 2, "region": 1, "zone": 2, "ip": "fe80::2", "port": 6200, "device": "sdb1", "weight": 2500000.5, "meta": "new"},
        {"id": 3, "zone": 2, "ip": "10.0.0.3", "port": 6200, "device": "sdc", "weight": 0}]"#;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// A ring of 2^2 partitions and two replicas, with `more` in its text.
    fn ring(version: u16, more: &str, devices: &str, rows: &[u16], big: bool) -> Vec<u8> {
        let order = if big { "big" } else { "little" };
        let text = format!(
            r#"{{"devs": {devices}, "part_shift": 30, "replica_count": 2, "byteorder": "{order}"{more}}}"#
        );
        let mut bytes = b"R1NG".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend((text.len() as u32).to_be_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(rows.iter().flat_map(|id| {
            if big {
                id.to_be_bytes()
            } else {
                id.to_le_bytes()
            }
        }));
        gzip(&bytes)
    }

    const ROWS: [u16; 8] = [0, 2, 2, 3, 2, 0, 2, 0];

    fn drawn(bytes: &[u8], set: &[&str]) -> Result<Ring> {
        KIND.draw(
            &Servers {
                bytes,
                file: "object.ring.gz",
            },
            set,
        )
    }

    #[test]
    fn a_key_belongs_to_the_devices_of_its_partition() {
        for big in [false, true] {
            let ring = drawn(
                &ring(1, r#", "version": 7"#, DEVICES, &ROWS, big),
                &["prefix=changeme", "suffix=endcap"],
            )
            .unwrap();
            let names: Vec<&str> = ring
                .members
                .iter()
                .map(|member| member.name.as_str())
                .collect();
            assert_eq!(
                names,
                [
                    "10.0.0.1:6200/sdb1",
                    "[fe80::2]:6200/sdb1",
                    "10.0.0.3:6200/sdc"
                ]
            );
            // partition 2 has one device in both rows
            assert_eq!(
                ring.table,
                [
                    (0, vec![0, 1]),
                    (1, vec![1, 0]),
                    (2, vec![1]),
                    (3, vec![2, 0])
                ]
            );
            assert_eq!(
                ring.members[1].labels.get("zone").map(String::as_str),
                Some("2")
            );
            assert_eq!(ring.members[1].weight.to_string(), "250000.05");
            assert_eq!(ring.members[0].weight.to_string(), "10");
            let map = ring.map("objects").unwrap();
            for i in 0..200 {
                let key = format!("/AUTH_test/c/object {i}");
                let digest = Md5::digest(format!("changeme{key}endcap"));
                let part = usize::from(digest[0] >> 6);
                assert_eq!(
                    ring.locate(key.as_bytes()),
                    Some(u32::from([0u8, 1, 1, 2][part])),
                    "{key}"
                );
                assert_eq!(
                    map.node(map.locate(key.as_bytes())).name(),
                    names[[0, 1, 1, 2][part]]
                );
            }
        }
    }

    #[test]
    fn what_is_no_ring_is_refused_and_no_bomb_goes_off() {
        let whole = ring(1, "", DEVICES, &ROWS, false);
        let mut damaged = whole.clone();
        let last = damaged.len() - 6; // its CRC
        damaged[last] ^= 1;
        let bomb = ring(1, "", DEVICES, &[2; 1 << 24], false);
        let claims = |text: &str| {
            let mut bytes = b"R1NG\0\x01".to_vec();
            bytes.extend((text.len() as u32).to_be_bytes());
            bytes.extend(text.as_bytes());
            gzip(&bytes)
        };
        for (bytes, set, problem) in [
            (&b"R1NG"[..], &[][..], "this is no whole file of gzip"),
            (
                &whole[..whole.len() / 2],
                &[],
                "this is no whole file of gzip",
            ),
            (&damaged, &[], "this is no whole file of gzip"),
            (&gzip(b"R1NG"), &[], "the ring ends too early"),
            (&gzip(b"\x80\x02}q\x01(X"), &[], "this is no ring of Swift"),
            (
                &gzip(b"R1NG\0\x01\xff\xff\xff\xff"),
                &[],
                "its text of 4294967295 bytes is longer",
            ),
            (
                &ring(2, "", DEVICES, &ROWS, false),
                &[],
                "the ring has format 2, and stead reads format 1",
            ),
            (
                &ring(1, "", "3", &ROWS, false),
                &[],
                "its text is not what Swift writes",
            ),
            (
                &ring(1, "", DEVICES, &ROWS[..6], false),
                &[],
                "the ring ends too early; while the number of replicas",
            ),
            (
                &ring(1, "", DEVICES, &[0; 9], false),
                &[],
                "there is more in it after the last row",
            ),
            (&bomb, &[], "there is more in it after the last row"),
            (
                &ring(1, "", DEVICES, &[0, 0, 0, 1, 0, 0, 0, 0], false),
                &[],
                "partition 3 names device 1, which is not in the ring",
            ),
            (
                &ring(1, "", DEVICES, &[0, 0, 0, 65535, 0, 0, 0, 0], false),
                &[],
                "partition 3 names device 65535",
            ),
            (
                &ring(1, "", &DEVICES.replace("100.0", "-1"), &ROWS, false),
                &[],
                "the weight `-1` of device 0 has a sign",
            ),
            (
                &ring(1, "", &DEVICES.replace("sdc", "a,b"), &ROWS, false),
                &[],
                "the name `10.0.0.3:6200/a,b` of device 3 has a comma",
            ),
            (
                &claims(r#"{"devs": [], "part_shift": 0, "replica_count": 1}"#),
                &[],
                "part_shift 0 is outside of 8 to 32",
            ),
            (
                &claims(r#"{"devs": [], "part_shift": 33, "replica_count": 1}"#),
                &[],
                "part_shift 33 is outside",
            ),
            (
                &claims(r#"{"devs": [], "part_shift": 8, "replica_count": 200}"#),
                &[],
                "200 replicas of 16777216 partitions",
            ),
            (
                &claims(r#"{"devs": [], "part_shift": 8, "replica_count": 0}"#),
                &[],
                "0 replicas",
            ),
            (
                &claims(r#"{"devs": [], "part_shift": 8, "replica_count": 4}"#),
                &[],
                "the ring ends too early",
            ),
        ] {
            let error = drawn(bytes, set).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("object.ring.gz:1: {problem}")),
                "{error}"
            );
        }
        let long = format!("suffix={}", "x".repeat(256));
        assert!(drawn(&whole, &[&long])
            .unwrap_err()
            .to_string()
            .starts_with("suffix=...: the suffix is longer than 255 bytes"));
        let twice = DEVICES
            .replace("10.0.0.3", "10.0.0.1")
            .replace("sdc", "sdb1");
        let error = drawn(&ring(1, "", &twice, &ROWS, false), &[])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("are both named `10.0.0.1:6200/sdb1`"),
            "{error}"
        );
    }
}
