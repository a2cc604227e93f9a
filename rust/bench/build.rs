// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds the C library once more, with its own names, and the C reader loops that are compared with those in Rust.

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/reader.c");
    let vendor = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rtrcu-sys/vendor");
    let mut files = vec![PathBuf::from("src/reader.c")];
    walk(&vendor.join("src"), &mut files);
    cc::Build::new()
        .files(files)
        .include(vendor.join("include"))
        .include(vendor.join("src"))
        .std("gnu11")
        .opt_level(2)
        .define("_GNU_SOURCE", None)
        .flag("-fvisibility=hidden")
        .flag("-falign-loops=64")
        .warnings(false)
        .compile("rtrcu_as_it_is");
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the library's source") {
        let path = entry.expect("a folder that can be read").path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|e| e == "c") {
            files.push(path);
        }
    }
}
