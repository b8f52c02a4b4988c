//! The handles, records and numbers that the header declares. Their layout never changes: tests/abi
//! holds it.

use std::sync::Arc;

use stead_core::point::Share;
use stead_core::{Map, Pair, Plan, Status};

/// A map: immutable and verified. Any number of threads may use it at once. The functions with an
/// argument `map` of type stead_map ** give one, and stead_map_share returns one; stead_map_free
/// frees it.
pub struct stead_map {
    /// No value of this type exists: a pointer to it comes from `Arc<Map>`.
    _opaque: (),
}

/// The difference between two maps, as a list of moves. stead_plan_between makes it and
/// stead_plan_free frees it. It keeps both maps alive: you may free your handles of them first.
pub struct stead_plan {
    pub(crate) plan: Plan,
    pub(crate) old: Arc<Map>,
    pub(crate) new: Arc<Map>,
}

/// A map, and the map where its data was while a carry is open: it says where to read and to write.
/// stead_pair_open makes it and stead_pair_free frees it. It never changes. Any number of threads
/// may use it at once.
pub struct stead_pair {
    pub(crate) pair: Pair,
}

/// The status that a function returns: STEAD_OK, or the kind of failure. A number never changes,
/// and means the same in every language. 14 was never returned and will not be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub enum stead_status {
    /// The call succeeded.
    STEAD_OK = 0,
    /// An argument is wrong: it is NULL, out of range, or unknown to this map.
    STEAD_INVALID = 1,
    /// The fleet has a mistake; the message begins with FILE:LINE.
    STEAD_FLEET = 2,
    /// The fleet is well-formed, but what it asks for is impossible.
    STEAD_IMPOSSIBLE = 3,
    /// The file is not a map, or its structure is damaged.
    STEAD_FORMAT = 4,
    /// The file is a map, but its digest does not match its bytes: it is damaged.
    STEAD_DIGEST = 5,
    /// The map needs a newer stead.
    STEAD_VERSION = 6,
    /// The map belongs to another cluster, uses another hash or key rule, or is not the newest of
    /// its history.
    STEAD_IDENTITY = 7,
    /// A file does not exist.
    STEAD_NOT_FOUND = 8,
    /// The operating system refused to read or write; os_errno has its reason.
    STEAD_IO = 9,
    /// Another process changed the map in the meantime. This call changed nothing.
    STEAD_CONFLICT = 10,
    /// The new map is in place, but may not survive a power cut. Do not publish it again: sync the
    /// disk.
    STEAD_UNCERTAIN = 11,
    /// A file was overwritten in place while it was open. Open maps still give their old answers,
    /// except mapped ones (see FILES).
    STEAD_CHANGED = 12,
    /// The key has no path, because its file name would be too long; or no key has this path.
    STEAD_NAME = 13,
    /// A bug in stead: please report it.
    STEAD_INTERNAL = 15,
    /// The operating system denied permission; os_errno is EACCES or EPERM.
    STEAD_PERMISSION = 16,
    /// There is not enough memory for the call, or it may need more than stead_memory_limit allows.
    STEAD_MEMORY = 17,
    /// The change does harm that a guard forbids, and the guard was not lifted; or a carry is open,
    /// and this is another change. This call changed nothing.
    STEAD_GUARDED = 18,
}

impl From<Status> for stead_status {
    fn from(status: Status) -> stead_status {
        use stead_status::*;
        match status {
            Status::Invalid => STEAD_INVALID,
            Status::Fleet => STEAD_FLEET,
            Status::Impossible => STEAD_IMPOSSIBLE,
            Status::Format => STEAD_FORMAT,
            Status::Digest => STEAD_DIGEST,
            Status::Version => STEAD_VERSION,
            Status::Identity => STEAD_IDENTITY,
            Status::NotFound => STEAD_NOT_FOUND,
            Status::Io => STEAD_IO,
            Status::Conflict => STEAD_CONFLICT,
            Status::Uncertain => STEAD_UNCERTAIN,
            Status::Changed => STEAD_CHANGED,
            Status::Name => STEAD_NAME,
            Status::Internal => STEAD_INTERNAL,
            Status::Permission => STEAD_PERMISSION,
            Status::Memory => STEAD_MEMORY,
            Status::Guarded => STEAD_GUARDED,
        }
    }
}

