//! The Arrow columns that the Python module reads: whatever structs a producer may hand over, as
//! far as a reader can notice what is wrong with them.
//!
//! The bytes describe a column. What the reader makes of it must lie in the producer's buffers,
//! each row must be what the description says, and every struct must be released once.

use std::ffi::CString;

use stead_arrow::column::{Column, Layout, Room, Rows};
use stead_arrow::{Chunk, Problem, Reader};

use crate::input::Input;
use crate::producer::{counts, stream, Described, Store, Streamed};

/// The types that are read, and more that are not.
const FORMATS: [&[u8]; 32] = [
    b"u",
    b"z",
    b"U",
    b"Z",
    b"vu",
    b"vz",
    b"c",
    b"C",
    b"s",
    b"S",
    b"i",
    b"I",
    b"l",
    b"L",
    b"w:3",
    b"+s",
    b"u",
    b"U",
    b"vu",
    b"i",
    b"w:0",
    b"n",
    b"n",
    b"w:4611686018427387904",
    b"b",
    b"+l",
    b"",
    b"w:",
    b"w:-1",
    b"\xff",
    b"tdD",
    b"w:16",
];
/// The most rows of a buffer.
const MOST: usize = 70;

/// The target.
pub fn columns(data: &[u8]) {
    counts();
    let mut input = Input(data);
    if input.below(4) == 0 {
        read_stream(&mut input);
    } else {
        let described = described(&mut input, 0);
        let mut store = Store::default();
        let (schema, array) = (store.schema(&described), store.array(&described));
        let chunk = Chunk::new(schema, array);
        read(&chunk, &described, &store);
    }
    assert_eq!(counts(), (0, 0), "each struct is released once");
}

fn read_stream(input: &mut Input<'_>) {
    let schema = described(input, 0);
    let count = input.below(4);
    let mut chunks = Vec::new();
    for _ in 0..count {
        // another type than that of the stream would be a lie that no reader can notice
        chunks.push(of_type(&schema, input, 0));
    }
    let says = input.below(2) == 0;
    let said = says.then(|| CString::new(b"the disk is \xff gone".to_vec()).expect("no NUL"));
    let fails = input.below(12);
    let streamed = Streamed {
        schema: (input.below(10) > 0).then(|| schema.clone()),
        chunks: chunks.clone(),
        fails: (fails < 4).then_some((fails, said)),
        missing: [0, 1, 2].map(|_| input.below(16) == 0),
        ..Streamed::default()
    };
    let mut reader = Reader::new(stream(&streamed));
    for chunk in &chunks {
        match reader.next_chunk() {
            Ok(Some(found)) => read(&found, chunk, &streamed.store.borrow()),
            Ok(None) => break, // a chunk that is released already
            Err(problem) => {
                sound(&problem);
                return;
            }
        }
    }
    let last = reader.next_chunk();
    let goes_on = last.as_ref().is_ok_and(Option::is_some);
    let is_cut = chunks.iter().any(|chunk| chunk.is_released);
    assert!(!goes_on || is_cut, "the stream ends");
    if let Err(problem) = last {
        sound(&problem);
    }
}

/// A message is one line.
fn sound(problem: &Problem) {
    let (Problem::Type(text) | Problem::Invalid(text) | Problem::Stream(text)) = problem;
    assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
}

/// Describes a column of any type.
fn described(input: &mut Input<'_>, depth: usize) -> Described {
    let format = input.one_of(&FORMATS).to_vec();
    let format = (input.below(100) != 1).then_some(format);
    of_format(format, None, input, depth)
}

/// Describes a column of the same type as another one.
fn of_type(one: &Described, input: &mut Input<'_>, depth: usize) -> Described {
    of_format(one.format.clone(), Some(one), input, depth)
}

