//! A matrix of what goes from where to where, as lines of text.
//!
//! ```text
//! from \ to, %      db4      db5    total
//! db1              5.00     3.33     8.33
//! db2              5.00        .     5.00
//! total           10.00     3.33    13.33
//! ```
//!
//! On a Unicode terminal each number has a shade before it: the darker, the more.

use crate::picture::Glyphs;

/// The most rows that are shown with their names.
const ROWS: usize = 24;
/// The most characters of a row's name, and of a column's.
const NAMES: [usize; 2] = [15, 12];
/// The name of the row and the column that take what there is no room for.
const OTHERS: &str = "others";
/// The name of the row and the column of sums.
const TOTAL: &str = "total";

/// Draws a matrix: `parts[i][j]` goes from `from[i]` to `to[j]`, and is a part of 1, for instance
/// of all copies. The lines are at most `width` columns wide, if this is 44 or more.
///
/// Rows and columns keep their order. Those that are all 0 are left out. Where there is no room for
/// all of them, the largest are shown, and a row and a column `others` sum up the rest. The last
/// row and the last column are totals.
pub fn matrix(
    glyphs: Glyphs,
    from: &[&str],
    to: &[&str],
    parts: &[Vec<f64>],
    width: usize,
) -> Vec<String> {
    let (rows, mut table) = kept(from, parts, ROWS);
    let mut columns: Vec<String> = to.iter().map(|name| (*name).to_owned()).collect();
    let [cut, cut_short] = NAMES.map(|width| move |name: &String| glyphs.cut(name, width));
    let corner = match glyphs {
        Glyphs::Unicode => "from → to, %",
        Glyphs::Ascii => "from \\ to, %",
    };
    let first = rows.iter().map(|name| cut(name).chars().count());
    let first = first.chain([corner.chars().count()]).max().unwrap_or(0);
    let cell = columns.iter().map(|name| cut_short(name).chars().count());
    // a number has a shade, a gap and 5 characters: `50.00`
    let cell = 2 + cell.chain([7]).max().unwrap_or(7);
    let room = (width.saturating_sub(first) / cell).saturating_sub(1);
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let (shown, turned) = kept(&names, &turn(&table, columns.len()), room.max(1));
    table = turn(&turned, rows.len());
    columns = shown;
    let totals =
        |lines: &[Vec<f64>]| -> Vec<f64> { lines.iter().map(|line| line.iter().sum()).collect() };
    let (of_rows, of_columns) = (totals(&table), totals(&turned));
    let most = table.iter().flatten().copied().fold(0.0, f64::max);

    let mut lines = Vec::new();
    let line = |name: &str, cells: Vec<String>| {
        let space = " ".repeat(first.saturating_sub(name.chars().count()));
        cells.iter().fold(format!("{name}{space}"), |line, text| {
            let space = " ".repeat(cell.saturating_sub(text.chars().count()));
            line + &space + text
        })
    };
    columns.push(TOTAL.to_owned());
    lines.push(line(corner, columns.iter().map(cut_short).collect()));
    for ((name, parts), sum) in rows.iter().zip(&table).zip(&of_rows) {
        let cells = parts.iter().map(|part| number(glyphs, *part, most));
        let sum = number(glyphs, *sum, 0.0);
        lines.push(line(&cut(name), cells.chain([sum]).collect()));
    }
    let all = of_rows.iter().sum();
    let cells = of_columns.iter().chain([&all]);
    lines.push(line(
        TOTAL,
        cells.map(|sum| number(glyphs, *sum, 0.0)).collect(),
    ));
    lines
}