/// What went wrong. You own the record: put one on the stack and pass its address to as many calls
/// as you like.
#[repr(C)]
pub struct stead_error {
    /// A number of stead_status. It is STEAD_OK after a call that succeeded.
    pub status: i32,
    /// The errno of the operating system, or 0 when the failure did not come from there.
    pub os_errno: i32,
    /// One line that says what is wrong, where, and what to do. It is UTF-8 and ends with NUL. If
    /// it is too long, the path in it loses its middle, but never the reason its end. It never
    /// contains a secret.
    pub message: [std::ffi::c_char; 248],
}

/// Flags of stead_map_open. Combine them with |.
#[repr(C)]
pub enum stead_open_flags {
    /// Read a file of up to 1 MiB into memory. Map a larger one, and share its memory with all
    /// processes that have it open.
    STEAD_OPEN_SHARED = 0,
    /// Read the file into memory whatever its size. Then a program that truncates the file in place
    /// cannot crash this process.
    STEAD_OPEN_COPY = 1,
}

/// The hashes of keys, for stead_point. "N bits" means that the hash has 2^N values.
#[repr(C)]
pub enum stead_hash {
    /// The first 8 bytes of MD5, big-endian. A map uses this hash unless its fleet names another.
    STEAD_MD5 = 1,
    /// The first 8 bytes of SHA-1, big-endian.
    STEAD_SHA1 = 2,
    /// XXH3, 64 bits, seed 0.
    STEAD_XXH3 = 3,
    /// SipHash-2-4 with a secret of 16 bytes.
    STEAD_SIPHASH = 4,
    /// The first 4 bytes of MD5, little-endian, 32 bits: ketama. This hash and all below it are for
    /// adopted rings; docs/placement.md has their rules.
    STEAD_MD5_LE32 = 5,
    /// The first 4 bytes of MD5, big-endian, 32 bits.
    STEAD_MD5_BE32 = 6,
    /// CRC-32, 32 bits.
    STEAD_CRC32 = 7,
    /// Bits 16 to 30 of CRC-32: memcached clients in Perl.
    STEAD_CRC32_15 = 8,
    /// CRC-16/XMODEM of the key or its {tag}, 14 bits: Redis Cluster.
    STEAD_CRC16_TAG = 9,
    /// FNV-1, 32 bits.
    STEAD_FNV1_32 = 10,
    /// FNV-1, 32 bits, with char signed, as on x86.
    STEAD_FNV1_32_SIGNED = 11,
    /// FNV-1a, 32 bits.
    STEAD_FNV1A_32 = 12,
    /// FNV-1a, 32 bits, with char signed.
    STEAD_FNV1A_32_SIGNED = 13,
    /// The low 32 bits of 64-bit FNV-1: libmemcached.
    STEAD_FNV1_64 = 14,
    /// The low 32 bits of 64-bit FNV-1, with char signed.
    STEAD_FNV1_64_SIGNED = 15,
    /// The low 32 bits of 64-bit FNV-1a: libmemcached.
    STEAD_FNV1A_64 = 16,
    /// The low 32 bits of 64-bit FNV-1a, with char signed.
    STEAD_FNV1A_64_SIGNED = 17,
    /// Jenkins' one-at-a-time, 32 bits: libmemcached.
    STEAD_ONE_AT_A_TIME = 18,
    /// Jenkins' one-at-a-time, 32 bits, with char signed.
    STEAD_ONE_AT_A_TIME_SIGNED = 19,
    /// 32-bit FNV-1a, folded to 16 bits by XOR of its halves: carbon.
    STEAD_FNV1A_FOLD16 = 20,
    /// The first 8 bytes of the SHA-1 that Riak computes for the key BUCKET/KEY.
    STEAD_RIAK = 21,
    /// The first 8 bytes of the SHA-1 that Riak computes for the key TYPE/BUCKET/KEY.
    STEAD_RIAK_TYPED = 22,
    /// Bernstein's hash * 33 + byte, 64 bits.
    STEAD_DJB2 = 23,
    /// The digits at the start of the key as a number, 64 bits: for sharding by `user_id % n`.
    STEAD_DECIMAL = 24,
    /// XXH64, 64 bits, seed 0: Envoy.
    STEAD_XXH64 = 25,
}

