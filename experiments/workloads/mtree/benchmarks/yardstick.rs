// SPDX-License-Identifier: BSD-3-Clause
//
// The trees of the crate masstree, for mtree_yardstick.cpp: whole batches of operations, so that a call across languages
// costs nothing that counts. `boxed` keeps values out of line, as mtree does; else they lie in the nodes.
use masstree::{MassTree15, MassTree15Inline, RangeBound, ValuePtr};

#[repr(C)]
pub struct Key {
    bytes: *const u8,
    length: usize,
}

impl Key {
    fn slice(&self) -> &[u8] {
        unsafe { std::slice::from_raw_parts(self.bytes, self.length) }
    }
}

pub enum Tree {
    Boxed(MassTree15<u64>),
    Inline(MassTree15Inline<u64>),
}

#[unsafe(no_mangle)]
pub extern "C" fn yardstick_new(boxed: bool) -> *mut Tree {
    Box::into_raw(Box::new(if boxed { Tree::Boxed(MassTree15::new()) } else { Tree::Inline(MassTree15Inline::new()) }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn yardstick_delete(tree: *mut Tree) {
    drop(unsafe { Box::from_raw(tree) });
}

macro_rules! on {
    ($tree:expr, $name:ident, $body:expr) => {
        match unsafe { &*$tree } {
            Tree::Boxed($name) => $body,
            Tree::Inline($name) => $body,
        }
    };
}

trait Number {
    fn number(&self) -> u64;
}
impl Number for u64 {
    fn number(&self) -> u64 {
        *self
    }
}
impl Number for ValuePtr<u64> {
    fn number(&self) -> u64 {
        **self
    }
}

// Key i becomes, or has its value changed to, `value` + i.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn yardstick_put(tree: *const Tree, keys: *const Key, count: usize, value: u64) {
    let keys = unsafe { std::slice::from_raw_parts(keys, count) };
    on!(tree, tree, {
        let guard = tree.guard();
        for (i, key) in keys.iter().enumerate() {
            tree.insert_with_guard(key.slice(), value + i as u64, &guard);
        }
    })
}

// The sum of the values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn yardstick_get(tree: *const Tree, keys: *const Key, count: usize) -> u64 {
    let keys = unsafe { std::slice::from_raw_parts(keys, count) };
    let mut sum = 0u64;
    on!(tree, tree, {
        let guard = tree.guard();
        for key in keys {
            sum = sum.wrapping_add(tree.get_with_guard(key.slice(), &guard).map_or(0, |value| value.number()));
        }
    });
    sum
}

// `limit` keys from each key on; how many there were. Not which: where keys share their first eight bytes, scans of 0.9.5
// begin at other keys than they are told (1,156 of 2,000 did so against std's BTreeMap).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn yardstick_scan(tree: *const Tree, keys: *const Key, count: usize, limit: usize) -> u64 {
    let keys = unsafe { std::slice::from_raw_parts(keys, count) };
    let (mut sum, mut visited) = (0u64, 0u64);
    on!(tree, tree, {
        let guard = tree.guard();
        for key in keys {
            let mut left = limit;
            tree.scan(
                RangeBound::Included(key.slice()),
                RangeBound::Unbounded,
                |_, value| {
                    sum = sum.wrapping_add(value.number());
                    left -= 1;
                    left > 0
                },
                &guard,
            );
            visited += (limit - left) as u64;
        }
    });
    std::hint::black_box(sum);
    visited
}

// How many of them there were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn yardstick_remove(tree: *const Tree, keys: *const Key, count: usize) -> u64 {
    let keys = unsafe { std::slice::from_raw_parts(keys, count) };
    let mut removed = 0u64;
    on!(tree, tree, {
        let guard = tree.guard();
        for key in keys {
            removed += matches!(tree.remove_with_guard(key.slice(), &guard), Ok(Some(_))) as u64;
        }
    });
    removed
}
