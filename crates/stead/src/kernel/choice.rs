//! The kernels, and which of them this processor uses.

use once_cell::race::OnceBox;

use super::isa;
use super::keys::Span;
use super::md5::Md5;
use super::message::{long, short};
use super::sha1::Sha1;
use crate::point::Point;

/// The code that computes points for one kind of processor. All of them give the same points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// Every key on its own, with the code of single calls: what the others are compared with.
    Scalar,
    /// Sixteen keys at a time in safe code, for which the compiler uses the vector instructions
    /// that every processor of the kind has.
    Portable,
    /// Two registers of four keys: every x86-64 processor.
    Sse2,
    /// Two registers of eight keys: x86-64 processors from about 2013 on.
    Avx2,
    /// Two registers of sixteen keys: many x86-64 servers. Needs rustc 1.89 to be built.
    Avx512,
    /// Two registers of four keys: every 64-bit ARM processor.
    Neon,
}

/// A hash that the kernels can compute in lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lanes {
    Md5,
    Sha1,
}

impl Kernel {
    /// All kernels, the quickest last.
    pub const ALL: [Kernel; 6] = [
        Kernel::Scalar,
        Kernel::Portable,
        Kernel::Sse2,
        Kernel::Neon,
        Kernel::Avx2,
        Kernel::Avx512,
    ];

    /// The name, as the environment variable STEAD_KERNEL gives it.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Scalar => "scalar",
            Kernel::Portable => "portable",
            Kernel::Sse2 => "sse2",
            Kernel::Avx2 => "avx2",
            Kernel::Avx512 => "avx512",
            Kernel::Neon => "neon",
        }
    }

    /// The kernels that this build has and this processor can run, the quickest last.
    pub fn here() -> impl Iterator<Item = Kernel> {
        Kernel::ALL.into_iter().filter(|kernel| kernel.is_here())
    }

    /// The kernel of a name; `None` if there is none of it here.
    pub fn named(name: &str) -> Option<Kernel> {
        Kernel::here().find(|kernel| kernel.name() == name)
    }

    /// The kernel that this process uses: the one that STEAD_KERNEL names, or else the quickest. A
    /// name that is not here is ignored. The choice is made once.
    pub fn chosen() -> Kernel {
        static CHOSEN: OnceBox<Kernel> = OnceBox::new();
        *CHOSEN.get_or_init(|| {
            let named = std::env::var("STEAD_KERNEL").ok();
            let named = named.and_then(|name| Kernel::named(&name));
            Box::new(named.or(Kernel::here().last()).unwrap_or(Kernel::Scalar))
        })
    }

    #[cfg(target_arch = "x86_64")]
    fn is_here(self) -> bool {
        match self {
            Kernel::Scalar | Kernel::Portable | Kernel::Sse2 => true,
            Kernel::Avx2 => isa::Avx2::here().is_some(),
            #[cfg(stead_avx512)]
            Kernel::Avx512 => isa::Avx512::here().is_some(),
            _ => false,
        }
    }

    #[cfg(target_arch = "aarch64")]
    fn is_here(self) -> bool {
        matches!(self, Kernel::Scalar | Kernel::Portable | Kernel::Neon)
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn is_here(self) -> bool {
        matches!(self, Kernel::Scalar | Kernel::Portable)
    }

    /// Computes the points of keys that are at most one block, as [`short`] does. `None` if this
    /// kernel takes one key after the other.
    pub(super) fn short(
        self,
        hash: Lanes,
        bytes: &[u8],
        spans: &[Span],
        points: &mut [Point],
        long: &mut [u16],
    ) -> Option<usize> {
        Some(match self {
            #[cfg(target_arch = "x86_64")]
            Kernel::Sse2 => match hash {
                Lanes::Md5 => short::<_, Md5, 2>(isa::Sse2, bytes, spans, points, long),
                Lanes::Sha1 => short::<_, Sha1, 1>(isa::Sse2, bytes, spans, points, long),
            },
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => {
                compiled::short_avx2(isa::Avx2::here()?, hash, bytes, spans, points, long)
            }
            #[cfg(all(target_arch = "x86_64", stead_avx512))]
            Kernel::Avx512 => {
                compiled::short_avx512(isa::Avx512::here()?, hash, bytes, spans, points, long)
            }
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon => match hash {
                Lanes::Md5 => short::<_, Md5, 2>(isa::Neon, bytes, spans, points, long),
                Lanes::Sha1 => short::<_, Sha1, 1>(isa::Neon, bytes, spans, points, long),
            },
            // the sha1 crate is quicker than SHA-1 in the lanes of arrays
            Kernel::Portable if hash == Lanes::Md5 => {
                short::<_, Md5, 16>(isa::Portable, bytes, spans, points, long)
            }
            _ => return None,
        })
    }

    /// Computes the points of keys of several blocks, as [`long`] does. Returns false if this
    /// kernel takes one key after the other.
    pub(super) fn long(self, hash: Lanes, keys: &[&[u8]], points: &mut [Point]) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Kernel::Sse2 => match hash {
                Lanes::Md5 => long::<_, Md5>(isa::Sse2, keys, points),
                Lanes::Sha1 => long::<_, Sha1>(isa::Sse2, keys, points),
            },
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => match isa::Avx2::here() {
                Some(isa) => compiled::long_avx2(isa, hash, keys, points),
                None => return false,
            },
            #[cfg(all(target_arch = "x86_64", stead_avx512))]
            Kernel::Avx512 => match isa::Avx512::here() {
                Some(isa) => compiled::long_avx512(isa, hash, keys, points),
                None => return false,
            },
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon => match hash {
                Lanes::Md5 => long::<_, Md5>(isa::Neon, keys, points),
                Lanes::Sha1 => long::<_, Sha1>(isa::Neon, keys, points),
            },
            _ => return false,
        }
        true
    }
}

