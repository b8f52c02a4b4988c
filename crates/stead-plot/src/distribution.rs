//! Distributions: how many names each node or bucket has.

use crate::axes::Scale;
use crate::canvas::{rectangle, Anchor, Box, Canvas, MARGIN, SMALL};
use crate::figures::{count, grouped, length, measured};
use crate::letters;
use crate::names::{apart, ending, without_beginning};
use crate::options::Options;

/// The most columns that say their names while the pointer is over them.
const POINTED: usize = 128;

/// The most that a name is wider than its column: the axis has half of that on its left.
const WIDEST: f64 = 116.0;

/// A bucket of a distribution.
#[derive(Clone, PartialEq, Debug)]
pub struct Bucket {
    /// The name.
    pub label: String,
    /// How many names it has.
    pub names: u64,
    /// How many it would have if its share were met exactly.
    pub ideal: f64,
}

/// A distribution of names.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Buckets {
    /// What the picture shows, for its title.
    pub title: String,
    /// What a bucket is, such as `node`.
    pub what: String,
    /// What is to be known about the numbers, as a sentence; empty for nothing.
    pub note: String,
    /// The buckets, from left to right.
    pub buckets: Vec<Bucket>,
}

/// The figures of a distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// The number of names.
    pub names: u64,
    /// The mean of the buckets.
    pub mean: f64,
    /// The population standard deviation of the buckets about their ideal numbers.
    pub deviation: f64,
    /// What independent random placement would give for the deviation.
    pub random: f64,
    /// The names in the fullest bucket.
    pub fullest: u64,
    /// The names in the emptiest bucket.
    pub emptiest: u64,
}

impl Buckets {
    /// Returns the buckets that have a part in the figures: not those that are to have nothing and
    /// have nothing, as drained nodes. Without any name, all of them.
    fn counted(&self) -> impl Iterator<Item = &Bucket> {
        let has_part = |bucket: &Bucket| bucket.names > 0 || bucket.ideal > 0.0;
        let all = !self.buckets.iter().any(has_part);
        self.buckets
            .iter()
            .filter(move |bucket| all || has_part(bucket))
    }

    /// Computes the figures of the buckets that are to have something; all 0 without buckets.
    pub fn spread(&self) -> Spread {
        let names: u64 = self.buckets.iter().map(|bucket| bucket.names).sum();
        let number = self.counted().count().max(1) as f64;
        let off = |bucket: &Bucket| (bucket.names as f64 - bucket.ideal).powi(2);
        let squares: f64 = self.counted().map(off).sum();
        let all = (names as f64).max(1.0);
        // the variance of a binomial distribution
        let chance = |bucket: &Bucket| bucket.ideal * (1.0 - (bucket.ideal / all).min(1.0));
        let random: f64 = self.counted().map(chance).sum();
        let sizes = || self.counted().map(|bucket| bucket.names);
        Spread {
            names,
            mean: names as f64 / number,
            deviation: (squares / number).sqrt(),
            random: (random / number).sqrt(),
            fullest: sizes().max().unwrap_or(0),
            emptiest: sizes().min().unwrap_or(0),
        }
    }
}

/// Draws how many names each bucket has, against the ideal number. If there are more buckets than
/// fit, each column shows the fullest, the mean and the emptiest of its buckets.
pub fn distribution(of: &Buckets, options: &Options) -> String {
    let spread = of.spread();
    let over = |value: f64| {
        if spread.mean > 0.0 {
            value / spread.mean
        } else {
            0.0
        }
    };
    let counted = of.counted().count();
    let without = match of.buckets.len() - counted {
        0 => String::new(),
        1 => format!(", and 1 more {} is to have none", of.what),
        more => format!(
            ", and {} are to have none",
            count(more, &format!("more {}", of.what))
        ),
    };
    let lines = [
        format!(
            "{} in {}{without}: mean {}, deviation {} ({:.4} of the mean).",
            count(spread.names as usize, "name"),
            count(counted, &of.what),
            measured(spread.mean),
            measured(spread.deviation),
            over(spread.deviation)
        ),
        format!(
            "Random placement would have a deviation of {:.4} of the mean. Fullest {}, emptiest {}.{}{}",
            over(spread.random),
            grouped(spread.fullest),
            grouped(spread.emptiest),
            if of.note.is_empty() { "" } else { " " },
            of.note
        ),
    ];
    let mut canvas = Canvas::new(options, of.title.clone(), &lines);
    let x = MARGIN + 58.0;
    let plot = Box {
        x,
        y: canvas.y,
        width: canvas.width() - MARGIN - x,
        height: 280.0,
    };
    let ideals = of.buckets.iter().map(|bucket| bucket.ideal);
    let most = ideals.fold(spread.fullest as f64, f64::max).max(1.0);
    let scale = Scale {
        of: plot,
        most: most * 1.06,
        least: None,
    };
    scale.draw(&mut canvas, |value| grouped(value.round() as u64));
    let columns = columns(plot, of.buckets.len());
    if columns == of.buckets.len() {
        single(&mut canvas, &scale, &of.buckets);
    } else {
        many(&mut canvas, &scale, &of.buckets, columns);
    }
    canvas.y = plot.y + plot.height + 20.0;
    names(&mut canvas, plot, of);
    canvas.finish(&lines.join(" "))
}

