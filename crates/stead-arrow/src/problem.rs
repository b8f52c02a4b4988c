//! What is wrong with a batch of keys.

/// What is wrong with a batch of keys. Each variant has the message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// The batch has a type that keys cannot have.
    Type(String),
    /// The batch has a valid type, but is malformed.
    Invalid(String),
    /// The producer of a stream failed, with this reason.
    Stream(String),
}

/// The problem of structs that break the rules of the interface.
pub(crate) fn malformed(what: &str) -> Problem {
    Problem::Invalid(format!(
        "the Arrow keys are malformed: the stream or array {what}"
    ))
}
