// SPDX-License-Identifier: MIT OR Apache-2.0
//! The structs that Rust declares have the memory layout of C.
#![cfg(not(miri))]

use std::mem::offset_of;

use rtrcu_sys::*;

macro_rules! field {
    ($type:ty, $field:ident) => {
        (offset_of!($type, $field), {
            fn size<T, F>(_: fn(&T) -> &F) -> usize {
                size_of::<F>()
            }
            size(|value: &$type| &value.$field)
        })
    };
}

#[test]
fn structs_have_the_layout_of_c() {
    // SAFETY: the array LAYOUT of the C library has LAYOUT_COUNT elements.
    let c = unsafe { std::slice::from_raw_parts((&raw const LAYOUT).cast::<usize>(), LAYOUT_COUNT) };
    let mut rust = Vec::new();
    rust.push(size_of::<rcu_head>());
    rust.extend(<[usize; 2]>::from(field!(rcu_head, func)));
    rust.push(size_of::<rcu_task>());
    rust.extend(<[usize; 2]>::from(field!(rcu_task, name)));
    rust.extend(<[usize; 2]>::from(field!(rcu_task, mounted)));
    rust.extend(<[usize; 2]>::from(field!(rcu_task, outer_base)));
    rust.push(size_of::<rtrcu_stats>());
    rust.extend(<[usize; 2]>::from(field!(rtrcu_stats, gp_busy)));
    rust.extend(<[usize; 2]>::from(field!(rtrcu_stats, callbacks_backlog)));
    rust.extend(<[usize; 2]>::from(field!(rtrcu_stats, latency_us_log2)));
    rust.extend(<[usize; 2]>::from(field!(rtrcu_stats, threads_woken)));
    rust.extend(<[usize; 2]>::from(field!(rtrcu_stats, gp_unfenced)));
    rust.extend(<[usize; 2]>::from(field!(rtrcu_stats, section_longest)));
    rust.extend(<[usize; 2]>::from(field!(rtrcu_stats, exp_by_caller)));
    rust.push(size_of::<rtrcu_hash_node>());
    rust.extend(<[usize; 2]>::from(field!(rtrcu_hash_node, link)));
    rust.push(size_of::<rtrcu_hash_line>());
    rust.extend(<[usize; 2]>::from(field!(rtrcu_hash_line, slots)));
    rust.extend(<[usize; 2]>::from(field!(rtrcu_hash_line, link)));
    rust.push(size_of::<rtrcu_hash_generation>());
    rust.extend(<[usize; 2]>::from(field!(rtrcu_hash_generation, mask)));
    rust.extend(<[usize; 2]>::from(field!(rtrcu_hash_generation, next)));
    rust.extend(<[usize; 2]>::from(field!(rtrcu_hash, current)));
    rust.push(size_of::<rtrcu_hash_config>());
    rust.extend(<[usize; 2]>::from(field!(rtrcu_hash_config, buckets)));
    rust.push(size_of::<rtrcu_hash_counters>());
    rust.extend(<[usize; 2]>::from(field!(rtrcu_hash_counters, no_resizer)));
    let (config, flag) = (c[c.len() - 2], c[c.len() - 1]);
    assert_eq!(rust, c[..c.len() - 2]);
    assert!(config <= size_of::<rtrcu_config>(), "{config}");
    assert_eq!(flag, size_of::<u32>());
}

#[test]
fn nested_sections_are_counted_and_delay_a_grace_period() {
    // SAFETY: each unlock follows a lock; the other calls are allowed anywhere.
    unsafe {
        assert_eq!(word() & NESTING_MASK, 0);
        for depth in 1..=1000 {
            read_lock();
            assert_eq!(word() & NESTING_MASK, depth);
        }
        let cookie = rtrcu_start_poll();
        for _ in 0..1000 {
            assert!(!rtrcu_poll_state(cookie));
            read_unlock();
        }
        assert_eq!(word() & NESTING_MASK, 0);
        rtrcu_cond_synchronize(cookie);
        assert!(rtrcu_poll_state(cookie));
    }
}
