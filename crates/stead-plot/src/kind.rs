//! The kinds of pictures, by the names that programs and languages give them.

/// A kind of picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Who has which part of the hash space, a row for each map.
    Bands,
    /// The hash space as a circle, with keys on it.
    Ring,
    /// The share of each node, against its target.
    Shares,
    /// How many of a list of names each node or bucket has.
    Distribution,
    /// What goes from which node to which between two epochs.
    Moves,
    /// The fault domains, and how much of the data is in each.
    Domains,
    /// The load of each node by a log of accesses.
    Load,
    /// What a change of the number of buckets moves when a hash is taken modulo that number.
    Modulo,
}

impl Kind {
    /// All kinds, in the order of the manual.
    pub const ALL: [Kind; 8] = [
        Kind::Bands,
        Kind::Ring,
        Kind::Shares,
        Kind::Distribution,
        Kind::Moves,
        Kind::Domains,
        Kind::Load,
        Kind::Modulo,
    ];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bands => "bands",
            Kind::Ring => "ring",
            Kind::Shares => "shares",
            Kind::Distribution => "distribution",
            Kind::Moves => "moves",
            Kind::Domains => "domains",
            Kind::Load => "load",
            Kind::Modulo => "modulo",
        }
    }

    /// Returns the kind of this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name() {
        for kind in Kind::ALL {
            assert_eq!(Kind::named(kind.name()), Some(kind));
        }
        assert_eq!(Kind::named("pie"), None);
    }
}