/// Returns how many columns stand for the buckets: one for each if that leaves 0.8 of a pixel for
/// it.
fn columns(plot: Box, buckets: usize) -> usize {
    match buckets as f64 * 0.8 <= plot.width {
        true => buckets,
        false => (plot.width / 2.0).floor().max(1.0) as usize,
    }
}

/// Draws a column for each bucket, and its ideal as a line across. Many columns are one shape,
/// since nobody can point at one of them.
fn single(canvas: &mut Canvas, scale: &Scale, buckets: &[Bucket]) {
    let (plot, wide) = (scale.of, scale.of.width / buckets.len() as f64);
    let gap = if wide > 6.0 { 2.0 } else { 0.0 };
    let (mut line, mut all) = (String::new(), String::new());
    for (number, bucket) in buckets.iter().enumerate() {
        let (x, y) = (plot.x + wide * number as f64, scale.y(bucket.names as f64));
        let of = Box {
            x: x + gap / 2.0,
            y,
            width: wide - gap,
            height: plot.y + plot.height - y,
        };
        if buckets.len() > POINTED {
            all += &rectangle(of.x, of.y, of.width, of.height);
        } else {
            let (names, ideal) = (grouped(bucket.names), measured(bucket.ideal));
            let said = format!("{}: {names}, ideal {ideal}", bucket.label);
            canvas.rect(of, "sp-0", &said);
        }
        let (start, ideal) = (
            if number == 0 { "M" } else { "L" },
            length(scale.y(bucket.ideal)),
        );
        // a level line is one piece
        let level = number > 0 && buckets[number - 1].ideal == bucket.ideal;
        let turn = if level {
            String::new()
        } else {
            format!("{start}{} {ideal}", length(x))
        };
        line += &format!("{turn}H{}", length(x + wide));
    }
    if !all.is_empty() {
        canvas.path(&all, "sp-0", "", "");
    }
    canvas.path(&line, "sp-line sp-none", "stroke-width=\"1.5\"", "");
}

/// Draws columns that stand for several buckets each.
fn many(canvas: &mut Canvas, scale: &Scale, buckets: &[Bucket], columns: usize) {
    let (plot, wide) = (scale.of, scale.of.width / columns as f64);
    let (mut range, mut means, mut line) = (String::new(), String::new(), String::new());
    for column in 0..columns {
        let bound = |column: usize| buckets.len() * column / columns;
        let own = &buckets[bound(column)..bound(column + 1)];
        let names = || own.iter().map(|bucket| bucket.names as f64);
        let (least, most) = (
            names().fold(f64::INFINITY, f64::min),
            names().fold(0.0, f64::max),
        );
        let mean = names().sum::<f64>() / own.len() as f64;
        let ideal = own.iter().map(|bucket| bucket.ideal).sum::<f64>() / own.len() as f64;
        let x = plot.x + wide * column as f64;
        let (top, bottom) = (scale.y(most), scale.y(least));
        range += &rectangle(x, top, wide, (bottom - top).max(0.5));
        means += &rectangle(x, scale.y(mean) - 0.75, wide, 1.5);
        let (start, ideal) = (if column == 0 { "M" } else { "L" }, length(scale.y(ideal)));
        line += &format!("{start}{} {ideal}H{}", length(x), length(x + wide));
    }
    canvas.path(
        &range,
        "sp-4",
        "",
        "from the emptiest to the fullest bucket of each column",
    );
    canvas.path(&means, "sp-0", "", "the mean of each column");
    canvas.path(&line, "sp-line sp-none", "stroke-width=\"1\"", "");
}

/// Returns the names as they are written below columns of this width, and the ending that all of
/// them lose. They are shortened so that each column can have its own name, or else so that none
/// is much wider than its column.
fn shortened(buckets: &[Bucket], wide: f64) -> (Vec<String>, &str) {
    let whole: Vec<&str> = buckets.iter().map(|bucket| bucket.label.as_str()).collect();
    let fit = |names: &[&str], room: f64| {
        let mut widths = names.iter().map(|name| letters::width(name, SMALL));
        widths.all(|width| width <= room)
    };
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let room = wide - 6.0;
    if fit(&whole, room) {
        return (owned(&whole), "");
    }
    let end = ending(&whole);
    let bare = whole.iter().map(|name| name.strip_suffix(end));
    let bare: Vec<&str> = bare.map(Option::unwrap_or_default).collect();
    match without_beginning(&bare, SMALL, room) {
        Some(names) => (names, end),
        None if fit(&whole, WIDEST) => (owned(&whole), ""),
        None => (apart(&bare, SMALL, WIDEST), end),
    }
}

