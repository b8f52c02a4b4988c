//! Families of metrics, as the library of the Prometheus project writes them.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

/// Writes families of metrics, one after the other.
pub(super) struct Families<'a>(pub(super) DescriptorEncoder<'a>);

pub(super) type Labels<'l, const N: usize> = [(&'l str, &'l str); N];

impl Families<'_> {
    pub(super) fn begin<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        unit: Option<&'s Unit>,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, help, unit, kind)
    }

    /// A gauge without labels.
    pub(super) fn plain(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        value: impl prometheus_client::encoding::EncodeGaugeValue,
    ) -> fmt::Result {
        let encoder = self.begin(name, help, unit.as_ref(), MetricType::Gauge)?;
        ConstGauge::new(value).encode(encoder)
    }

    /// A gauge with a value for each set of labels.
    pub(super) fn gauge<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        values: impl IntoIterator<Item = (Labels<'l, N>, u64)>,
    ) -> fmt::Result {
        let mut family = self.begin(name, help, unit.as_ref(), MetricType::Gauge)?;
        values.into_iter().try_for_each(|(labels, value)| {
            ConstGauge::new(value).encode(family.encode_family(&labels)?)
        })
    }

    /// A counter without labels; its sample ends in `_total`.
    pub(super) fn plain_counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let encoder = self.begin(name, help, None, MetricType::Counter)?;
        ConstCounter::new(value).encode(encoder)
    }

    /// A counter with a value for each set of labels.
    pub(super) fn counter<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels<'l, N>, u64)>,
    ) -> fmt::Result {
        let mut family = self.begin(name, help, None, MetricType::Counter)?;
        values.into_iter().try_for_each(|(labels, value)| {
            ConstCounter::new(value).encode(family.encode_family(&labels)?)
        })
    }
}
