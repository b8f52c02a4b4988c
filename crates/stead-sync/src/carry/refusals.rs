//! What a pass says when it goes no further: what was found, what it may mean, and what to do.

use stead::carry::{Carry, State};
use stead::guard::LastMove;

use super::kind::{Fault, Item, Node};
use crate::exit::{Failure, IO, NO_INPUT, REFUSED};

/// A node that cannot be used, and what to do. While a carry is open, a fleet is applied only if it
/// changes nothing but attributes.
pub fn unready(fault: Fault, carry: &Carry) -> Failure {
    let way_out = match (fault.is_there, carry.state, carry.reverse) {
        (true, State::New, _) | (true, _, true) => {
            "; after a change of its attributes, apply the fleet, and run again"
        }
        (true, _, false) => {
            "; after a change of its attributes, apply the fleet, and run again; before other \
             changes of the fleet, go back, with `stead-sync carry reverse` and `run`"
        }
        (false, State::Old, false) => {
            "; if it is at another address, or an attribute is wrong, correct the fleet, apply it, \
             and run again; if it is gone for good, name it in lost; before other changes of the \
             fleet, go back, with `stead-sync carry reverse` and `run`"
        }
        (false, State::BothOldFirst | State::BothNewFirst, false) => {
            "; if it is at another address, apply the fleet with that, and run again; if it is gone \
             for good, name it in lost, and if the carry brings copies there, also go back, with \
             `stead-sync carry reverse` and `run`"
        }
        _ => {
            "; if it is at another address, apply the fleet with that, and run again; if it is gone \
             for good, name it in lost"
        }
    };
    Failure::new(NO_INPUT, fault.line + way_out)
}

/// More items failed than `most`. The last one is named.
pub fn too_many_failed(most: u64, node: &Node, item: &Item, fault: &Fault) -> Failure {
    Failure::new(
        IO,
        format_args!(
            "more than {most} items failed, last {} of node {}: {}; nothing is lost: mend that, and \
             run the carry again",
            item.told(),
            node.name,
            fault.line
        ),
    )
}

/// More items than `most` have another value at their new places, which may be older. One of them
/// is named.
pub fn too_many_differ(most: u64, first: &str, also: &str) -> Failure {
    Failure::new(
        REFUSED,
        format_args!(
            "{} another value at their new places, such as {first}: nothing was removed, and hosts \
             still write both places; a program that does not follow the map may write to the old \
             places only{also}: find it, and go back with `stead-sync carry reverse`, which keeps \
             what the \
             old places have; if the new values are right, raise limits.different",
            more_than(most)
        ),
    )
}

/// More old copies than `most` were written after their new places, which hosts alone write now.
/// One of them is named.
pub fn too_many_newer(most: u64, first: &str) -> Failure {
    Failure::new(
        REFUSED,
        format_args!(
            "{} a newer value at their old places than at the new ones, such as {first}: these old \
             copies were not removed; either a program that does not follow the map writes to the \
             old places, so stop it; or two programs wrote one item at once before the step to new; \
             copy what is right to the new places, remove it at the old ones, and run the carry \
             again; if the new values are right, raise limits.different",
            more_than(most)
        ),
    )
}

/// A node has another value each time an item is copied there.
pub fn distorts(node: &Node, item: &Item) -> Fault {
    Fault::final_one(format_args!(
        "{}: node {} has another value each time it was copied there, although the value at the old \
         place stays the same: that node changes what is written, probably by a trigger, or a \
         program writes only there; look for it",
        item.told(),
        node.name
    ))
}

/// An item is written all the time.
pub fn busy(node: &Node, item: &Item) -> Fault {
    Fault::final_one(format_args!(
        "{}: it is written all the time at node {}; run the carry again when it is quieter",
        item.told(),
        node.name
    ))
}

fn more_than(most: u64) -> String {
    match most {
        0 => "some items have".to_owned(),
        1 => "more than 1 item has".to_owned(),
        most => format!("more than {most} items have"),
    }
}

/// The new place lacks an item of a node, before anything was removed.
pub fn lacking(node: &Node, item: &Item) -> Failure {
    Failure::new(
        REFUSED,
        format_args!(
            "the new place lacks {} of node {}: nothing was removed, and hosts still write both \
             places; look whether a node has lost data, a program writes to the old place only, the \
             file of the carry was changed, or one of several copies was deleted after a change \
             without a carry; `stead-sync carry reverse` goes back; more than limits.absent such \
             items of a node end a run",
            item.told(),
            node.name
        ),
    )
}

