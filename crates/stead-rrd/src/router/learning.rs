//! Judges updates by what is known of their files, and learns what is not known.
//!
//! An update passes at once if its file is known and can take it. Otherwise the servers are asked
//! about the file: one that is unknown is learnt, and one that seems to refuse the update is learnt
//! again, since somebody may have changed it. A file that no server tells anything about is not
//! judged: either it does not exist, and its servers say so, or none of them is up.

use super::hub::Router;
use super::shapes::learn;
use crate::known::Doubt;
use crate::writes::Writes;

impl Router {
    /// Returns the updates that rrdtool cannot write, in order, and why. Marks those that could not
    /// be judged because none of their servers is up.
    pub async fn refused(&self, writes: &mut Writes) -> Vec<(usize, Vec<u8>)> {
        let known = &self.shared().known;
        let doubts = known.doubts(writes);
        if doubts.is_empty() {
            return Vec::new();
        }
        let names = doubts.iter().map(|(line, _)| writes.name(*line).to_vec());
        learn(names.collect(), self.shared(), &self.backends).await;
        for (line, doubt) in &doubts {
            let name = writes.name(*line);
            if *doubt == Doubt::Unknown && known.knows(name) {
                self.ahead.beside(name, self.shared(), &self.backends);
            }
        }
        let mut refused = Vec::new();
        for (line, doubt) in known.doubts(writes) {
            match doubt {
                Doubt::Unknown if self.somebody_is_up(writes.name(line)) => {}
                Doubt::Unknown => writes.mark_unjudged(line),
                Doubt::Refused(why) => {
                    let directory = self.base().directory();
                    let text = [directory, b"/", writes.name(line), b": ", why.as_bytes()];
                    refused.push((line, text.concat()));
                }
            }
        }
        refused
    }
}
