//! What is said when a router or an agent cannot listen.

use std::fmt::Display;
use std::io;

use crate::connection::Address;
use crate::exit::{Failure, IO};

/// Returns the failure to listen at the address of this option.
pub(super) fn cannot_listen(option: &str, address: &Address, error: &io::Error) -> Failure {
    let todo = match (address, error.kind(), error.raw_os_error()) {
        // a socket on which somebody listens was found before the system was asked
        (Address::Unix(_), io::ErrorKind::AddrInUse, Some(_)) => {
            "; a file is there that is no socket: remove it, or give another path"
        }
        (Address::Unix(_), ..) => "",
        (_, io::ErrorKind::AddrInUse, _) => IN_USE,
        _ => "",
    };
    failure(option, address, error, todo)
}

/// The same for an option that takes a host and a port only.
pub(super) fn cannot_listen_at(option: &str, address: &str, error: &io::Error) -> Failure {
    let todo = match error.kind() {
        io::ErrorKind::AddrInUse => IN_USE,
        _ => "",
    };
    failure(option, address, error, todo)
}

const IN_USE: &str = "; another program, or an outgoing connection, has that port: see Ports in \
    docs/rrd-reference.md";

fn failure(option: &str, address: impl Display, error: &io::Error, todo: &str) -> Failure {
    Failure(
        IO,
        format!("cannot listen on {option} {address}: {error}{todo}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_in_use_names_its_option_and_what_to_do() {
        let said = |address: &str, error: io::Error| {
            cannot_listen("--listen", &Address::parse(address).unwrap(), &error).1
        };
        let in_use = || io::Error::from_raw_os_error(rustix::io::Errno::ADDRINUSE.raw_os_error());
        let port = said("127.0.0.1:42217", in_use());
        assert!(
            port.starts_with("cannot listen on --listen 127.0.0.1:42217: Address already in use")
                && port.ends_with(": see Ports in docs/rrd-reference.md"),
            "{port}"
        );
        let metrics = cannot_listen_at("--metrics", "127.0.0.1:42220", &in_use()).1;
        assert!(
            metrics.contains("--metrics 127") && metrics.contains("see Ports"),
            "{metrics}"
        );
        let file = said("unix:/f", in_use());
        assert!(file.contains("remove it"), "{file}");
        let text = "another process listens there";
        let socket = said("unix:/s", io::Error::new(io::ErrorKind::AddrInUse, text));
        assert!(socket.ends_with(text), "{socket}");
        let other = said("h:1", io::ErrorKind::PermissionDenied.into());
        assert!(!other.contains("Ports"), "{other}");
    }
}
