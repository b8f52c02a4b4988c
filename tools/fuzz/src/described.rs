//! What a map says of itself, as a program in C asks libstead, and the answers of the Rust library.
#![allow(unsafe_code)] // `call!`, whose one block of unsafe code is in foreign.rs

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

use stead::policy::{NodeId, PolicyId};
use stead::report::Report;
use stead::{Error, Map};
use stead_capi::types::stead_slice;

use crate::arguments::{
    number, place, status_of, taken, List, MapOf, Nulls, Record, INVALID, UNTOUCHED,
};
use crate::foreign::{call, said};
use crate::input::Input;

/// Asks for what a map says of its nodes.
pub(crate) fn nodes(map: &MapOf, input: &mut Input<'_>) {
    let (c, rust) = (map.c, &*map.rust);
    let count = rust.nodes().len();
    assert_eq!(call!(stead_map_node_count(c)), count as i32);
    let at = place(input, count);
    let id = usize::try_from(at).ok().filter(|at| *at < count);
    let node = id.map(|id| rust.node(NodeId(id as u32)));
    let name = said(call!(stead_map_node_name(c, at)));
    assert_eq!(name.as_deref(), node.as_ref().map(|node| node.name()));
    let sought = name.unwrap_or_else(|| "nobody".to_owned());
    let text = CString::new(sought.as_str()).expect("no NUL in a name");
    let found = rust.node_named(&sought).map_or(-1, |node| number(node.id));
    assert_eq!(call!(stead_map_node_named(c, text.as_ptr())), found);
    assert_eq!(call!(stead_map_node_named(c, null())), -1);
    assert_eq!(call!(stead_map_node_named(c, c"\xff".as_ptr())), -1);
    let (nulls, mut record, mut weight) = (Nulls::of(input), Record::new(), 77);
    let place_of = nulls.or_mut(1, &mut weight);
    let status = call!(stead_map_node_weight(
        nulls.or(0, c),
        at,
        place_of,
        record.place(input)
    ));
    let there = if node.is_some() { 0 } else { INVALID };
    record.check("stead_map_node_weight", status, nulls.status(2, there));
    if let (0, Some(node)) = (status, &node) {
        assert_eq!(weight, node.weight().millionths());
    }
    let leaving = node.as_ref().map_or(-1, |node| i32::from(node.leaving()));
    assert_eq!(call!(stead_map_node_leaving(c, at)), leaving);
    let node = node.as_ref();
    let labels: Vec<_> = node.iter().flat_map(|node| node.labels()).collect();
    let attributes: Vec<_> = node.iter().flat_map(|node| node.attributes()).collect();
    let counted = |list: &[(&str, &str)]| node.map_or(-1, |_| list.len() as i32);
    assert_eq!(call!(stead_map_node_label_count(c, at)), counted(&labels));
    assert_eq!(
        call!(stead_map_node_attribute_count(c, at)),
        counted(&attributes)
    );
    let which = place(input, labels.len());
    let named = |list: &[(&str, &str)]| {
        let there = usize::try_from(which)
            .ok()
            .and_then(|which| list.get(which));
        there.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
    };
    let (label, attribute) = (named(&labels), named(&attributes));
    let name = |pair: &Option<(String, String)>| pair.as_ref().map(|pair| pair.0.clone());
    assert_eq!(
        said(call!(stead_map_node_label_name(c, at, which))),
        name(&label)
    );
    assert_eq!(
        said(call!(stead_map_node_attribute_name(c, at, which))),
        name(&attribute)
    );
    let sought = |pair: &Option<(String, String)>| {
        let text = name(pair).unwrap_or_else(|| "none".to_owned());
        CString::new(text).expect("no NUL in a name")
    };
    let value = |list: &[(&str, &str)], name: &CStr| {
        let found = list
            .iter()
            .find(|(known, _)| known.as_bytes() == name.to_bytes());
        found.map(|(_, value)| (*value).to_owned())
    };
    let (of_label, of_attribute) = (sought(&label), sought(&attribute));
    let found = said(call!(stead_map_node_label(c, at, of_label.as_ptr())));
    assert_eq!(found, value(&labels, &of_label));
    let found = said(call!(stead_map_node_attribute(
        c,
        at,
        of_attribute.as_ptr()
    )));
    assert_eq!(found, value(&attributes, &of_attribute));
    assert_eq!(said(call!(stead_map_node_label(c, at, null()))), None);
}

