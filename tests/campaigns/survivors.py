"""The mutants that the tests of `make mutants` cannot notice, each with the reason. A mutant
is known by its file, the change, and its line as it is then: one whose line is edited has to be
explained again.
"""

FORMAT = "crates/stead/src/format/"
REBALANCE = "crates/stead/src/rebalance/"
VERDICT = "crates/stead/src/verdict/"
LOG = "crates/stead-rrd/src/log/"

# (file, change, line): why
SURVIVORS = {
    (
        FORMAT + "records.rs",
        "replace | with ^",
        "GRADUAL | ADOPTED_HASH | TWICE ^ SHORT_PIN | FIRST | CARRYING | TOLERANT;",
    ): "equivalent: each feature is a bit of its own",
    (
        FORMAT + "slice_rules.rs",
        "replace | with ^ in Used::is_unused",
        "flags & (Used::BY_BASE ^ Used::BY_TARGET | Used::BY_HAND | Used::BY_FIRST) == 0",
    ): "equivalent: each user is a bit of its own",
    (
        FORMAT + "slice_rules.rs",
        "replace | with ^ in Used::is_unused",
        "flags & (Used::BY_BASE | Used::BY_TARGET ^ Used::BY_HAND | Used::BY_FIRST) == 0",
    ): "equivalent: each user is a bit of its own",
    (
        FORMAT + "slice_rules.rs",
        "replace | with ^ in Used::is_unused",
        "flags & (Used::BY_BASE | Used::BY_TARGET | Used::BY_HAND ^ Used::BY_FIRST) == 0",
    ): "equivalent: each user is a bit of its own",
    (
        REBALANCE + "gradual.rs",
        "replace < with <= in advance",
        "if step.spent || (took <= step.worth() && !step.exchange()) {",
    ): "an estimate: no rule says what follows a walk that took exactly what it had to",
    (
        REBALANCE + "tolerated.rs",
        "replace - with + in Choice<'_>::lower",
        "let others = self.cells[*holder] - self.primaries[*holder] + of_primaries;",
    ): "equivalent: a tolerance is at most 10 %, so with several replicas a holder always has "
    "more other copies than it may give; with one replica it gives as many of both",
    (
        REBALANCE + "trade.rs",
        "replace < with <= in Trading<'_>::propose_again",
        "let price = if now <= cells && price > 0 {",
    ): "an estimate, which decides what is tried first: for a piece that is as long as before "
    "it is rounded down",
    (
        VERDICT + "answers.rs",
        "replace == with != in Answers::of_drained",
        "if !map.nodes().any(|node| node.weight() != Weight::ZERO) {",
    ): "only speed: a map in which all nodes have a weight has no such node",
    (
        VERDICT + "policies.rs",
        "replace < with <= in under_pin",
        "if has <= policy.members().len() {",
    ): "only speed: where no node is named twice, none is found",
    (
        VERDICT + "shares.rs",
        "replace -= with += in Filling<'a>::freeze",
        "over += 1;",
    ): "equivalent: what is over is what the bound has left, so there is no room for more",
    (
        VERDICT + "shares.rs",
        "replace -= with /= in Filling<'a>::freeze",
        "over /= 1;",
    ): "equivalent, as above",
    (
        VERDICT + "violation.rs",
        "replace > with >= in <impl fmt::Display for Problem>::fmt",
        "let more = has >= target;",
    ): "equivalent: a share that is its target is no violation",
    (
        LOG + "reader.rs",
        "replace + with * in Cursor::bytes",
        "if self.offset * count as u64 > self.start + self.bytes.len() as u64 {",
    ): "only speed: the bytes of every record are read again",
    (
        LOG + "reader.rs",
        "replace <= with > in <impl Iterator for Records<'_>>::next",
        "if let Some(mut cursor) = self.cursor.take().filter(|_| self.next > self.limit) {",
    ): "only speed: the place of the next record is searched again",
}