/// What stead_path does to the letters of a key before anything else.
#[repr(C)]
pub enum stead_fold {
    /// Leave them as they are.
    STEAD_FOLD_NONE = 0,
    /// Turn A-Z into a-z. All other bytes stay.
    STEAD_FOLD_ASCII = 1,
}

/// The states of a carry: which places are read and written. docs/placement.md, "Carry", has more.
#[repr(C)]
pub enum stead_state {
    /// No carry is open.
    STEAD_STATE_NONE = 0,
    /// The old place is read and written.
    STEAD_STATE_OLD = 1,
    /// Both places are written, and the old one is read first.
    STEAD_STATE_BOTH_OLD_FIRST = 2,
    /// Both places are written, and the new one is read first.
    STEAD_STATE_BOTH_NEW_FIRST = 3,
    /// The new place is read and written.
    STEAD_STATE_NEW = 4,
}

/// Why a range of points moves.
#[repr(C)]
pub enum stead_cause {
    /// A pin of the old or of the new map covers the range.
    STEAD_CAUSE_PIN = 1,
    /// Somebody gave other nodes to the named policy that holds the range.
    STEAD_CAUSE_POLICY = 2,
    /// Rebalancing moves it: every other case.
    STEAD_CAUSE_REBALANCE = 3,
}

/// Sizes of buffers.
#[repr(C)]
pub enum stead_room {
    /// The bytes that the longest path of stead_path needs, including its NUL.
    STEAD_PATH_ROOM = 320,
    /// The bytes of the longest name that stead_path_name finds.
    STEAD_NAME_ROOM = 255,
    /// The bytes of a digest.
    STEAD_DIGEST_ROOM = 32,
}

/// A run of points, and the policy that holds them.
#[repr(C)]
pub struct stead_slice {
    /// The first point.
    pub first: u64,
    /// The last point, which is part of the slice.
    pub last: u64,
    /// The number of the policy in this map.
    pub policy: i32,
    /// Always 0.
    pub reserved: i32,
}

/// A run of points, and one copy of them that moves.
#[repr(C)]
pub struct stead_move {
    /// The first point.
    pub first: u64,
    /// The last point, which is part of the move.
    pub last: u64,
    /// The number in the old map of the node that loses the copy; -1 when the copy is new.
    pub from: i32,
    /// The number in the new map of the node that gets the copy; -1 when the copy is dropped.
    pub to: i32,
    /// A number of stead_cause.
    pub cause: i32,
    /// Always 0.
    pub reserved: i32,
}

/// A copy of a key that moves.
#[repr(C)]
pub struct stead_affected {
    /// The position of the key among the keys that were given, from 0.
    pub key: u64,
    /// The number in the old map of the node that loses the copy; -1 when the copy is new.
    pub from: i32,
    /// The number in the new map of the node that gets the copy; -1 when the copy is dropped.
    pub to: i32,
}

/// A number of points, of which there are up to 255 * 2^64: high * 2^64 + low.
#[repr(C)]
pub struct stead_points {
    /// The low 64 bits.
    pub low: u64,
    /// The high 64 bits.
    pub high: u64,
}

impl stead_points {
    pub(crate) fn of(share: Share) -> stead_points {
        stead_points {
            low: share.0 as u64,
            high: (share.0 >> 64) as u64,
        }
    }
}

/// How much a plan moves, in points: a point of which two copies move counts twice. docs/cli.md
/// explains the four.
#[repr(C)]
pub struct stead_amounts {
    /// What rebalancing moves.
    pub moved: stead_points,
    /// The least that any method would have to move for the same shares.
    pub lower_bound: stead_points,
    /// What moves because of pins and named policies.
    pub by_hand: stead_points,
    /// The points whose primary changes although their nodes do not.
    pub reordered: stead_points,
}
