//! What a call holds in reserve, and the allocator that gives it back when the system refuses.
//!
//! A call that has asked for [`room`](super::room) holds a block as large as all that it may need.
//! Nobody writes to it, so it takes addresses and not memory. When the system refuses another
//! block, [`Reserving`] gives back as much of the reserve as that block needs, and asks again. So
//! no other thread or process can take what a call was granted, until the moment between the two.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};

/// A call that may need less than this holds nothing: as a rule, glibc answers so small a request
/// from memory that the process has already. Blocks of this size show that the allocator is
/// installed.
pub(super) const LARGE: usize = 64 << 10;

/// At least this much is given back at once: small blocks are many.
const AT_ONCE: usize = 1 << 20;

/// Whether the global allocator of this program is a [`Reserving`]. Without it nobody would give a
/// reserve back, and a call would need twice the memory.
static INSTALLED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// What the call that runs in this thread holds.
    static HELD: Cell<Option<Block>> = const { Cell::new(None) };
}

/// A block of the global allocator, of alignment 1.
#[derive(Clone, Copy, Debug)]
struct Block {
    start: *mut u8,
    size: usize,
}

/// The memory that a call may use, held until this is dropped.
#[must_use = "the memory is held as long as this lives"]
#[derive(Debug)]
pub struct Room {
    /// `None` when this holds nothing. Otherwise what the thread held before, if anything.
    before: Option<Option<Block>>,
}

impl Room {
    /// Holds nothing.
    pub(super) const NONE: Room = Room { before: None };

    /// Holds a block that nobody uses.
    pub(super) fn holding(block: Vec<u8>) -> Room {
        if !INSTALLED.load(Ordering::Relaxed) {
            return Room::NONE;
        }
        let mut block = ManuallyDrop::new(block);
        let held = Block {
            start: block.as_mut_ptr(),
            size: block.capacity(),
        };
        Room {
            before: Some(HELD.replace(Some(held))),
        }
    }
}

impl Drop for Room {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        let Some(before) = self.before.take() else {
            return;
        };
        if let Some(held) = HELD.replace(before) {
            // SAFETY: `holding` took the block from a list of bytes, and `give_back` has noted the
            // size whenever it made the block smaller. What is in HELD belongs to nobody else.
            drop(unsafe { Vec::from_raw_parts(held.start, 0, held.size) });
        }
    }
}

/// An allocator that gives back what the call of this thread holds in [`room`](super::room) when
/// the system refuses a block, and asks again. A program whose calls must not end it for lack of
/// memory makes it the global allocator:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: stead::memory::Reserving = stead::memory::Reserving::of_system();
/// ```
///
/// With any other allocator, `room` asks for the memory and does not hold it.
#[derive(Debug)]
pub struct Reserving<A = System>(A);

impl Reserving {
    /// An allocator that takes its blocks from the system's.
    pub const fn of_system() -> Reserving {
        Reserving(System)
    }
}

impl<A: GlobalAlloc> Reserving<A> {
    /// An allocator that takes its blocks from another one.
    pub const fn of(blocks: A) -> Reserving<A> {
        Reserving(blocks)
    }

    /// Asks for a block of this many bytes until it is granted or nothing is left to give back.
    #[inline]
    fn granted(&self, size: usize, ask: impl Fn() -> *mut u8) -> *mut u8 {
        let block = ask();
        if block.is_null() {
            return self.granted_instead(size, ask);
        }
        block
    }

    #[cold]
    fn granted_instead(&self, size: usize, ask: impl Fn() -> *mut u8) -> *mut u8 {
        while self.give_back(size) {
            let block = ask();
            if !block.is_null() {
                return block;
            }
        }
        std::ptr::null_mut()
    }

    /// Gives back so many bytes of what the thread holds, and some more. Returns false when the
    /// thread holds nothing.
    #[allow(unsafe_code)]
    fn give_back(&self, size: usize) -> bool {
        let Some(held) = HELD.take() else {
            return false;
        };
        // for the allocator's own words, and the rest of a page
        let size = size.max(AT_ONCE).saturating_add(LARGE);
        // a list of bytes was allocated so
        let Ok(layout) = Layout::array::<u8>(held.size) else {
            return false;
        };
        let rest = held.size.saturating_sub(size);
        if rest >= LARGE {
            // SAFETY: the block is one of `self.0`, of this layout, and belongs to nobody else; the
            // new size is neither 0 nor larger.
            let start = unsafe { self.0.realloc(held.start, layout, rest) };
            if !start.is_null() {
                HELD.set(Some(Block { start, size: rest }));
                return true;
            }
        }
        // SAFETY: as above; a block that could not be made smaller is still there.
        unsafe { self.0.dealloc(held.start, layout) };
        true
    }
}

// SAFETY: every method returns what the same method of `A` returns for the same arguments. `A` is
// asked again with the same ones only when it has returned NULL, and then nothing has changed.
#[allow(unsafe_code)]
unsafe impl<A: GlobalAlloc> GlobalAlloc for Reserving<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LARGE && !INSTALLED.load(Ordering::Relaxed) {
            INSTALLED.store(true, Ordering::Relaxed);
        }
        // SAFETY: the caller promises what `A` demands.
        self.granted(layout.size(), || unsafe { self.0.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        self.granted(layout.size(), || unsafe { self.0.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as in `alloc`.
        self.granted(size, || unsafe { self.0.realloc(block, layout, size) })
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`.
        unsafe { self.0.dealloc(block, layout) }
    }
}
