//! Files that an UPDATE names and that are not there: how the router makes them.
//!
//! Some clients never send CREATE: collectd makes files on its own disk, or leaves it to somebody
//! else. rrdcached refuses their updates then. A file of templates says what such files shall be:
//!
//! ```toml
//! [[create]]                              # the first rule that fits is taken
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
//! A rule with `types-db` fits a name `HOST/PLUGIN/TYPE.rrd` or `HOST/PLUGIN/TYPE-INSTANCE.rrd`
//! whose type that file knows; so a second rule can name the types.db of one's own. `heartbeat` and
//! `rra` may stand there too, when collectd has been told other ones.

mod collectd;
mod definitions;
mod templates;
#[cfg(test)]
mod tests;

pub use templates::Templates;
