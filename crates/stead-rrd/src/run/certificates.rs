//! The certificates of the command line: loaded at the start, and again when the program is told to
//! look at its files.

use crate::connection::Address;
use crate::exit::{Failure, IO, USAGE};
use crate::line::Tls;
use crate::tls::{self, Identity};

/// Loads the certificates, if they are given. They must be given for an address with `tls:`. Each
/// address comes with its option.
pub(super) fn load<'a>(
    options: &Tls,
    addresses: impl IntoIterator<Item = (&'a str, &'a Address)>,
) -> Result<(), Failure> {
    if let Some(paths) = options.paths() {
        tls::install(Identity::load(&paths).map_err(|line| Failure(IO, line))?);
        return Ok(());
    }
    let needs = |(_, address): &(_, &Address)| matches!(address, Address::Tls(_));
    match addresses.into_iter().find(needs) {
        None => Ok(()),
        Some((option, address)) => {
            let line =
                format!("{option} {address}: it needs --tls-cert, --tls-key and --tls-ca as well");
            Err(Failure(USAGE, line))
        }
    }
}

/// Loads the certificates again, if they are given. Those in use stay if the new ones are wrong.
pub(super) fn reload(options: &Tls) {
    options.paths().iter().for_each(tls::reload);
}