/// The functions that are compiled for processors of which only some have the instructions.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod compiled {
    use super::isa::Rounds;
    use super::*;

    macro_rules! compiled_for {
        ($feature:literal, $isa:ident, $short:ident, $long:ident) => {
            pub(super) fn $short(
                isa: isa::$isa,
                hash: Lanes,
                bytes: &[u8],
                spans: &[Span],
                points: &mut [Point],
                to: &mut [u16],
            ) -> usize {
                #[target_feature(enable = $feature)]
                unsafe fn here<R: Rounds<isa::$isa>, const GROUPS: usize>(
                    isa: isa::$isa,
                    bytes: &[u8],
                    spans: &[Span],
                    points: &mut [Point],
                    to: &mut [u16],
                ) -> usize {
                    short::<_, R, GROUPS>(isa, bytes, spans, points, to)
                }
                match hash {
                    // SAFETY: `isa` exists only where the processor has the instructions
                    Lanes::Md5 => unsafe { here::<Md5, 2>(isa, bytes, spans, points, to) },
                    // SAFETY: as for MD5
                    Lanes::Sha1 => unsafe { here::<Sha1, 1>(isa, bytes, spans, points, to) },
                }
            }

            pub(super) fn $long(isa: isa::$isa, hash: Lanes, keys: &[&[u8]], points: &mut [Point]) {
                #[target_feature(enable = $feature)]
                unsafe fn here<R: Rounds<isa::$isa>>(
                    isa: isa::$isa,
                    keys: &[&[u8]],
                    points: &mut [Point],
                ) {
                    long::<_, R>(isa, keys, points)
                }
                match hash {
                    // SAFETY: `isa` exists only where the processor has the instructions
                    Lanes::Md5 => unsafe { here::<Md5>(isa, keys, points) },
                    // SAFETY: as for MD5
                    Lanes::Sha1 => unsafe { here::<Sha1>(isa, keys, points) },
                }
            }
        };
    }

    compiled_for!("avx2", Avx2, short_avx2, long_avx2);
    #[cfg(stead_avx512)]
    compiled_for!("avx512f", Avx512, short_avx512, long_avx512);
}