/// Writes the names of the buckets below, as many as fit, and what the columns are.
fn names(canvas: &mut Canvas, plot: Box, of: &Buckets) {
    let wide = plot.width / of.buckets.len().max(1) as f64;
    let mut without = "";
    if of.buckets.len() <= 256 {
        let (names, end) = shortened(&of.buckets, wide);
        without = end;
        let widest = names.iter().map(|name| letters::width(name, SMALL));
        let every = ((widest.fold(0.0, f64::max) + 6.0) / wide).ceil().max(1.0) as usize;
        let mut free = 0.0;
        for (number, name) in names.iter().enumerate().step_by(every) {
            let middle = plot.x + wide * (number as f64 + 0.5);
            let half = letters::width(name, SMALL) / 2.0;
            // the last one may have to stand a bit to the left
            let x = middle.min(canvas.width() - 4.0 - half);
            if x - half >= free {
                canvas.text(x, canvas.y - 4.0, Anchor::Middle, "sp-q sp-s", name);
                free = x + half;
            }
        }
        canvas.y += 16.0;
    }
    let columns = columns(plot, of.buckets.len());
    let each = match columns == of.buckets.len() {
        true => format!("A column is a {}.", of.what),
        false => format!(
            "A column stands for {} {}s: the band goes from the emptiest to the fullest, the thick line is their mean.",
            measured(of.buckets.len() as f64 / columns as f64),
            of.what
        ),
    };
    let without = match without {
        "" => String::new(),
        without => format!(" Names are written without {without}."),
    };
    let line = format!("{each} The thin line is the ideal number.{without}");
    canvas.paragraph(plot.x, &line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_that_is_to_have_nothing_has_no_part_in_the_figures() {
        let bucket = |(names, ideal)| Bucket {
            label: String::new(),
            names,
            ideal,
        };
        let of = |buckets: &[(u64, f64)]| Buckets {
            what: "node".to_owned(),
            buckets: buckets.iter().copied().map(bucket).collect(),
            ..Buckets::default()
        };
        let drained = of(&[(1, 2.0), (0, 0.0), (3, 2.0)]);
        assert_eq!(drained.spread(), of(&[(1, 2.0), (3, 2.0)]).spread());
        let svg = distribution(&drained, &Options::default());
        assert!(
            svg.contains("4 names in 2 nodes, and 1 more node is to have none: mean 2.00"),
            "{svg}"
        );
        // one that has names counts, and so do all if there are no names
        let odd = of(&[(1, 2.0), (1, 0.0), (2, 2.0)]).spread();
        assert_eq!((odd.mean, odd.emptiest), (4.0 / 3.0, 1));
        let svg = distribution(&of(&[(0, 0.0), (0, 0.0)]), &Options::default());
        assert!(svg.contains("0 names in 2 nodes: mean 0.00"), "{svg}");
    }

    #[test]
    fn long_names_are_inside_the_picture_and_can_be_told_apart() {
        let drawn = |nodes: usize, end: &str, width: u32| {
            let bucket = |i| Bucket {
                label: format!("storage-node-{i:02}{end}"),
                names: 10,
                ideal: 10.0,
            };
            let of = Buckets {
                what: "node".to_owned(),
                buckets: (0..nodes).map(bucket).collect(),
                ..Buckets::default()
            };
            let options = Options {
                width,
                ..Options::default()
            };
            distribution(&of, &options)
        };
        for (nodes, end, width) in [
            (13, ".frankfurt.example.net", 960),
            (13, ".frankfurt.example.net", 480),
            (60, ".frankfurt.example.net", 480),
            (3, "-with-a-very-long-name-that-does-not-end", 320),
            (1, "-with-a-very-long-name-that-does-not-end", 320),
        ] {
            let svg = drawn(nodes, end, width);
            let mut named = 0;
            for text in svg
                .split("<text x=\"")
                .filter(|text| text.contains("middle"))
            {
                let x: f64 = text.split('"').next().unwrap().parse().unwrap();
                let name = text.split(['>', '<']).nth(1).unwrap();
                let half = letters::width(name, SMALL) / 2.0;
                assert!(x - half >= 0.0 && x + half <= f64::from(width), "{name}");
                named += 1;
            }
            assert!(named >= nodes.min(2), "{svg}");
            assert_eq!(
                svg.contains("written without .frankfurt"),
                nodes > 3,
                "{svg}"
            );
        }
        assert!(drawn(13, ".frankfurt.example.net", 960).contains("…12</text>"));
    }

    #[test]
    fn the_figures_are_those_of_the_buckets() {
        let bucket = |names| Bucket {
            label: String::new(),
            names,
            ideal: 2.0,
        };
        let buckets = Buckets {
            buckets: vec![bucket(1), bucket(3)],
            ..Buckets::default()
        };
        let spread = buckets.spread();
        assert_eq!((spread.names, spread.mean, spread.deviation), (4, 2.0, 1.0));
        assert_eq!(
            (spread.random, spread.fullest, spread.emptiest),
            (1.0, 3, 1)
        );
        assert_eq!(Buckets::default().spread().deviation, 0.0);
    }
}
