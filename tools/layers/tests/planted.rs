//! Controls for the checks: planted circles and wrong directions are found, in whatever way they
//! are written, and code without them passes.
#![allow(missing_docs)]

use stead_layers::{order, Crate};

fn read(files: &[(&str, &str)]) -> Crate {
    let of = Crate::of(files).unwrap();
    assert_eq!(of.lost, [], "{files:?}");
    of
}

/// A crate of two files: b.rs uses a.rs, and a.rs has `code`. The two use each other if `code` uses
/// `b::B`.
fn with(code: &str) -> Crate {
    read(&[
        (
            "lib.rs",
            "mod a; mod b; mod c; pub use b::B; pub use b::B as Other;",
        ),
        ("a.rs", &format!("pub struct A; {code}")),
        (
            "b.rs",
            "use crate::a::A; pub struct B(A); pub fn make() {} pub const ONE: u8 = 1;",
        ),
        ("c.rs", "pub use crate::b::*;"),
    ])
}

#[test]
fn every_way_to_use_a_file_is_seen() {
    for code in [
        "use crate::b::B;",
        "use crate::b::B as Renamed;",
        "use crate::{b, c};",
        "use crate::{c, b::{self, B}};",
        "use super::b::B;",
        "use super::{b::B};",
        "use crate::b::*;",
        "use crate::B;",
        "use crate::Other;",
        "use crate::c::B;",
        "pub(crate) use crate::b::B;",
        "fn f() -> crate::b::B { todo!() }",
        "fn f() { super::b::make() }",
        "fn f() { use super::b::{make, ONE}; make() }",
        "fn f() { if true { let _ = vec![crate::b::ONE]; } }",
        "impl From<crate::b::B> for A { fn from(_: crate::b::B) -> A { A } }",
        "macro_rules! m { () => { $crate::b::make() } }",
        "mod inner { use super::super::b::B; }",
        "mod inner { fn f() { crate::b::make() } }",
        "#[derive(Debug)] #[doc = \"x\"] struct S { #[cfg(unix)] b: crate::b::B }",
        "fn f() { #[cfg(test)] g(); crate::b::make() }",
    ] {
        assert_eq!(with(code).circles(), [["a.rs", "b.rs"]], "{code}");
    }
}

#[test]
fn what_a_macro_defines_is_found() {
    let of = read(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::Record; pub struct A;"),
        ("b.rs", "use crate::a::A; record! { Record { a: A } }"),
    ]);
    assert_eq!(of.circles(), [["a.rs", "b.rs"]]);
}

#[test]
fn what_is_no_use_is_let_pass() {
    for code in [
        "",
        "// use crate::b::B;",
        "/// [`crate::b::B`]\nfn f() {}",
        "fn f() -> &'static str { \"crate::b::B\" }",
        "#[cfg(test)] use crate::b::B;",
        "#[cfg(test)] mod tests { use crate::b::B; }",
        "#[cfg(test)] fn f() -> crate::b::B { todo!() }",
        "impl A { #[cfg(test)] fn f() -> crate::b::B { todo!() } fn g() {} }",
        "use std::b::B;",
        "fn f() { ::b::make() }",
        "fn f(b: u8) -> u8 { b.make() }",
        "mod b { pub struct B; } use b::B;",
    ] {
        assert_eq!(with(code).circles(), [[""; 0]; 0], "{code}");
    }
}

#[test]
fn a_directory_lists_what_is_below_it_and_may_not_use_it_back() {
    let room = |list: &str, below: &str| {
        let list = format!("mod x; mod y; pub struct Here; {list}");
        let of = read(&[
            ("lib.rs", "pub mod room;"),
            ("room/mod.rs", &list),
            ("room/x.rs", below),
            ("room/y.rs", "pub struct Y; pub fn y() {}"),
        ]);
        of.circles().concat().join(" ")
    };
    let from_above = "pub struct X; use super::Here;";
    assert_eq!(room("pub use x::X;", from_above), "");
    assert_eq!(room("pub(super) use x::*;", from_above), "");
    // a module that both re-exports and uses
    assert_eq!(
        room("pub use x::X; fn f() -> X { X }", from_above),
        "room/mod.rs room/x.rs"
    );
    assert_eq!(room("use x::X;", from_above), "room/mod.rs room/x.rs");
    assert_eq!(room("list! { x, y }", from_above), "room/mod.rs room/x.rs");
    // a path through the list leads to the file below it, not to the list
    assert_eq!(
        room(
            "pub use y::Y; fn f() { x::f() }",
            "use super::Y; pub fn f() {}"
        ),
        ""
    );
    assert_eq!(
        room(
            "pub use y::Y; pub use x::X;",
            "pub struct X; use crate::room::X as Own;"
        ),
        ""
    );
}

