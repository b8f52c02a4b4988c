//! What the fleet of a map lets publishing do: its table `[guard]`.

use crate::point::Share;

/// What the fleet that a map was built from lets publishing do. The bytes of a map do not have it,
/// so that they depend on the placement alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Permits {
    /// How much one publish may move, as a part of all copies.
    pub move_limit: Option<Share>,
    /// Whether changes that move copies must be carried, if the fleet says so or not.
    pub carry: Option<bool>,
}
