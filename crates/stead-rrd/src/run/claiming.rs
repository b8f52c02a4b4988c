//! The answers on the control socket of a primary that has just started, and waits until no old
//! primary can believe any more that it is the only one.

use std::sync::Arc;

use crate::control::Operable;
use crate::report::Report;
use crate::status::{Exposed, Source, Status};

/// Why such a router serves nobody yet.
const WHY: &str = "it waits until the reads of an old primary have ended, 2 seconds at most once \
    the agents have answered";

/// A primary while it tells the agents its term.
pub(super) struct Claiming(Arc<Report>);

impl Claiming {
    /// Returns the primary with this report.
    pub(super) fn new(report: Arc<Report>) -> Claiming {
        Claiming(report)
    }
}

impl Source for Claiming {
    async fn status(&self) -> Status {
        let mut status = self.0.status(None);
        // it is connected to no backend yet: that none of them is up says nothing
        status.exposed = Exposed::default();
        if let Some(pair) = &mut status.pair {
            pair.serving = false;
            pair.waits = Some(WHY.to_owned());
        }
        status
    }
}

impl Operable for Claiming {
    async fn promote(&self, force: bool) -> Result<String, String> {
        self.0.promote(force).await
    }

    fn start_again(&self) {
        self.0.start_again();
    }

    fn refusal(&self) -> Option<String> {
        Some(format!(
            "this router serves nobody yet: {WHY}; try again then"
        ))
    }
}
