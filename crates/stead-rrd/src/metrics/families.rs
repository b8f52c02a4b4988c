//! Families of metrics, written with the library of the Prometheus project.

use std::fmt;

use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, EncodeMetric, MetricEncoder,
};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

/// Writes families of metrics, one after the other.
pub(super) struct Families<'a>(pub(super) DescriptorEncoder<'a>);

pub(super) type Labels<'l, const N: usize> = [(&'l str, &'l str); N];

impl Families<'_> {
    /// Begins a family. If its name ends in a unit, the family has that unit.
    pub(super) fn begin<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        static UNITS: [(&str, Unit); 2] = [("_seconds", Unit::Seconds), ("_bytes", Unit::Bytes)];
        let (name, unit) = UNITS
            .iter()
            .find_map(|(end, unit)| Some((name.strip_suffix(end)?, Some(unit))))
            .unwrap_or((name, None));
        self.0.encode_descriptor(name, help, unit, kind)
    }

    /// Writes gauges without labels, each with its name, help and value.
    pub(super) fn plain<V: EncodeGaugeValue>(
        &mut self,
        gauges: impl IntoIterator<Item = (&'static str, &'static str, V)>,
    ) -> fmt::Result {
        gauges.into_iter().try_for_each(|(name, help, value)| {
            let encoder = self.begin(name, help, MetricType::Gauge)?;
            ConstGauge::new(value).encode(encoder)
        })
    }

    /// Writes a gauge with a value for each set of labels.
    pub(super) fn gauge<'l, const N: usize, V: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels<'l, N>, V)>,
    ) -> fmt::Result {
        let mut family = self.begin(name, help, MetricType::Gauge)?;
        values.into_iter().try_for_each(|(labels, value)| {
            ConstGauge::new(value).encode(family.encode_family(&labels)?)
        })
    }

    /// Writes a counter without labels. The name of its sample ends in `_total`.
    pub(super) fn plain_counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let encoder = self.begin(name, help, MetricType::Counter)?;
        ConstCounter::new(value).encode(encoder)
    }

    /// Writes a counter with a value for each set of labels.
    pub(super) fn counter<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels<'l, N>, u64)>,
    ) -> fmt::Result {
        let mut family = self.begin(name, help, MetricType::Counter)?;
        values.into_iter().try_for_each(|(labels, value)| {
            ConstCounter::new(value).encode(family.encode_family(&labels)?)
        })
    }
}
