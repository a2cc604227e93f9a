// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two versions of the crate in one program, and the C library that its argument names: each is a domain of its own.
//! Built by `rust/package`.

use std::ffi::{CString, c_void};

fn symbol(library: *mut c_void, name: &str) -> unsafe extern "C" fn() {
    let name = CString::new(name).unwrap();
    // SAFETY: the library is open; the functions that are looked up take and return nothing.
    unsafe {
        let found = libc::dlsym(library, name.as_ptr());
        assert!(!found.is_null());
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn()>(found)
    }
}

fn main() {
    let (old, new) = (first::Rcu::new(String::from("old")), second::Rcu::new(String::from("new")));
    let guard = first::read();
    assert!(!second::is_reading());
    let seen = old.load(&guard);
    old.replace(String::new());
    new.replace(String::new());
    second::synchronize(); // does not wait for the reader of the first copy
    second::barrier();
    assert_eq!(second::stats().callbacks_invoked, 1);
    assert_eq!(first::stats().callbacks_invoked, 0);
    let mut said = "two versions of the crate";
    if let Some(library) = std::env::args().nth(1) {
        let library = CString::new(library).unwrap();
        // SAFETY: the library's constructors may run here; they would end the program if they counted this program's
        // private copies.
        let library = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null(), "the C library can be loaded");
        // SAFETY: this thread is outside sections of that library.
        unsafe { symbol(library, "rtrcu_synchronize")() }
        // SAFETY: as above.
        unsafe { symbol(library, "rtrcu_barrier")() }
        said = "two versions of the crate, and the C library";
    }
    assert_eq!(seen, "old");
    drop(guard);
    first::barrier();
    assert_eq!(first::stats().callbacks_invoked, 1);
    println!("in one process: {said}");
}
