//! Hashkit: the names that libhashkit gives its hashes of keys. twemproxy has its hashes, and their
//! names, from there.

use crate::hash::{Char, Function};

/// The function of a name of libhashkit. `char`: the value of a kind's choice `char`.
///
/// Despite their names, `fnv1_64` and `fnv1a_64` are hashes of 32 bits, and `crc` (`crc32` in
/// twemproxy) is one of 15 bits. A name that is not here is `one_at_a_time`, libhashkit's default.
pub(crate) fn function(name: &str, char: &str) -> Function {
    let char = if char == "unsigned" {
        Char::Unsigned
    } else {
        Char::Signed
    };
    match name {
        "md5" => Function::Md5Le32,
        "crc" | "crc32" => Function::Crc32Of15,
        "crc32a" => Function::Crc32,
        "fnv1_64" => Function::Fnv1Of64(char),
        "fnv1a_64" => Function::Fnv1aOf64(char),
        "fnv1_32" => Function::Fnv1Of32(char),
        "fnv1a_32" => Function::Fnv1aOf32(char),
        _ => Function::OneAtATime(char),
    }
}
