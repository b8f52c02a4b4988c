//! Tests that every exported function is a single call of the boundary under its own name, and that
//! no other file has unsafe code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Returns the exported functions of a source, and what is wrong with them.
fn exported(text: &str) -> (BTreeSet<String>, Vec<String>) {
    let file = syn::parse_file(text).unwrap();
    let (mut names, mut wrong) = (BTreeSet::new(), Vec::new());
    for item in &file.items {
        let syn::Item::Fn(function) = item else {
            continue;
        };
        if function.sig.abi.is_none() {
            continue;
        }
        let name = function.sig.ident.to_string();
        match call(&function.block) {
            Some((guard, text))
                if ["status", "value"].contains(&guard.as_str()) && text == name => {}
            Some((guard, text)) => wrong.push(format!("{name} calls {guard}({text:?}, ..)")),
            None => wrong.push(format!("{name} is more than one call")),
        }
        names.insert(name);
    }
    (names, wrong)
}

/// Returns the function that a body calls and its first argument, if the body is `f("..", ..)`,
/// with or without `;`.
fn call(block: &syn::Block) -> Option<(String, String)> {
    let [syn::Stmt::Expr(syn::Expr::Call(call), _)] = block.stmts.as_slice() else {
        return None;
    };
    let syn::Expr::Path(function) = &*call.func else {
        return None;
    };
    let Some(syn::Expr::Lit(syn::ExprLit {
        lit: syn::Lit::Str(name),
        ..
    })) = call.args.first()
    else {
        return None;
    };
    Some((function.path.get_ident()?.to_string(), name.value()))
}

/// Whether a source has unsafe code. (The lint `unsafe_code` would refuse `no_mangle` as well.)
fn is_unsafe(text: &str) -> bool {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .any(|line| line.contains(concat!("un", "safe ")))
}

#[test]
fn every_exported_function_is_one_call_of_the_boundary() {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap() {
        let path = entry.unwrap().path();
        // the only file with unsafe code; it also has two functions for the tests. Its directory
        // has what stands for C in the tests.
        if path.ends_with("boundary.rs") || path.ends_with("boundary") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(!is_unsafe(&text), "unsafe: {}", path.display());
        let (names, wrong) = exported(&text);
        assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
        all.extend(names);
    }
    assert!(
        all.len() > 30 && all.contains("stead_map_locate"),
        "{all:?}"
    );
}

#[test]
fn a_function_beside_the_boundary_is_seen() {
    for bad in [
        "extern \"C\" fn stead_a() -> i32 { 1 }",
        "extern \"C\" fn stead_a() { let x = 1; value(\"stead_a\", 0, |_| Some(x)) }",
        "extern \"C\" fn stead_a() -> i32 { value(\"stead_b\", 0, |_| None) }",
        "extern \"C\" fn stead_a() -> i32 { other(\"stead_a\", 0, |_| None) }",
    ] {
        assert_eq!(exported(bad).1.len(), 1, "{bad}");
    }
    assert!(is_unsafe(concat!("fn a() {\n    un", "safe { b() }\n}")));
    assert!(!is_unsafe("// it is unsafe elsewhere"));
}
