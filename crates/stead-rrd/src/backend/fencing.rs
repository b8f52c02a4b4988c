//! Two routers: what could destroy the writes of the other one is not sent before it is certain
//! that this router is still the primary.
//!
//! An UPDATE is sent without that: the standby has it, too, and a server refuses it when it comes
//! again or late.

use std::io;
use std::time::Duration;

use super::server::Backend;

/// How long the agent may take to say whether it knows a higher term.
const PATIENCE: Duration = Duration::from_secs(2);

impl Backend {
    /// Returns when nobody else was the primary a moment ago: the agent beside the server says so,
    /// or the other router. An error means that it is not known.
    pub async fn fenced(&self) -> io::Result<()> {
        if self.shared.options.pair.is_none() {
            return Ok(());
        }
        let asked = match self.files() {
            Some(files) => tokio::time::timeout(PATIENCE, files.claim()).await,
            None => Ok(Ok(false)),
        };
        let error = match asked {
            Ok(Ok(true)) => return Ok(()),
            Ok(Ok(false)) => "it has no agent".to_owned(),
            Ok(Err(error)) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "its agent does not answer".to_owned(),
        };
        match self.shared.is_current() {
            true => Ok(()),
            false => Err(io::Error::new(
                io::ErrorKind::NotConnected,
                format!(
                    "this router cannot find out whether it is still the primary: the other one \
                    is lost, and {error}"
                ),
            )),
        }
    }
}
