//! What is exported is imported again. Miri runs these tests, too (`make miri`); python/tests has
//! those with real libraries.

use std::ffi::c_char;
use std::ptr;

use super::*;
use crate::export::{Buffer, Export};

fn buffer<T: Copy + Send + Sync + 'static>(items: &[T]) -> Option<Arc<dyn Buffer>> {
    Some(Arc::new(items.to_vec()))
}

fn column(format: &'static CStr, length: usize, buffers: &[Option<Arc<dyn Buffer>>]) -> Export {
    Export {
        format,
        length,
        nulls: 0,
        buffers: buffers.to_vec(),
        dictionary: None,
        items: None,
    }
}

/// Four keys, as a column of strings with narrow offsets.
fn strings() -> Export {
    let offsets = buffer(&[0_i32, 5, 8, 8, 12]);
    column(c"u", 4, &[None, offsets, buffer(b"frankbobanna")])
}

fn imported(export: Export) -> Chunk {
    let schema = export.schema();
    Chunk::new(schema, export.array())
}

/// The array of a chunk, to be changed.
fn array(chunk: &mut Chunk) -> &mut ArrowArray {
    // SAFETY: the chunk owns the array, and is borrowed as long as the result.
    unsafe { &mut *chunk.array.place() }
}

fn text(problem: Problem) -> String {
    match problem {
        Problem::Type(text) | Problem::Invalid(text) | Problem::Stream(text) => text,
    }
}

/// The keys of a chunk, each read by itself, as text; "-" for null.
fn keys(chunk: &Chunk) -> Result<Vec<String>, String> {
    let column = chunk.column().map_err(text)?;
    let key = |row| column.key(row).map_err(text);
    let shown = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
    (0..column.length)
        .map(|row| Ok(key(row)?.map_or("-".to_owned(), shown)))
        .collect()
}

const ALL: [&str; 4] = ["frank", "bob", "", "anna"];

#[test]
fn every_layout_comes_back_as_it_was() {
    assert_eq!(keys(&imported(strings())).unwrap(), ALL);

    let offsets = buffer(&[0_i64, 5, 8, 8, 12]);
    let wide = column(c"Z", 4, &[None, offsets, buffer(b"frankbobanna")]);
    assert_eq!(keys(&imported(wide)).unwrap(), ALL);

    let fixed = column(c"w:3", 2, &[None, buffer(b"bobeve")]);
    assert_eq!(keys(&imported(fixed)).unwrap(), ["bob", "eve"]);

    let mut short = [0_u8; 16];
    short[0] = 3;
    short[4..7].copy_from_slice(b"bob");
    let mut long = [0_u8; 16];
    long[..4].copy_from_slice(&13_i32.to_ne_bytes());
    long[12..].copy_from_slice(&2_i32.to_ne_bytes());
    let data = buffer(b"--a longer name");
    let views = [None, buffer(&[short, long]), data, buffer(&[15_i64])];
    let views = column(c"vu", 2, &views);
    assert_eq!(keys(&imported(views)).unwrap(), ["bob", "a longer name"]);

    let mut coded = column(c"S", 3, &[buffer(&[0b101_u8]), buffer(&[3_u16, 9, 1])]);
    coded.nulls = 1;
    coded.dictionary = Some(Box::new(strings()));
    assert_eq!(keys(&imported(coded)).unwrap(), ["anna", "-", "bob"]);

    let mut batch = column(c"+s", 4, &[None]);
    batch.items = Some(Box::new(strings()));
    assert_eq!(keys(&imported(batch)).unwrap(), ALL);
}

#[test]
fn a_part_of_an_array_is_read_from_its_offset_on() {
    let mut chunk = imported(strings());
    (array(&mut chunk).offset, array(&mut chunk).length) = (1, 3);
    assert_eq!(keys(&chunk).unwrap(), ALL[1..]);
    (array(&mut chunk).offset, array(&mut chunk).length) = (4, 0);
    assert!(keys(&chunk).unwrap().is_empty());
}