/// Describes a column of a format, and of the type of another one, if that is given. Its buffers
/// are as long as the numbers of rows promise.
fn of_format(
    format: Option<Vec<u8>>,
    alike: Option<&Described>,
    input: &mut Input<'_>,
    depth: usize,
) -> Described {
    let kind = format.clone().unwrap_or_default();
    let mut length = *input.one_of(&[0, 1, 2, 3, 5, 8, 9, 17, 33]);
    let mut offset = *input.one_of(&[0, 0, 0, 1, 3, 7, 8, 25]);
    let odd = [-1, i64::MIN, i64::MAX, i64::MAX / 64 + 1, i64::MAX / 2];
    match input.below(24) {
        1 => length = *input.one_of(&odd),
        2 => offset = *input.one_of(&odd),
        _ => {}
    }
    if kind.len() > 9 && length.saturating_add(offset) == 1 {
        length = 2; // one row of 2^62 bytes is a promise that nobody keeps, and nobody can check
    }
    let rows = usize::try_from(length.saturating_add(offset)).unwrap_or(0);
    let rows = if rows > MOST { 0 } else { rows };
    let nulls = *input.one_of(&[0, -1, -1, 1, length.min(2), length.saturating_add(1), -2]);
    let mut buffers = Vec::new();
    let mut dictionary = None;
    let mut children = Vec::new();
    if kind != b"n" {
        let has_bits = input.below(2) == 0;
        buffers.push(has_bits.then(|| bytes(input, rows.div_ceil(8))));
    }
    match &*kind {
        b"u" | b"z" => offsets::<4>(input, rows, &mut buffers),
        b"U" | b"Z" => offsets::<8>(input, rows, &mut buffers),
        b"vu" | b"vz" => views(input, rows, &mut buffers),
        b"w:3" => buffers.push(Some(bytes(input, 3 * rows))),
        b"w:16" => buffers.push(Some(bytes(input, 16 * rows))),
        b"c" | b"C" | b"s" | b"S" | b"i" | b"I" | b"l" | b"L" => {
            let width = 1 << ("cCsSiIlL".find(char::from(kind[0])).unwrap_or(0) / 2);
            let mut codes = Vec::new();
            for _ in 0..rows {
                let code = match input.below(12) {
                    0 => input.word().to_ne_bytes(),
                    _ => (input.below(4) as u64).to_ne_bytes(),
                };
                let whole = u64::from_ne_bytes(code);
                codes.extend_from_slice(&ne(whole, width));
            }
            buffers.push(Some(codes));
            if depth < 2 {
                let values = alike.and_then(|one| one.dictionary.as_deref());
                dictionary = Some(Box::new(match values {
                    Some(values) => of_type(values, input, depth + 1),
                    None => described(input, depth + 1),
                }));
            }
        }
        b"+s" if depth < 2 => {
            let child = alike.and_then(|one| one.children.first()?.as_ref());
            let child = match child {
                Some(child) => of_type(child, input, depth + 1),
                None => described(input, depth + 1),
            };
            children.push((input.below(20) != 1).then_some(child));
            if input.below(12) == 1 {
                children.push(None);
            }
        }
        _ => buffers.push(Some(Vec::new())),
    }
    if input.below(30) == 1 {
        let at = input.below(buffers.len());
        if let Some(buffer) = buffers.get_mut(at) {
            *buffer = None;
        }
    }
    // a count that the type does not allow; one that it allows is that of the buffers
    let right = buffers.len() as i64;
    let is_view = kind.first() == Some(&b'v');
    let wrong = *input.one_of(&[right - 1, -1, i64::MIN, right + 1, i64::MAX]);
    let is_wrong = input.below(30) == 1 && !(is_view && wrong >= 3 || kind == b"n" && wrong == 1);
    let counted = children.len() as i64;
    let claimed = |input: &mut Input<'_>| match input.below(40) {
        1 => counted + 1,
        2 => -1,
        _ => counted,
    };
    let claimed_children = [claimed(input), claimed(input)];
    Described {
        format,
        length,
        offset,
        nulls,
        claimed_buffers: if is_wrong { wrong } else { right },
        // a list is as long as is claimed
        children: match claimed_children.iter().max() {
            Some(most) if *most > counted => [children, vec![None]].concat(),
            _ => children,
        },
        claimed_children,
        buffers,
        no_lists: input.below(60) == 1,
        is_released: input.below(60) == 1,
        dictionary,
        has_dictionary: [input.below(30) != 1, input.below(30) != 1],
    }
}

/// Takes bytes, and goes on with others when there are no more.
fn bytes(input: &mut Input<'_>, count: usize) -> Vec<u8> {
    let mut found = input.bytes(count).to_vec();
    found.resize(count, 0xb7);
    found
}

/// The low bytes of a number, in the order of this machine.
fn ne(number: u64, width: usize) -> Vec<u8> {
    match width {
        1 => (number as u8).to_ne_bytes().to_vec(),
        2 => (number as u16).to_ne_bytes().to_vec(),
        4 => (number as u32).to_ne_bytes().to_vec(),
        _ => number.to_ne_bytes().to_vec(),
    }
}

