//! The upper tail of the binomial distribution, for billions of members. It tells how full the
//! fullest of many directories gets.

/// Returns the smallest k with P(Bin(n, p) > k) <= chance.
pub(super) fn fullest(n: u64, p: f64, chance: f64) -> u64 {
    // the tail falls as k grows, and P(Bin > n) = 0. Invariant: tail(high) <= chance, and low is at
    // most the answer
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        if tail(n, p, middle) <= chance {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

/// P(Bin(n, p) > k) for a k at or above the mean. Below the mean, returns 1, which is enough for
/// the binary search.
///
/// Adds the terms from k + 1 on until they no longer count, which takes some standard deviations.
/// Where a standard deviation has many terms, they are added in blocks of 1/256 of a deviation, and
/// the middle term stands for its block. The error is 10^-6 of the sum.
fn tail(n: u64, p: f64, k: u64) -> f64 {
    if k >= n {
        return 0.0;
    }
    let mean = n as f64 * p;
    if p >= 1.0 || (k as f64) < mean {
        return 1.0;
    }
    let half = ((mean * (1.0 - p)).sqrt() / 512.0) as u64; // a block has 2 * half + 1 terms
    let width = 2 * half + 1;
    let (mut sum, mut middle) = (0.0, k.checked_add(half + 1));
    while let Some(j) = middle.filter(|j| *j <= n) {
        let block = width as f64 * binomial(n, p, j);
        if block <= sum * 1e-12 {
            break;
        }
        sum += block;
        middle = j.checked_add(width);
    }
    sum
}

/// P(Bin(n, p) = k) for 0 < k <= n, by the saddle-point method of C. Loader, "Fast and accurate
/// computation of binomial probabilities" (2000). No large numbers are subtracted, so the result is
/// as accurate for a billion members as for three.
fn binomial(n: u64, p: f64, k: u64) -> f64 {
    let (nf, kf) = (n as f64, k as f64);
    if k == n {
        return (nf * p.ln()).exp();
    }
    let rest = (n - k) as f64;
    let exponent = stirling_error(n)
        - stirling_error(k)
        - stirling_error(n - k)
        - deviance(kf, nf * p)
        - deviance(rest, nf * (1.0 - p));
    exponent.exp() * (nf / (std::f64::consts::TAU * kf * rest)).sqrt()
}

/// ln(n!) minus Stirling's formula, for n > 0: the series 1/12n - 1/360n^3 + ... Below 16 the
/// series is too coarse, so ln(n!) is computed directly.
fn stirling_error(n: u64) -> f64 {
    let x = n as f64;
    if n < 16 {
        let factorial: f64 = (1..=n).map(|i| i as f64).product();
        return factorial.ln() - (0.5 * (std::f64::consts::TAU * x).ln() + x * x.ln() - x);
    }
    let square = x * x;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / 1680.0 / square) / square) / square) / x
}

/// x ln(x / mean) + mean - x, without loss of precision where x is near the mean.
fn deviance(x: f64, mean: f64) -> f64 {
    if (x - mean).abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() + mean - x;
    }
    // Loader's series in v = (x - mean) / (x + mean): (x - mean) v + 2x (v^3/3 + v^5/5 + ...)
    let v = (x - mean) / (x + mean);
    let (mut sum, mut power) = ((x - mean) * v, 2.0 * x * v);
    for odd in (3u8..).step_by(2) {
        power *= v * v;
        let next = sum + power / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, share: f64) -> bool {
        (a - b).abs() <= share * b.abs()
    }

    #[test]
    fn probabilities_agree_with_textbook_values() {
        // C(4, k) / 16, and Bin(10, 0.3)
        for (n, p, k, expected) in [
            (4, 0.5, 1, 0.25),
            (4, 0.5, 3, 0.25),
            (4, 0.5, 4, 0.0625),
            (10, 0.3, 5, 0.1029193452),
        ] {
            assert!(
                near(binomial(n, p, k), expected, 1e-13),
                "{n} {p} {k}: {}",
                binomial(n, p, k)
            );
        }
        assert!(near(tail(10, 0.3, 4), 0.1502683326, 1e-9));
        // with blocks: one block has 5 terms; compare with the sum of all terms
        let (n, p, k) = (1 << 24, 0.125, (1 << 21) + 4_000);
        let every: f64 = (k + 1..k + 20_000).map(|j| binomial(n, p, j)).sum();
        assert!(
            near(tail(n, p, k), every, 1e-5),
            "{} {every}",
            tail(n, p, k)
        );
        assert_eq!(
            (tail(10, 0.3, 10), tail(10, 0.3, 1), tail(10, 1.0, 9)),
            (0.0, 1.0, 1.0)
        );
        // P(Bin(2n, 1/2) = n) = 1/sqrt(pi n) (1 - 1/8n + ...), for an n far too large for
        // factorials
        let n = 1u64 << 50;
        assert!(near(
            binomial(2 * n, 0.5, n),
            (std::f64::consts::PI * n as f64).sqrt().recip(),
            1e-12
        ));
        for n in [15, 16] {
            let series = 1.0 / (12.0 * n as f64) - 1.0 / (360.0 * (n as f64).powi(3));
            assert!(near(stirling_error(n), series, 1e-6));
        }
    }
}
