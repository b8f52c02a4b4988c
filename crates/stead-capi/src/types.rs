//! What the header declares: handles, records and numbers. Their layout is kept for ever
//! (tests/abi).

use std::sync::Arc;

use stead_core::{Map, Plan, Status};

/// A map: immutable, verified, safe to ask from any number of threads. Made by stead_map_open and
/// its like, ended by stead_map_free.
pub struct stead_map {
    /// Never made: a pointer to one is an `Arc<Map>`'s.
    _opaque: (),
}

/// What differs between two maps. Made by stead_plan_between, ended by stead_plan_free. It keeps
/// both maps by itself.
pub struct stead_plan {
    pub(crate) plan: Plan,
    pub(crate) old: Arc<Map>,
    pub(crate) new: Arc<Map>,
}

/// What a function returns: STEAD_OK, or what went wrong. The numbers never change and are the same
/// in every language. 14 was never returned, and is not used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub enum stead_status {
    /// Done.
    STEAD_OK = 0,
    /// An argument is wrong: NULL, out of range, not of this map.
    STEAD_INVALID = 1,
    /// The fleet has a mistake; the message begins with FILE:LINE.
    STEAD_FLEET = 2,
    /// The fleet is well written and cannot be met.
    STEAD_IMPOSSIBLE = 3,
    /// The file is not a map, or its structure is damaged.
    STEAD_FORMAT = 4,
    /// The file is a map whose digest does not fit its bytes.
    STEAD_DIGEST = 5,
    /// The map needs a newer stead.
    STEAD_VERSION = 6,
    /// The map belongs to another cluster, or has another hash.
    STEAD_IDENTITY = 7,
    /// A file is missing.
    STEAD_NOT_FOUND = 8,
    /// The operating system refused to read or write.
    STEAD_IO = 9,
    /// Somebody else changed the map meanwhile; nothing was changed here.
    STEAD_CONFLICT = 10,
    /// The new map is in place, but may not survive a power cut: do not publish again, sync the
    /// disk.
    STEAD_UNCERTAIN = 11,
    /// A file was overwritten in place while it was open; open maps keep their answers, but for
    /// mapped ones (see FILES).
    STEAD_CHANGED = 12,
    /// A key has no path: its file name would be too long.
    STEAD_NAME = 13,
    /// A fault in stead itself: please report it.
    STEAD_INTERNAL = 15,
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
        }
    }
}

/// What went wrong. It is yours: put one on the stack and hand its address to as many calls as you
/// like.
#[repr(C)]
pub struct stead_error {
    /// A number of stead_status; STEAD_OK after a call that did what it should.
    pub status: i32,
    /// What the operating system said (errno), or 0.
    pub os_errno: i32,
    /// One line that says what is wrong, where, and what to do: UTF-8, ends in NUL, cut when it is
    /// longer. No secrets.
    pub message: [std::ffi::c_char; 248],
}

/// How stead_map_open opens; add them up.
#[repr(C)]
pub enum stead_open_flags {
    /// A file up to 1 MiB is read into memory; a larger one is mapped, and its memory shared with
    /// all who have it open.
    STEAD_OPEN_SHARED = 0,
    /// Read the file into memory whatever its size, so that nobody who truncates it in place can
    /// end this process.
    STEAD_OPEN_COPY = 1,
}

/// The hashes of keys, for stead_point.
#[repr(C)]
pub enum stead_hash {
    /// The first 8 bytes of MD5, big-endian: what a map has unless its fleet says otherwise.
    STEAD_MD5 = 1,
    /// The first 8 bytes of SHA-1, big-endian.
    STEAD_SHA1 = 2,
    /// XXH3, 64 bits, seed 0.
    STEAD_XXH3 = 3,
    /// SipHash-2-4 under a secret of 16 bytes.
    STEAD_SIPHASH = 4,
    /// The first 4 bytes of MD5, little-endian, 32 bits: ketama. From here on the hashes of adopted
    /// rings; docs/placement.md has their rules.
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
    /// The same where char is signed, as on x86.
    STEAD_FNV1_32_SIGNED = 11,
    /// FNV-1a, 32 bits.
    STEAD_FNV1A_32 = 12,
    /// The same where char is signed.
    STEAD_FNV1A_32_SIGNED = 13,
    /// The low 32 bits of FNV-1, 64 bits: libmemcached.
    STEAD_FNV1_64 = 14,
    /// The same where char is signed.
    STEAD_FNV1_64_SIGNED = 15,
    /// The low 32 bits of FNV-1a, 64 bits: libmemcached.
    STEAD_FNV1A_64 = 16,
    /// The same where char is signed.
    STEAD_FNV1A_64_SIGNED = 17,
    /// Jenkins' one-at-a-time, 32 bits: libmemcached.
    STEAD_ONE_AT_A_TIME = 18,
    /// The same where char is signed.
    STEAD_ONE_AT_A_TIME_SIGNED = 19,
    /// FNV-1a, 32 bits, its halves xored to 16: carbon.
    STEAD_FNV1A_FOLD16 = 20,
    /// The first 8 bytes of the SHA-1 that Riak has for the key BUCKET/KEY.
    STEAD_RIAK = 21,
    /// The same for TYPE/BUCKET/KEY.
    STEAD_RIAK_TYPED = 22,
    /// Bernstein's hash * 33 + byte, 64 bits.
    STEAD_DJB2 = 23,
    /// The digits at the start of the key as a number, 64 bits: sharding by `user_id % n`.
    STEAD_DECIMAL = 24,
    /// XXH64, 64 bits, seed 0: Envoy.
    STEAD_XXH64 = 25,
}

/// What happens to the letters of a key before anything else, for stead_path.
#[repr(C)]
pub enum stead_fold {
    /// Nothing.
    STEAD_FOLD_NONE = 0,
    /// A-Z become a-z; all other bytes stay.
    STEAD_FOLD_ASCII = 1,
}

/// Why a range moves.
#[repr(C)]
pub enum stead_cause {
    /// A pin of either map covers it.
    STEAD_CAUSE_PIN = 1,
    /// A named policy got other nodes by hand.
    STEAD_CAUSE_POLICY = 2,
    /// The rest.
    STEAD_CAUSE_REBALANCE = 3,
}

/// Room for what has a limit.
#[repr(C)]
pub enum stead_room {
    /// Bytes that every path of stead_path fits in, with its NUL.
    STEAD_PATH_ROOM = 320,
    /// Bytes of a digest.
    STEAD_DIGEST_ROOM = 32,
}

/// A run of points, and the policy that holds it.
#[repr(C)]
pub struct stead_slice {
    /// The first point.
    pub first: u64,
    /// The last point; it belongs to the slice.
    pub last: u64,
    /// The number of the policy in this map.
    pub policy: i32,
    /// 0.
    pub reserved: i32,
}

/// A run of points of which one copy moves.
#[repr(C)]
pub struct stead_move {
    /// The first point.
    pub first: u64,
    /// The last point; it belongs to the move.
    pub last: u64,
    /// The node that loses the copy, by its number in the old map; -1 when a copy is added.
    pub from: i32,
    /// The node that gets it, by its number in the new map; -1 when a copy is dropped.
    pub to: i32,
    /// A number of stead_cause.
    pub cause: i32,
    /// 0.
    pub reserved: i32,
}
