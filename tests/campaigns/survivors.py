"""The mutants that the tests of `make mutants` cannot notice, each with the reason. A mutant
is known by its file, the change, and its line as it is then: one whose line is edited has to be
explained again.
"""

FORMAT = "crates/stead/src/format/"
REBALANCE = "crates/stead/src/rebalance/"
STORE = "crates/stead/src/store/"
VERDICT = "crates/stead/src/verdict/"
LOG = "crates/stead-rrd/src/log/"
CAPI = "crates/stead-capi/src/"

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
        FORMAT + "encode.rs",
        "replace | with ^ in features",
        "^ set(ADOPTED_HASH, hash_number(parts) > Hash::SIPHASH)",
    ): "equivalent: each feature is a bit of its own",
    (
        FORMAT + "encode.rs",
        "replace | with ^ in features",
        "^ set(TWICE, policies.enumerate().any(repeats))",
    ): "equivalent: each feature is a bit of its own",
    (
        FORMAT + "encode.rs",
        "replace | with ^ in features",
        "^ set(SHORT_PIN, parts.pins.iter().any(|pin| pin.short))",
    ): "equivalent: each feature is a bit of its own",
    (
        FORMAT + "encode.rs",
        "replace | with ^ in features",
        "^ set(FIRST, !parts.firsts.is_empty())",
    ): "equivalent: each feature is a bit of its own",
    (
        FORMAT + "encode.rs",
        "replace | with ^ in features",
        "^ set(CARRYING, parts.carry.is_some())",
    ): "equivalent: each feature is a bit of its own",
    (
        FORMAT + "encode.rs",
        "replace | with ^ in features",
        "^ set(TOLERANT, parts.tolerance.is_some())",
    ): "equivalent: each feature is a bit of its own",
    (
        FORMAT + "encode.rs",
        "replace | with ^ in hash_number",
        "parts.hash.number() ^ parts.key_rule.stored()",
    ): "equivalent: the number of a hash is below the bits of the key rule",
    (
        FORMAT + "encode.rs",
        "replace | with ^ in File::policies",
        "^ flag(PolicyRecord::WEIGHTED, policy.weight.is_some()),",
    ): "equivalent: each flag is a bit of its own",
    (
        FORMAT + "encode.rs",
        "replace | with ^ in File::pins",
        "flags: flag(PinRecord::BY_KEY, pin.key.is_some()) ^ flag(PinRecord::SHORT, pin.short),",
    ): "equivalent: each flag is a bit of its own",
    (
        FORMAT + "node_rules.rs",
        "replace | with ^ in Check<'_>::policies",
        "let known = PolicyRecord::NAMED ^ PolicyRecord::WEIGHTED;",
    ): "equivalent: each flag is a bit of its own",
    (
        FORMAT + "slice_rules.rs",
        "replace | with ^ in Check<'_>::pins",
        "let known = PinRecord::BY_KEY ^ PinRecord::SHORT;",
    ): "equivalent: each flag is a bit of its own",
    (
        FORMAT + "slice_rules.rs",
        "replace + with * in Check<'_>::final_slices",
        "let most = self.count(BASE_POINTS) * 2 * turned.len();",
    ): "only memory: the room of a list, which grows where it has to",
    (
        FORMAT + "slice_rules.rs",
        "replace * with + in Check<'_>::final_slices",
        "let most = self.count(BASE_POINTS) + 2 + turned.len();",
    ): "only memory: the room of a list, which grows where it has to",
    (
        FORMAT + "slice_rules.rs",
        "replace + with * in Check<'_>::final_slices",
        "let list = memory::empty(bases.len() * 2 * pins.len())?;",
    ): "only memory: the room of a list, which grows where it has to",
    (
        FORMAT + "slice_rules.rs",
        "replace * with + in Check<'_>::final_slices",
        "let list = memory::empty(bases.len() + 2 + pins.len())?;",
    ): "only memory: the room of a list, which grows where it has to",
    (
        FORMAT + "records.rs",
        "replace >> with << in <impl Stored for [u8; N]>::read",
        "let at = at & (usize::MAX << 1);",
    ): "equivalent: records and their fields lie at even offsets",
    (
        FORMAT + "records.rs",
        "replace <impl Stored for u8>::read -> u8 with 0",
        "0",
    ): "never called: bytes are read as slices, and the trait asks for both",
    (
        FORMAT + "records.rs",
        "replace <impl Stored for u8>::read -> u8 with 1",
        "1",
    ): "never called: bytes are read as slices, and the trait asks for both",
    (
        FORMAT + "records.rs",
        "replace <impl Clone for Section<R>>::clone -> Section<R> with Section::new(Default::default())",
        "Section::new(Default::default())",
    ): "never called: what is Copy must be Clone",
    (
        FORMAT + "node_rules.rs",
        "replace + with - in Check<'_>::strings_nodes_policies",
        "strings.next(refs.prefix, place - offset_of!(AffixRefs, prefix))?;",
    ): "never seen: reading the hash has refused these strings before",
    (
        FORMAT + "node_rules.rs",
        "replace + with - in Check<'_>::strings_nodes_policies",
        "strings.next(refs.suffix, place - offset_of!(AffixRefs, suffix))?;",
    ): "never seen: reading the hash has refused these strings before",
    (
        FORMAT + "node_rules.rs",
        "replace + with * in Check<'_>::strings_nodes_policies",
        "strings.next(refs.prefix, place * offset_of!(AffixRefs, prefix))?;",
    ): "never seen: reading the hash has refused these strings before",
    (
        FORMAT + "node_rules.rs",
        "replace + with * in Check<'_>::strings_nodes_policies",
        "strings.next(refs.suffix, place * offset_of!(AffixRefs, suffix))?;",
    ): "never seen: reading the hash has refused these strings before",
    (
        FORMAT + "verify.rs",
        "replace < with <= in header",
        "let what = if file_length <= length {",
    ): "equivalent: here the two are not the same",
    (
        FORMAT + "verify.rs",
        "replace > with >= in hash",
        "if stored >= Hash::SIPHASH && !Hash::is_known(number) {",
    ): "equivalent: this hash is known",
    (
        FORMAT + "verify.rs",
        "replace > with >= in affixes",
        "if offset != used || length > AFFIX_MAX || used + length >= layout.count(STRINGS) {",
    ): "equivalent: the name of the map comes after them",
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
        STORE + "install.rs",
        "replace < with <= in Store::standing_to",
        "if new.epoch() <= present.epoch() {",
    ): "equivalent: of two maps of one number neither is an ancestor, whichever is asked",
    (
        STORE + "log.rs",
        "replace | with ^ in append",
        ".custom_flags(libc::O_NOFOLLOW ^ libc::O_NONBLOCK)",
    ): "equivalent: each flag is a bit of its own",
    (
        STORE + "progress.rs",
        "replace > with >= in Store::progress",
        "while at >= 1 {",
    ): "equivalent: no map has epoch 0",
    (
        STORE + "saved.rs",
        "replace | with ^",
        "const KNOWN: u32 = LIMITED ^ SAYS_CARRY | CARRY;",
    ): "equivalent: each flag is a bit of its own",
    (
        STORE + "saved.rs",
        "replace | with ^",
        "const KNOWN: u32 = LIMITED | SAYS_CARRY ^ CARRY;",
    ): "equivalent: each flag is a bit of its own",
    (
        STORE + "saved.rs",
        "replace | with ^ in SavedPlan::write",
        "Some(true) => SAYS_CARRY ^ CARRY,",
    ): "equivalent: each flag is a bit of its own",
    (
        STORE + "saved.rs",
        "replace | with ^ in SavedPlan::write",
        "let flags = carry ^ if limit.is_some() { LIMITED } else { 0 };",
    ): "equivalent: each flag is a bit of its own",
    (
        STORE + "saved.rs",
        "replace | with ^ in SavedPlan::read",
        "if version != VERSION || flags & (SAYS_CARRY ^ CARRY) == CARRY {",
    ): "equivalent: each flag is a bit of its own",
    (
        STORE + "whole.rs",
        "replace sync_directory -> io::Result<()> with Ok(())",
        "Ok(())",
    ): "no test here can cut the power: `make faults` does, and loses without this fsync what was "
    "acknowledged",
    (
        STORE + "whole.rs",
        "replace | with ^ in Access::directory_mode",
        "0o700 ^ group | others",
    ): "equivalent: owner, group and others have bits of their own",
    (
        STORE + "whole.rs",
        "replace | with ^ in Access::directory_mode",
        "0o700 | group ^ others",
    ): "equivalent: owner, group and others have bits of their own",
    (
        STORE + "whole.rs",
        "replace | with & in remove_abandoned",
        ".custom_flags(libc::O_NOFOLLOW & libc::O_NONBLOCK)",
    ): "no test wins this race: the directory said just before that this is a regular file",
    (
        STORE + "whole.rs",
        "replace | with ^ in remove_abandoned",
        ".custom_flags(libc::O_NOFOLLOW ^ libc::O_NONBLOCK)",
    ): "equivalent: each flag is a bit of its own",
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
        LOG + "books.rs",
        "delete ! in Books::push",
        "if from.is_some() || last.is_none_or(|chunk| Arc::ptr_eq(&chunk.segment, current)) {",
    ): "only speed: each record is written by itself",
    (
        LOG + "disk.rs",
        "replace <impl Disk for Real>::sync -> io::Result<()> with Ok(())",
        "Ok(())",
    ): "only a power cut shows it: this is the call of the system alone, and the tests of power cuts "
    "have a disk of their own",
    (
        LOG + "disk.rs",
        "replace <impl Disk for Real>::sync_dir -> io::Result<()> with Ok(())",
        "Ok(())",
    ): "only a power cut shows it: this is the call of the system alone, and the tests of power cuts "
    "have a disk of their own",
    (
        LOG + "reader.rs",
        "replace + with * in Cursor::bytes",
        "if self.offset * count as u64 > self.start + self.bytes.len() as u64 {",
    ): "only speed: the bytes of every record are read again",
    (
        LOG + "reader.rs",
        "replace > with >= in Cursor::bytes",
        "if self.offset + count as u64 >= self.start + self.bytes.len() as u64 {",
    ): "only speed: some bytes are read again",
    (
        LOG + "reader.rs",
        "replace && with || in <impl Iterator for Records<'_>>::next",
        "if self.next > self.limit || !self.ended {",
    ): "only speed: the place of the next record is searched again",
    (
        LOG + "reader.rs",
        "replace > with >= in <impl Iterator for Records<'_>>::next",
        "if self.next >= self.limit && !self.ended {",
    ): "only speed, as above",
    (
        LOG + "segment.rs",
        "replace Segment::mark with ()",
        "()",
    ): "only speed: records are searched from the start of the segment",
    (
        LOG + "segment.rs",
        "replace >= with < in Segment::mark",
        "if marks.last().is_none_or(|(_, last)| offset < last + MARK) {",
    ): "only speed: fewer marks",
    (
        LOG + "segment.rs",
        "replace + with * in Segment::mark",
        "if marks.last().is_none_or(|(_, last)| offset >= last * MARK) {",
    ): "only speed: fewer marks",
    (
        LOG + "segment.rs",
        "replace <= with > in Segment::near",
        "let behind = marks.partition_point(|(n, _)| *n > number);",
    ): "only speed: the first mark, which is before all records",
    (
        LOG + "opening.rs",
        "replace sync_dir -> io::Result<()> with Ok(())",
        "Ok(())",
    ): "only a power cut shows it, and the disk of the tests has the directory already",
    (
        LOG + "reader.rs",
        "replace <= with > in <impl Iterator for Records<'_>>::next",
        "if let Some(mut cursor) = self.cursor.take().filter(|_| self.next > self.limit) {",
    ): "only speed: the place of the next record is searched again",
    (
        LOG + "opening.rs",
        "replace > with >= in read_segments",
        "let unsure = scan.torn || scan.end == 0 || scan.next - 1 >= books.positions.durable;",
    ): "only speed: a segment that is on the disk is written once more",
    (
        LOG + "opening.rs",
        "replace - with + in read_segments",
        "let unsure = scan.torn || scan.end == 0 || scan.next + 1 > books.positions.durable;",
    ): "only speed, as above",
    (
        LOG + "opening.rs",
        "replace - with / in read_segments",
        "let unsure = scan.torn || scan.end == 0 || scan.next / 1 > books.positions.durable;",
    ): "only speed, as above",
    (
        LOG + "opening.rs",
        "replace && with || in read_segments",
        "if index + 1 == bases.len() || unsure {",
    ): "only speed, as above",
    (
        LOG + "keeper.rs",
        "replace && with || in run",
        "let unsaved = due || books.unsaved || books.trimmable() && books.not_saved.is_none();",
    ): "only speed: positions are stored at once, and not within a second",
    (
        LOG + "durable.rs",
        "replace < with <= in <impl Log for Durable>::confirm",
        ".filter(|position| **position <= through)",
    ): "only speed: the same position is stored again",
    (
        LOG + "keeper.rs",
        "delete ! in make_spare",
        "if books.told_no_spare {",
    ): "tests/rrd/test_starts.py, in which the program runs, waits for this line",
    (
        CAPI + "boundary.rs",
        "replace Caller::take_map with ()",
        "()",
    ): "only a leak, which valgrind and the sanitizers of tests/c/run.py notice",
    (
        CAPI + "boundary.rs",
        "replace Caller::take_plan with ()",
        "()",
    ): "only a leak, which valgrind and the sanitizers of tests/c/run.py notice",
    (
        CAPI + "boundary.rs",
        "replace Caller::take_pair with ()",
        "()",
    ): "only a leak, which valgrind and the sanitizers of tests/c/run.py notice",
    (
        CAPI + "boundary.rs",
        "replace Caller::take_text with ()",
        "()",
    ): "only a leak, which valgrind and the sanitizers of tests/c/run.py notice",
    (
        CAPI + "open.rs",
        "replace stead_map_free with ()",
        "()",
    ): "only a leak, which valgrind and the sanitizers of tests/c/run.py notice",
    (
        CAPI + "inside.rs",
        "replace stead_text_free with ()",
        "()",
    ): "only a leak, which valgrind and the sanitizers of tests/c/run.py notice",
    (
        CAPI + "difference.rs",
        "replace stead_plan_free with ()",
        "()",
    ): "only a leak, which valgrind and the sanitizers of tests/c/run.py notice",
    (
        CAPI + "pair.rs",
        "replace stead_pair_free with ()",
        "()",
    ): "only a leak, which valgrind and the sanitizers of tests/c/run.py notice",
    (
        CAPI + "message.rs",
        "replace > with >= in message_of",
        "if message.len() >= most {",
    ): "equal: a message of just this length is left as it is further down",
    (
        CAPI + "message.rs",
        "replace -= with += in shortened",
        "head += 1;",
    ): "as good: one character more stands before the cut, and one fewer behind it",
    (
        CAPI + "library.rs",
        "replace stead_abi -> i32 with 1",
        "1",
    ): "equal: the number is 1",
}
