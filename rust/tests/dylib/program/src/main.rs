// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program that uses the crate by way of a `dylib`: both have one domain.
use std::ffi::CString;

use rtrcu::{Rcu, RcuMap};

/// Loads more copies of the plugin than the loader's space for initial-exec thread-local storage can hold.
fn load_copies(plugin: &str) {
    for i in 0..12 {
        let copy = format!("{plugin}.{i}");
        std::fs::copy(plugin, &copy).unwrap();
        let copy = CString::new(copy).unwrap();
        // SAFETY: the file is a copy of the plugin, and the function that is looked up has this type.
        let value = unsafe {
            let handle = libc::dlopen(copy.as_ptr(), libc::RTLD_NOW);
            assert!(!handle.is_null(), "copy {i} is not loaded");
            let symbol = libc::dlsym(handle, c"plugin_value".as_ptr());
            std::mem::transmute::<*mut libc::c_void, extern "C" fn() -> i32>(symbol)()
        };
        assert_eq!(value, 7);
    }
}

fn main() {
    let cell = Rcu::new(1);
    let map = RcuMap::new();
    let before = rtrcu::stats().callbacks_invoked;
    for value in 2..=100 {
        cell.replace(value);
        map.insert(value, value);
    }
    assert_eq!((*cell.load(&rtrcu::read()), middle::value(&cell)), (100, 100));
    assert_eq!(map.get(&7, &rtrcu::read()), Some(&7));
    rtrcu::synchronize();
    rtrcu::barrier();
    assert!(middle::rtrcu::stats().callbacks_invoked >= before + 99);
    load_copies(&std::env::args().nth(1).expect("the plugin's path"));
    println!("dylib: ok");
}
