//! Axes: round steps, lines behind the picture, and their labels.

use crate::canvas::{Anchor, Box, Canvas};

/// Returns a round step (1, 2 or 5 times a power of ten) that divides `most` into at most `parts`.
pub(crate) fn step(most: f64, parts: usize) -> f64 {
    if most.is_nan() || most <= 0.0 {
        return 1.0;
    }
    let least = most / parts.max(1) as f64;
    let mut power = 1.0;
    while power * 10.0 <= least {
        power *= 10.0;
    }
    while power > least {
        power /= 10.0;
    }
    let rounds = [1.0, 2.0, 5.0, 10.0].map(|round| round * power);
    // a step that is too small by rounding alone is taken
    let enough = |round: &&f64| **round >= least * (1.0 - 1e-9);
    rounds.iter().find(enough).copied().unwrap_or(10.0 * power)
}

/// A scale along the height of a rectangle: from 0 to `most`, or logarithmic from `least`.
pub(crate) struct Scale {
    pub of: Box,
    pub most: f64,
    /// the smallest value of a logarithmic scale
    pub least: Option<f64>,
}

impl Scale {
    /// Returns a scale for values up to `highest`, where 1 is what they should be. It is
    /// logarithmic if the values are so far apart that 1 could not be seen.
    pub fn of(of: Box, highest: f64) -> Scale {
        let apart = highest > 20.0;
        Scale {
            of,
            most: highest * if apart { 2.0 } else { 1.15 },
            least: apart.then_some(0.01),
        }
    }

    /// Returns the height at which a value stands.
    pub fn y(&self, value: f64) -> f64 {
        let part = match self.least {
            Some(least) if value > least => (value / least).ln() / (self.most / least).ln(),
            Some(_) => 0.0,
            None => value / self.most,
        };
        self.of.y + self.of.height * (1.0 - part.clamp(0.0, 1.0))
    }

    /// Draws a line and a label for each round value.
    pub fn draw(&self, canvas: &mut Canvas, label: impl Fn(f64) -> String) {
        let mut values = Vec::new();
        match self.least {
            Some(least) => {
                let mut value = least;
                while value <= self.most {
                    values.push(value);
                    value *= 10.0;
                }
            }
            None => {
                let by = step(self.most, 5);
                let lines = (self.most / by * (1.0 + 1e-9)).floor() as usize;
                values.extend((0..=lines).map(|number| number as f64 * by));
            }
        }
        for (number, value) in values.into_iter().enumerate() {
            let y = self.y(value);
            let right = self.of.x + self.of.width;
            let class = if number == 0 { "sp-axis" } else { "sp-grid" };
            canvas.stroke((self.of.x, y), (right, y), class, 1.0);
            let label = label(value);
            canvas.text(self.of.x - 8.0, y + 4.0, Anchor::End, "sp-q sp-s", &label);
        }
    }
}

/// Half of `75 %`, all of `100 %` and a gap must fit into a quarter of this width.
const FOR_QUARTERS: f64 = 224.0;

/// Writes the parts of the hash space below a rectangle that stands for it.
pub(crate) fn space(canvas: &mut Canvas, of: Box) {
    let y = of.y + of.height;
    for quarter in 0..=4u32 {
        let x = of.x + of.width * f64::from(quarter) / 4.0;
        canvas.stroke((x, y), (x, y + 4.0), "sp-axis", 1.0);
        if quarter % 2 == 1 && of.width < FOR_QUARTERS {
            continue;
        }
        let anchor = match quarter {
            0 => Anchor::Start,
            4 => Anchor::End,
            _ => Anchor::Middle,
        };
        canvas.text(
            x,
            y + 16.0,
            anchor,
            "sp-q sp-s",
            &format!("{} %", quarter * 25),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(step(100.0, 5), 20.0);
        assert_eq!(step(1.3, 5), 0.5);
        assert_eq!(step(35_651.0, 5), 10_000.0);
        assert_eq!(step(0.0, 5), 1.0);
        assert_eq!(step(f64::NAN, 5), 1.0);
        assert_eq!(step(5.0, 5), 1.0);
    }
}
