//! TLS between machines: both sides show a certificate that the one private CA has signed.
//!
//! A process has one identity: its certificate, its key and the CA. It is [installed](install) once
//! and [loaded again](reload) on SIGHUP. An address with `tls:` before it uses that identity, for
//! listeners and for connections alike.
//!
//! ```text
//! words (of errors) -- identity -- secured (a stream)
//! seldom (messages) -----------/
//! ```

mod identity;
mod secured;
mod seldom;
#[cfg(test)]
mod tests;
mod words;

pub use identity::{install, reload, Identity, Paths};
pub use secured::Secured;
pub use seldom::Seldom;

/// The first bytes of what a client of TLS sends.
pub const HELLO: [u8; 2] = [0x16, 3];

/// The first byte of what a server of TLS answers to somebody who does not speak TLS.
pub const ALERT: u8 = 0x15;
