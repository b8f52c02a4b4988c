//! Circles: the sets of files that use each other, directly or indirectly, found by Tarjan's
//! algorithm for strongly connected components.

use std::collections::BTreeMap;

/// The circles of a graph whose edges lead from the keys to the values, each sorted.
pub fn circles(edges: &BTreeMap<usize, Vec<usize>>) -> Vec<Vec<usize>> {
    let mut search = Search {
        edges,
        seen: BTreeMap::new(),
        path: Vec::new(),
        found: Vec::new(),
    };
    for start in edges.keys() {
        search.visit(*start);
    }
    search.found.sort();
    search.found
}

struct Search<'a> {
    edges: &'a BTreeMap<usize, Vec<usize>>,
    /// The number of each file in the order of visits; `None` once its circle is known.
    seen: BTreeMap<usize, Option<usize>>,
    path: Vec<usize>,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    /// Visits a file; returns the number of the earliest file on the path that it can reach.
    fn visit(&mut self, file: usize) -> Option<usize> {
        if let Some(seen) = self.seen.get(&file) {
            return *seen;
        }
        let mine = self.seen.len();
        self.seen.insert(file, Some(mine));
        self.path.push(file);
        let mut earliest = mine;
        for next in self.edges.get(&file).into_iter().flatten() {
            earliest = self.visit(*next).map_or(earliest, |e| e.min(earliest));
        }
        if earliest == mine {
            let start = self.path.iter().position(|f| *f == file).unwrap_or(0);
            let mut circle = self.path.split_off(start);
            for file in &circle {
                self.seen.insert(*file, None);
            }
            if circle.len() > 1 {
                circle.sort_unstable();
                self.found.push(circle);
            }
            return None;
        }
        Some(earliest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(edges: &[(usize, &[usize])]) -> Vec<Vec<usize>> {
        circles(&edges.iter().map(|(f, to)| (*f, to.to_vec())).collect())
    }

    #[test]
    fn files_in_circles_are_found_and_no_others() {
        assert_eq!(found(&[(1, &[2]), (2, &[3]), (3, &[])]), [[0; 0]; 0]);
        assert_eq!(found(&[(1, &[2, 3]), (2, &[3])]), [[0; 0]; 0]);
        assert_eq!(found(&[(1, &[2]), (2, &[1])]), [[1, 2]]);
        // a circle of three files, an edge into it, an edge out of it, and a second circle beyond
        let edges: [(usize, &[usize]); 6] = [
            (0, &[1]),
            (1, &[2]),
            (2, &[3]),
            (3, &[1, 4]),
            (4, &[5]),
            (5, &[4]),
        ];
        assert_eq!(found(&edges), [vec![1, 2, 3], vec![4, 5]]);
        // two circles that share a file count as one
        assert_eq!(found(&[(1, &[2]), (2, &[1, 3]), (3, &[2])]), [[1, 2, 3]]);
    }
}
