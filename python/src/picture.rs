//! Pictures: `plot` of the classes `Map` and `Plan`.

use pyo3::prelude::*;
use pyo3::types::PyInt;

use stead_plot::{Kind, Options, Row, Theme};

use crate::argument::{text, wrong};
use crate::error::{invalid, whole, Raise};
use crate::key;
use crate::map::Map;
use crate::plan::Plan;

/// The kinds that a map can be drawn as.
const OF_MAP: [Kind; 4] = [Kind::Bands, Kind::Ring, Kind::Shares, Kind::Domains];
/// The kinds that a plan can be drawn as.
const OF_PLAN: [Kind; 3] = [Kind::Moves, Kind::Bands, Kind::Shares];

/// What the caller chooses about the looks of a picture.
struct Looks<'a, 'py> {
    theme: Option<&'a Bound<'py, PyAny>>,
    width: Option<&'a Bound<'py, PyAny>>,
    title: Option<&'a Bound<'py, PyAny>>,
}

impl Looks<'_, '_> {
    /// Returns the options of a picture of these maps. Their digests make ids that no other picture
    /// in a notebook has.
    fn options(&self, py: Python<'_>, kind: Kind, maps: &[&stead::Map]) -> PyResult<Options> {
        let theme = match self.theme {
            None => Theme::Auto,
            Some(theme) => match text("theme", theme, "; write \"auto\", \"light\" or \"dark\"")? {
                "auto" => Theme::Auto,
                "light" => Theme::Light,
                "dark" => Theme::Dark,
                other => {
                    let problem =
                        format!("theme {other:?} is none of \"auto\", \"light\", \"dark\"");
                    return Err(invalid(py, problem));
                }
            },
        };
        let width = match self.width {
            None => Options::default().width,
            Some(width) if width.is_instance_of::<PyInt>() => {
                let range = "a number of pixels from 320 to 4000";
                let pixels: u32 = whole("width", range, width)?;
                if !(Options::NARROWEST..=Options::WIDEST).contains(&pixels) {
                    return Err(invalid(py, format!("width is not {range}")));
                }
                pixels
            }
            Some(width) => return Err(wrong("width", "an int", width, "")),
        };
        let title = self.title.map(|title| text("title", title, ""));
        let mut id = format!("stead-{}", kind.name());
        for map in maps {
            let [a, b, c, d, ..] = map.digest();
            id += &format!("-{a:02x}{b:02x}{c:02x}{d:02x}");
        }
        Ok(Options {
            width,
            theme,
            title: title.transpose()?.map(str::to_owned),
            id,
            nodes: Vec::new(),
        })
    }
}

/// Returns the kind of this name, if it is one of `kinds`.
fn kind_of(kind: Option<&Bound<'_, PyAny>>, kinds: &[Kind]) -> PyResult<Kind> {
    let Some(kind) = kind else {
        return Ok(kinds[0]);
    };
    let names: Vec<String> = kinds
        .iter()
        .map(|kind| format!("{:?}", kind.name()))
        .collect();
    let names = names.join(", ");
    let name = text("kind", kind, &format!("; write one of {names}"))?;
    Kind::named(name)
        .filter(|kind| kinds.contains(kind))
        .ok_or_else(|| invalid(kind.py(), format!("kind {name:?} is none of {names}")))
}

#[pymethods]
impl Map {
    /// Returns a picture of the map as SVG, a str that stands alone in a file or in a page.
    ///
    /// kind: "bands" shows who has which part of the hash space, and is the default; "ring" shows
    /// the same as a circle, with keys on it; "shares" compares what nodes have with what their
    /// weights ask for; "domains" shows the fault domains. keys: an iterable of keys, which a ring
    /// shows by their numbers. theme: "light", "dark", or "auto", the default, which is dark where
    /// the reader prefers that. width: in pixels, 960 by default. title: a str instead of the usual
    /// title.
    ///
    /// The same map gives the same bytes. docs/figures.md shows the kinds.
    ///
    /// >>> members.plot("ring", keys=["frank"]).startswith("<svg ")
    /// True
    #[pyo3(signature = (kind=None, *, keys=None, theme=None, width=None, title=None))]
    fn plot(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyAny>>,
        keys: Option<&Bound<'_, PyAny>>,
        theme: Option<&Bound<'_, PyAny>>,
        width: Option<&Bound<'_, PyAny>>,
        title: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let kind = kind_of(kind, &OF_MAP)?;
        let looks = Looks {
            theme,
            width,
            title,
        };
        let options = looks.options(py, kind, &[&self.map])?;
        let mut found: Vec<Vec<u8>> = Vec::new();
        if let Some(keys) = keys {
            if kind != Kind::Ring {
                let problem = "only a ring shows keys; write kind=\"ring\"";
                return Err(invalid(py, problem.to_owned()));
            }
            for key in keys.try_iter()? {
                found.push(key::bytes(&key?)?.to_vec());
            }
        }
        let map = &self.map;
        Ok(py.detach(|| match kind {
            Kind::Ring => {
                let keys: Vec<&[u8]> = found.iter().map(Vec::as_slice).collect();
                stead_plot::ring(map, &keys, &options)
            }
            Kind::Shares => stead_plot::shares(map, None, &options),
            Kind::Domains => stead_plot::domains(map, &options),
            _ => stead_plot::bands(&[Row::of_epoch(map)], &options),
        }))
    }
}

#[pymethods]
impl Plan {
    /// Returns a picture of the plan as SVG, a str that stands alone in a file or in a page.
    ///
    /// kind: "moves" shows what goes from which node to which, and is the default; "bands" shows
    /// who has which part of the hash space before and after; "shares" compares the shares before
    /// and after. theme, width and title are those of Map.plot.
    ///
    /// >>> "moves 33.3 %" in stead.Plan.between(members, grown).plot("bands")
    /// True
    #[pyo3(signature = (kind=None, *, theme=None, width=None, title=None))]
    fn plot(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyAny>>,
        theme: Option<&Bound<'_, PyAny>>,
        width: Option<&Bound<'_, PyAny>>,
        title: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let kind = kind_of(kind, &OF_PLAN)?;
        let (old, new) = self.maps();
        let looks = Looks {
            theme,
            width,
            title,
        };
        let options = looks.options(py, kind, &[old, new])?;
        let drawn = py.detach(|| match kind {
            Kind::Bands => Ok(stead_plot::bands(
                &[Row::of_epoch(old), Row::of_epoch(new)],
                &options,
            )),
            Kind::Shares => Ok(stead_plot::shares(new, Some(old), &options)),
            _ => stead_plot::moves(old, new, &options),
        });
        drawn.raise(py)
    }
}