#[test]
fn circles_around_a_corner_are_seen_and_named() {
    let of = read(&[
        ("lib.rs", ""),
        ("a.rs", "use crate::deep::d::D; pub struct A;"),
        ("b.rs", "pub type B = crate::a::A;"),
        ("deep/mod.rs", "pub mod d;"),
        ("deep/d.rs", "pub struct D(crate::b::B);"),
        ("e.rs", "use crate::a::A;"),
    ]);
    let circles = of.circles();
    assert_eq!(circles, [["a.rs", "b.rs", "deep/d.rs"]]);
    assert_eq!(
        of.among(&circles[0]),
        [
            "a.rs -> deep/d.rs: crate::deep::d::D",
            "b.rs -> a.rs: crate::a::A",
            "deep/d.rs -> b.rs: crate::b::B"
        ]
    );
}

#[test]
fn functions_that_stand_apart_from_their_type_are_found_by_it() {
    let of = |code: &str| {
        read(&[
            ("lib.rs", ""),
            (
                "kind.rs",
                &format!("pub struct Kind; impl Kind {{ pub fn here() {{}} }} {code}"),
            ),
            (
                "list.rs",
                "use crate::kind::Kind; impl Kind { pub fn named() {} }",
            ),
        ])
        .circles()
        .len()
    };
    assert_eq!(of("fn f() { Kind::here() }"), 0);
    assert_eq!(of("fn f() { Kind::named() }"), 1);
}

#[test]
fn files_for_tests_do_not_count() {
    let of = read(&[
        ("lib.rs", "mod a; #[cfg(test)] mod seen;"),
        ("a.rs", "#[cfg(test)] mod tests; pub fn a() {}"),
        ("a/tests.rs", "use super::a; use crate::seen::see;"),
        ("seen.rs", "pub fn see() { crate::a::a() }"),
    ]);
    assert!(of.uses.is_empty(), "{:?}", of.uses);
}

#[test]
fn a_path_that_leads_nowhere_is_told() {
    let of = Crate::of(&[("lib.rs", ""), ("a.rs", "use crate::b::B; use super::c;")]).unwrap();
    assert_eq!(
        of.lost,
        [(1, "crate::b::B".to_owned()), (1, "super::c".to_owned())]
    );
}

#[test]
fn wrong_directions_are_seen() {
    let against = |drawn: &str, b: &str| {
        let front = format!("//! A crate.\n//!\n//! ```text\n//! x --> y\n//! ```\n//!\n{drawn}\n");
        let of = read(&[
            ("lib.rs", &front),
            ("a.rs", "pub struct A;"),
            ("b.rs", b),
            ("c/mod.rs", "mod d; use crate::a::A;"),
            ("c/d.rs", "use crate::b::B;"),
        ]);
        order::against_the_order(&of)
    };
    let b = "pub struct B(crate::a::A);";
    assert_eq!(
        against("//! ```text\n//! a | b\n//! | c\n//! ```", b),
        [""; 0]
    );
    for (drawn, wrong) in [
        ("a b | c", "b.rs -> a.rs: crate::a::A: one group"),
        ("a | c | b", "c/d.rs -> b.rs: crate::b::B: to the right"),
        ("a | b", "c is missing in the order"),
        ("a | b | c | d", "d stands in the order and is no module"),
        ("a | b | a | c", "a stands in the order more than once"),
    ] {
        assert_eq!(
            against(&format!("//! ```text\n//! {drawn}\n//! ```"), b),
            [wrong]
        );
    }
    let none = "its front page draws no order: `a b | c`, fenced as text";
    assert_eq!(against("", b), [none]);
    let root = "use crate::top; pub struct B;";
    let of = read(&[
        ("lib.rs", "//! ```text\n//! a | b\n//! ```\npub fn top() {}"),
        ("a.rs", ""),
        ("b.rs", root),
    ]);
    assert_eq!(
        order::against_the_order(&of),
        ["b.rs -> lib.rs: crate::top: nothing uses the root"]
    );
}

#[test]
fn words_of_code_are_told_from_words_of_comments_and_tests() {
    let of = read(&[
        ("lib.rs", "#![deny(unsafe_code)]"),
        (
            "a.rs",
            "// unsafe\n#[allow(unsafe_code)] fn f() -> &'static str { \"unsafe\" }",
        ),
        ("b.rs", "fn f() { g(&[unsafe { h() }]) }"),
        ("c.rs", "struct S; unsafe impl Send for S {}"),
        ("d.rs", "#[cfg(test)] mod tests { unsafe fn f() {} }"),
        ("e.rs", "mod inside { pub unsafe fn f() {} }"),
    ]);
    assert!(of
        .files_with("unsafe")
        .into_iter()
        .eq(["b.rs", "c.rs", "e.rs"]));
}