/// Adds offsets, which mostly ascend, and the data, which is as long as the last offset says.
fn offsets<const N: usize>(input: &mut Input<'_>, rows: usize, buffers: &mut Vec<Option<Vec<u8>>>) {
    let (mut at, mut list) = (input.below(4) as u64, Vec::new());
    for row in 0..=rows {
        let offset = match input.below(40) {
            1 if row < rows => input.word() >> input.below(64),
            2 => u64::MAX,
            3 => 0,
            _ => at,
        };
        list.extend_from_slice(&ne(offset, N));
        at = if row == rows {
            offset
        } else {
            at + input.below(9) as u64
        };
    }
    let last = if N == 4 {
        at as u32 as i32 as i64
    } else {
        at as i64
    };
    buffers.push(Some(list));
    let size = usize::try_from(last).unwrap_or(0);
    buffers.push(Some(bytes(input, size)));
}

/// Adds views, their data buffers, and the sizes of these.
fn views(input: &mut Input<'_>, rows: usize, buffers: &mut Vec<Option<Vec<u8>>>) {
    let count = input.below(3);
    let mut views = Vec::new();
    for _ in 0..rows {
        let length = match input.below(16) {
            1 => input.word() as u32,
            2 => 13 + input.below(40) as u32,
            _ => input.below(13) as u32,
        };
        views.extend_from_slice(&length.to_ne_bytes());
        if length <= 12 {
            views.extend_from_slice(&bytes(input, 12));
        } else {
            views.extend_from_slice(b"abcd");
            let number = if input.below(8) == 1 {
                input.word() as u32
            } else {
                input.below(3) as u32
            };
            let start = if input.below(8) == 1 {
                input.word() as u32
            } else {
                input.below(30) as u32
            };
            views.extend_from_slice(&number.to_ne_bytes());
            views.extend_from_slice(&start.to_ne_bytes());
        }
    }
    buffers.push(Some(views));
    let mut sizes = Vec::new();
    for _ in 0..count {
        let size = if input.below(20) == 1 {
            -1
        } else {
            input.below(80) as i64
        };
        sizes.extend_from_slice(&size.to_ne_bytes());
        let size = usize::try_from(size).unwrap_or(0);
        buffers.push(Some(bytes(input, size)));
    }
    buffers.push(Some(sizes));
}

/// Reads all rows of a chunk, and compares them with what was described.
fn read(chunk: &Chunk, rows: &Described, store: &Store) {
    let column = match chunk.column() {
        Ok(column) => column,
        Err(problem) => return sound(&problem),
    };
    inside(&column, store);
    assert_eq!(column.length as i64, rows.length);
    let most = column.length.min(MOST);
    let keys: Vec<_> = (0..most).map(|row| column.key(row)).collect();
    let mut room = Room::default();
    for (first, end) in [
        (0, most),
        (most / 2, most),
        (most / 3, most / 2),
        (most, most),
    ] {
        let good = keys[first..end].iter().all(Result::is_ok);
        match column.keys(first..end, &mut room) {
            Err(problem) => {
                sound(&problem);
                assert!(!good, "a block is wrong when one of its rows is");
            }
            Ok(Rows { keys: found, valid }) => {
                assert!(good, "a block is right when all of its rows are");
                let wanted: Vec<_> = keys[first..end].iter().flatten().collect();
                let places: Vec<usize> =
                    (0..wanted.len()).filter(|i| wanted[*i].is_some()).collect();
                assert!(found.iter().eq(wanted.iter().filter_map(|key| **key)));
                match valid {
                    Some(valid) => assert_eq!(valid, places),
                    None => assert_eq!(places.len(), wanted.len()),
                }
            }
        }
    }
    for (row, key) in keys.iter().enumerate() {
        let wanted = value(rows, row);
        match (key, wanted) {
            (Ok(key), Some(wanted)) => assert_eq!(*key, wanted.as_deref()),
            (Err(problem), None) => sound(problem),
            (key, wanted) => panic!("row {row}: {key:?}, must be {wanted:?}"),
        }
    }
}

/// Checks that everything that a column will ever read lies in a buffer of the producer.
fn inside(column: &Column<'_>, store: &Store) {
    for bits in &column.validity {
        assert!(store.has(bits.bytes), "the validity");
    }
    let all: Vec<&[u8]> = match &column.layout {
        Layout::Nothing => Vec::new(),
        Layout::Narrow { offsets, data } => vec![offsets.as_flattened(), data],
        Layout::Wide { offsets, data } => vec![offsets.as_flattened(), data],
        Layout::Views { views, data } => [vec![views.as_flattened()], data.clone()].concat(),
        Layout::Fixed { data, .. } => vec![data],
        Layout::Codes { codes, values } => {
            inside(values, store);
            vec![codes.bytes]
        }
    };
    assert!(all.iter().all(|bytes| store.has(bytes)), "the buffers");
}