/// The new place lacks at least `count` items of a node, whose old copies would be removed now.
/// There may be more: the pass ends at the first item that exceeds the limit. `is_compared` says
/// whether this carry has compared all items at both places before.
pub fn lacking_at_the_end(count: u64, node: &Node, item: &Item, is_compared: bool) -> Failure {
    let items = match count {
        1 => "1 item".to_owned(),
        count => format!("{count} items"),
    };
    let why = match is_compared {
        true => {
            "look whether the new node has lost data; if applications have deleted them, raise \
             limits.deleted and run the carry again"
        }
        false => {
            "this journal does not know that they were ever copied, as when states were passed by \
             hand: copy what is right to the new places; if applications have deleted the others, \
             set limits.deleted to their number; then run the carry again"
        }
    };
    Failure::new(
        REFUSED,
        format_args!(
            "the new place lacks {} or more of node {}, such as {}: these old copies were not removed; {why}",
            items,
            node.name,
            item.told()
        ),
    )
}

/// Items are only at their new places, and the last change moved data without a carry. If most are,
/// the data is still where it was before that change; a few were written meanwhile, or are left.
pub fn uncarried(last: &LastMove, (new, old): (u64, u64), first: &str, map: &str) -> Failure {
    let (told, before) = (last.told(), last.before);
    let items = match new {
        1 => "1 item is only at its new place".to_owned(),
        new => format!("{new} items are only at their new places"),
    };
    let what = match new > old {
        true => format!(
            "so the data may still be where epoch {before} had it, and this carry looks for it at \
             wrong places; nothing was changed; if it is, `stead-sync carry reverse`, `stead-sync \
             carry run`, and then `stead rollback {map} {before} --exact --allow leave-data`; if \
             these are left from an earlier time, raise limits.only_new, which removes them"
        ),
        false => "so these were written meanwhile, or are left from an earlier time; nothing was \
                  changed; `stead-sync carry ahead` lists them: copy those that are right to their old \
                  places, and run again; limits.only_new says how many may be removed"
            .to_owned(),
    };
    Failure::new(
        REFUSED,
        format_args!("{items}, such as {first}, and {old} at the old ones: {told}, {what}"),
    )
}

/// Only the new place has an item, which verifying would remove.
pub fn only_new(from: &Node, to: &Node) -> Fault {
    Fault::final_one(format_args!(
        "only its new place, node {to}, has it, and verifying would remove it there: a program that \
         does not follow the carry may write to new places only, or delete at old ones only, an \
         earlier change moved data without a carry, or {to} has an old disk, where applications have \
         deleted such items since; copy what is right to node {from}; if {from} has lost its data, \
         name it in lost; raising limits.only_new deletes such copies",
        to = to.name,
        from = from.name
    ))
}

/// Only the new place has an item, which going back would remove.
pub fn only_new_in_reverse(from: &Node, to: &Node) -> Fault {
    Fault::final_one(format_args!(
        "only its new place, node {}, has it, and going back would remove it there: a program that \
         does not follow the carry may write to new places only, or one died between its two \
         writes; copy what is right to node {from}; if {from} has lost its data, name it in lost; \
         raising limits.only_new deletes such copies",
        to.name,
        from = from.name
    ))
}

/// The new place has another value that was written later, which verifying would replace.
pub fn written_later(from: &Node, to: &Node, also: &str) -> Fault {
    Fault::final_one(format_args!(
        "its new place, node {}, has another value, which may be the newer one, and verifying would \
         replace it: a program that does not follow the carry may write to new places only, or \
         hosts have read and written there in an earlier change{also}; copy what is right to node \
         {}, or \
         raise limits.different if the values of the old places are right",
        to.name, from.name
    ))
}

/// The new place lacks an item of a node in the state `new`, and new places were emptied or
/// replaced in it: those of these names.
pub fn lacking_since(doubted: &str, node: &Node, item: &Item) -> Failure {
    Failure::new(
        REFUSED,
        format_args!(
            "the new place lacks {} of node {}, since {doubted} was emptied, replaced or started \
             again while hosts \
             read it: no old copy is removed; if other nodes have copies, name {doubted} in lost, \
             run the carry again, and then replace that node; if not, copy the old copies to it \
             without replacing what is there: they are as old as the step to `new`; limits.absent \
             says how many may be lacking",
            item.told(),
            node.name
        ),
    )
}

/// Places that keep the data were emptied or replaced while other copies were removed: those that
/// `told` names.
pub fn replaced_meanwhile(told: &str) -> Failure {
    Failure::new(
        REFUSED,
        format_args!(
            "{told}: the copies of what is lacking there are not removed; run the carry again, and \
             it looks for what only they have"
        ),
    )
}

/// Items are only at their new places, and going back would remove them.
pub fn only_new_before_reverse(count: u64, first: &str) -> Failure {
    let (items, they) = match count {
        1 => ("item is only at its new place", "it"),
        _ => ("items are only at their new places", "them"),
    };
    Failure::new(
        REFUSED,
        format_args!(
            "{count} {items}, such as {first}, and going back would remove {they}; nothing was \
             changed; `stead-sync carry ahead` lists {they}: copy what is right to the old places; if an old node has lost its data, name \
             it in lost; limits.only_new says how many may be removed"
        ),
    )
}
