//! How the router makes files that an UPDATE names and that do not exist.
//!
//! Some clients never send CREATE: collectd makes files on its own disk, or leaves that to somebody
//! else, and rrdcached then refuses its updates. A file of templates says how to make such files:
//! ```toml
//! [[create]]                              # the first rule that matches is used
//! match = "*/ping/*.rrd"                  # the name relative to the base; * stays within one part, ** does not
//! step = 60
//! ds = ["DS:value:GAUGE:120:0:U"]
//! rra = ["RRA:AVERAGE:0.5:1:1440", "RRA:MAX:0.5:60:720"]
//!
//! [[create]]                              # files of collectd, as its own plugins make them
//! match = "**"
//! step = 10                               # collectd's Interval
//! types-db = "/usr/share/collectd/types.db"
//! ```
//!
//! A rule with `types-db` matches a name `HOST/PLUGIN/TYPE.rrd` or `HOST/PLUGIN/TYPE-INSTANCE.rrd`
//! whose type is in that file, so a second rule can name a types.db of one's own. Such a rule may
//! also have `heartbeat` and `rra`, for a collectd that is configured with other values.

mod collectd;
mod definitions;
mod templates;
#[cfg(test)]
mod tests;

pub use templates::Templates;