/// What a row is by the description of its column: its key, or null; `None` if it points outside.
fn value(of: &Described, row: usize) -> Option<Option<Vec<u8>>> {
    let place = row + of.offset as usize;
    let buffer = |number: usize| of.buffers.get(number).and_then(Option::as_ref);
    let kind = of.format.as_deref().unwrap_or_default();
    let bits = if kind == b"n" { None } else { buffer(0) };
    if kind == b"n" || of.nulls != 0 && bits.is_some_and(|b| b[place / 8] >> (place % 8) & 1 == 0) {
        return Some(None);
    }
    let number = |bytes: &[u8], at: usize, width: usize| {
        let bytes = &bytes[at * width..(at + 1) * width];
        match width {
            4 => i64::from(i32::from_ne_bytes(bytes.try_into().expect("4"))),
            _ => i64::from_ne_bytes(bytes.try_into().expect("8")),
        }
    };
    let part = |data: &[u8], start: i64, end: i64| {
        let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
        Some(Some(data.get(start..end)?.to_vec()))
    };
    match kind {
        b"u" | b"z" | b"U" | b"Z" => {
            let width = if kind[0].is_ascii_lowercase() { 4 } else { 8 };
            let ends = [place, place + 1].map(|at| number(buffer(1).expect("offsets"), at, width));
            let none = Vec::new();
            part(buffer(2).unwrap_or(&none), ends[0], ends[1])
        }
        b"vu" | b"vz" => {
            let view = &buffer(1)?[16 * place..16 * place + 16];
            let (length, which, start) =
                (number(view, 0, 4), number(view, 2, 4), number(view, 3, 4));
            if (0..=12).contains(&length) {
                return part(view, 4, 4 + length);
            }
            let count = of.buffers.len() as i64 - 3;
            let data = (0..count)
                .contains(&which)
                .then(|| buffer(2 + which as usize))?;
            part(data?, start, start + length).filter(|_| length >= 0)
        }
        b"w:3" | b"w:16" => {
            let width = if kind == b"w:3" { 3 } else { 16 };
            part(buffer(1)?, width * place as i64, width * (place as i64 + 1))
        }
        b"w:0" => Some(Some(Vec::new())),
        b"+s" => {
            let child = of.children.first()?.as_ref()?;
            value(child, place)
        }
        _ => {
            let width = 1 << ("cCsSiIlL".find(char::from(kind[0])).expect("codes") / 2);
            let code = &buffer(1)?[place * width..(place + 1) * width];
            let code = match (kind, width) {
                (_, 1) if kind == b"c" => i64::from(code[0] as i8),
                (_, 1) => i64::from(code[0]),
                (_, 2) if kind == b"s" => i16::from_ne_bytes(code.try_into().ok()?).into(),
                (_, 2) => u16::from_ne_bytes(code.try_into().ok()?).into(),
                (_, 4) if kind == b"i" => i32::from_ne_bytes(code.try_into().ok()?).into(),
                (_, 4) => u32::from_ne_bytes(code.try_into().ok()?).into(),
                _ => i64::from_ne_bytes(code.try_into().ok()?), // the rest is in no dictionary
            };
            let values = of.dictionary.as_ref()?;
            let code = usize::try_from(code)
                .ok()
                .filter(|code| (*code as i64) < values.length)?;
            value(values, code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A column of this format with two rows, whose offsets are 0, 1000 and 3.
    fn falling(format: &str, width: usize) -> Described {
        let offsets = [0, 1000, 3].map(|offset| ne(offset, width)).concat();
        Described {
            format: Some(format.as_bytes().to_vec()),
            length: 2,
            offset: 0,
            nulls: 0,
            buffers: vec![None, Some(offsets), Some(b"abc".to_vec())],
            claimed_buffers: 3,
            claimed_children: [0, 0],
            no_lists: false,
            is_released: false,
            children: Vec::new(),
            dictionary: None,
            has_dictionary: [true, true],
        }
    }

    #[test]
    fn a_batch_of_fewer_rows_than_its_column_stays_in_the_data() {
        for (format, width) in [("u", 4), ("U", 8)] {
            let batch = Described {
                format: Some(b"+s".to_vec()),
                length: 1,
                buffers: vec![None],
                claimed_buffers: 1,
                claimed_children: [1, 1],
                children: vec![Some(falling(format, width))],
                ..falling(format, width)
            };
            let mut store = Store::default();
            let chunk = Chunk::new(store.schema(&batch), store.array(&batch));
            read(&chunk, &batch, &store);
            let column = chunk
                .column()
                .unwrap_or_else(|problem| panic!("{problem:?}"));
            assert!(column.key(0).is_err(), "1,000 bytes of three");
        }
    }
}
