//! Envoy: what its two load balancers that hash have in common
//! (`source/extensions/load_balancing_policies/common/thread_aware_lb_impl.cc`).

use super::draw::Member;
use super::servers::{Servers, Whole};
use crate::error::Result;

/// How a list of hosts is written.
pub(crate) const LIST: &str =
    "NAME [WEIGHT] on each line, NAME being what Envoy hashes of a host: ADDRESS:PORT, or its \
    hostname or hash_key; weights are whole numbers";

/// The largest sum of weights that Envoy takes.
const SUM_MAX: u64 = u32::MAX as u64;

/// The hosts of a list as nodes, and their normalized weights: their parts of the sum of weights.
///
/// Errors: a weight of 0, and a sum above 2^32 - 1, both of which Envoy refuses.
pub(crate) fn hosts(file: &Servers<'_>) -> Result<(Vec<Member>, Vec<f64>)> {
    let listed = file.whole_weights()?;
    let sum: u64 = listed.iter().map(|host| host.weight).sum();
    for host in &listed {
        if host.weight == 0 || sum > SUM_MAX {
            return Err(host.line.wrong(match host.weight {
                0 => "the weight is 0, which Envoy refuses".to_owned(),
                _ => format!("the sum of the weights is above {SUM_MAX}, which Envoy refuses"),
            }));
        }
    }
    let members = listed.iter().map(Whole::member).collect::<Result<_>>()?;
    let part = |host: &Whole<'_>| host.weight as f64 / sum as f64;
    Ok((members, listed.iter().map(part).collect()))
}