#[test]
fn what_the_structs_lack_is_refused_before_it_is_read() {
    type Damage = fn(&mut ArrowArray);
    let damages: [(Damage, &str); 9] = [
        (|array| array.length = -1, "length -1"),
        (|array| array.offset = i64::MIN, "offset -92"),
        (|array| array.length = i64::MAX, "which no memory holds"),
        (|array| array.null_count = 5, "5 nulls in 4 rows"),
        (|array| array.null_count = 1, "no validity buffer"),
        (|array| array.n_buffers = 2, "2 buffers"),
        (|array| array.n_buffers = -1, "-1 buffers"),
        (|array| array.buffers = ptr::null(), "has no buffers"),
        (|array| array.release = None, "was released already"),
    ];
    for (damage, problem) in damages {
        let mut chunk = imported(strings());
        let release = chunk.array.release;
        damage(array(&mut chunk));
        let found = keys(&chunk).unwrap_err();
        assert!(found.contains(problem), "{found}");
        array(&mut chunk).release = release;
    }
    let none = column(c"u", 4, &[None, None, buffer(b"frank")]);
    assert!(keys(&imported(none))
        .unwrap_err()
        .contains("no offsets buffer"));
    let falling = [None, buffer(&[0_i32, 9, -1]), buffer(b"frankbobanna")];
    let falling = imported(column(c"u", 2, &falling));
    assert!(keys(&falling).unwrap_err().contains("offset -1"));
    let codes = imported(column(c"S", 1, &[None, buffer(&[0_u16])]));
    assert!(keys(&codes).unwrap_err().contains("uint16"));
    let empty = imported(column(c"+s", 4, &[None]));
    assert!(keys(&empty).unwrap_err().contains("one column, not the 0"));
}

#[test]
fn a_consumer_may_move_a_child_or_a_dictionary_out_and_keep_it_longer() {
    let mut batch = column(c"+s", 4, &[None]);
    batch.items = Some(Box::new(strings()));
    let Chunk { schema, array } = imported(batch);
    // SAFETY: the array has one child.
    let child = unsafe { *array.children };
    // SAFETY: nobody else uses the child.
    let child = unsafe { child.replace(ArrowArray::released()) };
    // SAFETY: the schema has one child.
    let kept = unsafe { *schema.children };
    // SAFETY: nobody else uses the child.
    let kept = unsafe { kept.replace(ArrowSchema::released()) };
    drop((schema, array));
    // SAFETY: it was moved out of what owned it, and `Export` made it.
    let kept = unsafe { Owned::new(kept) };
    // SAFETY: as for the schema.
    let child = unsafe { Owned::new(child) };
    let kept = Chunk::new(kept, child);
    assert_eq!(keys(&kept).unwrap(), ALL);
    // an array may be released on another thread than the one that made it
    std::thread::spawn(move || drop(kept)).join().unwrap();
}

/// A stream of three arrays, the last of which fails; its counter is the private data.
extern "C" fn get_schema(_: *mut ArrowArrayStream, schema: *mut ArrowSchema) -> c_int {
    // SAFETY: `Reader` passes a released schema, which may be overwritten.
    unsafe {
        schema
            .cast::<Owned<ArrowSchema>>()
            .write(strings().schema())
    };
    0
}

extern "C" fn get_next(stream: *mut ArrowArrayStream, array: *mut ArrowArray) -> c_int {
    // SAFETY: `Reader` passes its stream.
    let counter = unsafe { (*stream).private_data }.cast::<u32>();
    // SAFETY: the private data is the counter that the test made; nobody else uses it now.
    let counter = unsafe { &mut *counter };
    *counter += 1;
    if *counter > 2 {
        return 5;
    }
    // SAFETY: `Reader` passes a released array, which may be overwritten.
    unsafe { array.cast::<Owned<ArrowArray>>().write(strings().array()) };
    0
}

extern "C" fn get_last_error(_: *mut ArrowArrayStream) -> *const c_char {
    c"the disk is gone".as_ptr()
}

extern "C" fn release(stream: *mut ArrowArrayStream) {
    // SAFETY: the owner of the stream calls this once, with the stream.
    let stream = unsafe { &mut *stream };
    stream.release = None;
    // SAFETY: the test made it from a box, and this runs once.
    drop(unsafe { Box::from_raw(stream.private_data.cast::<u32>()) });
}

#[test]
fn a_stream_is_read_to_its_failure_and_its_chunks_outlive_it() {
    let stream = ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release),
        private_data: Box::into_raw(Box::new(0_u32)).cast(),
    };
    // SAFETY: the stream is new, and its functions keep the rules.
    let mut reader = Reader::new(unsafe { Owned::new(stream) });
    let chunks = [0; 2].map(|_| reader.next_chunk().map_err(text).unwrap().unwrap());
    let failed = reader.next_chunk().map(|_| ()).map_err(text);
    assert_eq!(failed.unwrap_err(), "the disk is gone");
    drop(reader);
    for chunk in &chunks {
        assert_eq!(keys(chunk).unwrap(), ALL);
    }
}