/// Asks for what a map says of itself, of its policies and of its slices.
pub(crate) fn policies(map: &MapOf, input: &mut Input<'_>) {
    let (c, rust) = (map.c, &*map.rust);
    assert_eq!(said(call!(stead_map_name(c))).as_deref(), Some(rust.name()));
    assert_eq!(call!(stead_map_epoch(c)), rust.epoch());
    assert_eq!(call!(stead_map_replicas(c)), rust.replicas() as i32);
    assert_eq!(call!(stead_map_same(c, c)), 1);
    assert_eq!(call!(stead_map_same(c, null())), -1);
    let (nulls, mut record, mut digest) = (Nulls::of(input), Record::new(), [77; 32]);
    let at = nulls.or_mut(1, digest.as_mut_ptr());
    let status = call!(stead_map_digest(nulls.or(0, c), at, record.place(input)));
    record.check("stead_map_digest", status, nulls.status(2, 0));
    assert_eq!(digest, if status == 0 { rust.digest() } else { [77; 32] });
    let mut record = Record::new();
    let at = nulls.or_mut(1, digest.as_mut_ptr());
    let status = call!(stead_map_parent(nulls.or(0, c), at, record.place(input)));
    record.check("stead_map_parent", status, nulls.status(2, 0));
    assert_eq!(digest, if status == 0 { rust.parent() } else { [77; 32] });
    let levels = rust.spread().len();
    assert_eq!(call!(stead_map_spread_count(c)), levels as i32);
    let at = place(input, levels);
    let level = usize::try_from(at)
        .ok()
        .and_then(|at| rust.spread().nth(at));
    assert_eq!(said(call!(stead_map_spread(c, at))).as_deref(), level);

    let count = rust.policies().len();
    assert_eq!(call!(stead_map_policy_count(c)), count as i32);
    let at = place(input, count);
    let id = usize::try_from(at).ok().filter(|at| *at < count);
    let policy = id.map(|id| rust.policy(PolicyId(id as u32)));
    let name = policy.as_ref().and_then(|policy| policy.name());
    assert_eq!(said(call!(stead_map_policy_name(c, at))).as_deref(), name);
    let kind = policy.as_ref().map(|policy| policy.kind());
    assert_eq!(said(call!(stead_map_policy_kind(c, at))).as_deref(), kind);
    let there = if policy.is_some() { 0 } else { INVALID };
    let (nulls, mut record, mut weight) = (Nulls::of(input), Record::new(), 77);
    let place_of = nulls.or_mut(1, &mut weight);
    let status = call!(stead_map_policy_weight(
        nulls.or(0, c),
        at,
        place_of,
        record.place(input)
    ));
    record.check("stead_map_policy_weight", status, nulls.status(2, there));
    if let (0, Some(policy)) = (status, &policy) {
        assert_eq!(
            weight,
            policy.weight().map_or(0, |weight| weight.millionths())
        );
    }
    let (mut record, mut list) = (Record::new(), List::of(input));
    let bad = nulls.any(2) || (list.capacity > 0 && nulls.any(3));
    let status = call!(stead_map_policy_nodes(
        nulls.or(0, c),
        at,
        nulls.or_mut(2, list.values.as_mut_ptr()),
        list.capacity,
        nulls.or_mut(1, &mut list.count),
        record.place(input),
    ));
    record.check(
        "stead_map_policy_nodes",
        status,
        if bad { INVALID } else { there },
    );
    let members = policy.map(|policy| policy.members().map(number).collect::<Vec<i32>>());
    list.check(status, &members.unwrap_or_default());

    let count = rust.slice_count();
    assert_eq!(call!(stead_map_slice_count(c)), count);
    let index = *input.one_of(&[0, count / 2, count - 1, count, usize::MAX]);
    let mut slice = stead_slice {
        first: 77,
        last: 77,
        policy: UNTOUCHED,
        reserved: 77,
    };
    let (nulls, mut record) = (Nulls::of(input), Record::new());
    let place_of = nulls.or_mut(1, &mut slice);
    let status = call!(stead_map_slice(
        nulls.or(0, c),
        index,
        place_of,
        record.place(input)
    ));
    let there = if index < count { 0 } else { INVALID };
    record.check("stead_map_slice", status, nulls.status(2, there));
    if let (0, Some(wanted)) = (status, rust.slice(index)) {
        let found = (slice.first, slice.last, slice.policy, slice.reserved);
        assert_eq!(
            found,
            (wanted.first.0, wanted.last.0, wanted.policy.0 as i32, 0)
        );
    }
}

/// Returns the report of a map as the Rust library makes it.
fn report_of(map: &Map) -> Result<String, Error> {
    let report = Report::of(None, map, false)?;
    Ok(serde_json::to_string(&report).expect("a report as JSON"))
}

/// Asks for the texts of a map: its report and its fleet.
pub(crate) fn texts(map: &MapOf, input: &mut Input<'_>) {
    let report = report_of(&map.rust);
    let (nulls, mut record, mut text) = (Nulls::of(input), Record::new(), null_mut());
    let at = nulls.or_mut(1, &mut text);
    let status = call!(stead_map_report(
        nulls.or(0, map.c),
        at,
        record.place(input)
    ));
    record.check(
        "stead_map_report",
        status,
        nulls.status(2, status_of(&report)),
    );
    assert_eq!(taken(text), report.ok().filter(|_| status == 0));
    let (nulls, mut record, mut text) = (Nulls::of(input), Record::new(), null_mut());
    let at = nulls.or_mut(1, &mut text);
    let status = call!(stead_map_fleet(nulls.or(0, map.c), at, record.place(input)));
    record.check("stead_map_fleet", status, nulls.status(2, 0));
    let wanted = (status == 0).then(|| map.rust.fleet().to_toml());
    assert_eq!(taken(text), wanted);
}
