//! Metrics for monitoring: the numbers of a [`Status`](crate::status::Status) over HTTP, in the
//! OpenMetrics text that Prometheus and similar programs read.

mod families;
mod http;
mod numbers;

pub use http::Metrics;
pub use numbers::encode;