/// Returns the lines of a table that are not all 0, with their names: at most `most` of them, of
/// which the last is then the sum of the smaller ones.
fn kept(names: &[&str], lines: &[Vec<f64>], most: usize) -> (Vec<String>, Vec<Vec<f64>>) {
    let sum = |line: &Vec<f64>| line.iter().sum::<f64>();
    let mut some: Vec<usize> = (0..names.len().min(lines.len()))
        .filter(|i| lines.get(*i).is_some_and(|line| sum(line) > 0.0))
        .collect();
    let mut others = Vec::new();
    if some.len() > most {
        let size = |i: &usize| lines.get(*i).map_or(0.0, sum);
        // a stable sort: of equal lines the first stays
        some.sort_by(|a, b| size(b).total_cmp(&size(a)));
        others = some.split_off(most.saturating_sub(1));
        some.sort_unstable();
    }
    let mut shown: Vec<String> = Vec::new();
    let mut table: Vec<Vec<f64>> = Vec::new();
    for i in some {
        shown.push(names.get(i).copied().unwrap_or("").to_owned());
        table.push(lines.get(i).cloned().unwrap_or_default());
    }
    if !others.is_empty() {
        shown.push(format!("{OTHERS} ({})", others.len()));
        let mut rest: Vec<f64> = Vec::new();
        for line in others.iter().filter_map(|i| lines.get(*i)) {
            rest.resize(rest.len().max(line.len()), 0.0);
            rest.iter_mut()
                .zip(line)
                .for_each(|(sum, part)| *sum += part);
        }
        table.push(rest);
    }
    (shown, table)
}

/// Exchanges rows and columns.
fn turn(table: &[Vec<f64>], columns: usize) -> Vec<Vec<f64>> {
    let column = |j: usize| {
        table
            .iter()
            .map(move |row| row.get(j).copied().unwrap_or(0.0))
    };
    (0..columns).map(|j| column(j).collect()).collect()
}

/// Formats a part in percent, with a shade before it if `most` is above 0.
fn number(glyphs: Glyphs, part: f64, most: f64) -> String {
    let text = match part * 100.0 {
        none if none <= 0.0 => match glyphs {
            Glyphs::Unicode => "·".to_owned(),
            Glyphs::Ascii => ".".to_owned(),
        },
        small if small < 0.005 => "<0.01".to_owned(),
        some => format!("{some:.2}"),
    };
    let shade = match part / most {
        _ if glyphs == Glyphs::Ascii || most <= 0.0 || part <= 0.0 => return text,
        quarter if quarter <= 0.25 => '░',
        half if half <= 0.5 => '▒',
        most if most <= 0.75 => '▓',
        _ => '█',
    };
    format!("{shade} {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_has_totals_and_leaves_out_what_is_empty() {
        let parts = [vec![0.0, 0.05, 0.0333], vec![0.0, 0.05, 0.0], vec![0.0; 3]];
        let lines = matrix(
            Glyphs::Ascii,
            &["db1", "db2", "db3"],
            &["db3", "db4", "db5"],
            &parts,
            80,
        );
        assert_eq!(
            lines,
            [
                "from \\ to, %      db4      db5    total",
                "db1              5.00     3.33     8.33",
                "db2              5.00        .     5.00",
                "total           10.00     3.33    13.33",
            ]
        );
        let lines = matrix(
            Glyphs::Unicode,
            &["db1"],
            &["db4", "db5"],
            &[vec![0.00001, 0.5]],
            80,
        );
        assert_eq!(
            lines,
            [
                "from → to, %      db4      db5    total",
                "db1           ░ <0.01  █ 50.00    50.00",
                "total           <0.01    50.00    50.00",
            ]
        );
        assert_eq!(matrix(Glyphs::Ascii, &[], &[], &[], 80).len(), 2);
    }

    #[test]
    fn what_has_no_room_is_summed_up_and_nothing_is_lost() {
        let names: Vec<String> = (0..60)
            .map(|i| format!("a-long-node-name-{i:02}"))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let parts: Vec<Vec<f64>> = (0..60)
            .map(|i| (0..60).map(|j| f64::from(i + j) / 212_400.0).collect())
            .collect();
        for glyphs in [Glyphs::Ascii, Glyphs::Unicode] {
            for width in [44, 80, 120] {
                let lines = matrix(glyphs, &names, &names, &parts, width);
                assert_eq!(lines.len(), ROWS + 2);
                for line in &lines {
                    assert!(line.chars().count() <= width, "{width}: {line}");
                }
                assert!(lines[0].contains("others ("), "{}", lines[0]);
                assert!(lines[ROWS].starts_with("others (37)"), "{}", lines[ROWS]);
                // i + j sums to 3,600 * 59 = 212,400
                assert!(lines[ROWS + 1].ends_with("100.00"), "{}", lines[ROWS + 1]);
            }
        }
    }
}
