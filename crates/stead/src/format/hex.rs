//! Hex digits, as every message and report shows a digest.

/// Returns bytes as lower-case hex digits: `hex(&map.digest())` is the digest that `stead show`
/// prints, and `hex(&map.map_id())` the map id.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(hex(&[0, 0x0a, 0xff]), "000aff");
        assert_eq!(hex(&[]), "");
    }
}
