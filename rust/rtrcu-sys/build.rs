// SPDX-License-Identifier: MIT OR Apache-2.0
//! Build the C library out of `vendor/` as a copy that is this crate's alone.
//!
//! `vendor/src` and `vendor/include` are the project's own `src/` and `include/`: links in its repository, files in a
//! package. Each global name of the objects gets the prefix of this crate's version, so that the copy meets neither
//! another version of the crate nor the C library itself, whatever else is linked into the program.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use object::build::elf::Builder;
use object::elf;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(rtrcu_asm_goto)");
    println!("cargo::rustc-check-cfg=cfg(rtrcu_tsan)");
    println!("cargo::rerun-if-changed=build.rs");
    if rustc_minor() >= 87 {
        println!("cargo::rustc-cfg=rtrcu_asm_goto");
    }
    // Miri runs no C: there a model of the library in Rust takes its place.
    if env::var_os("CARGO_CFG_MIRI").is_some() || env::var_os("DOCS_RS").is_some() {
        return;
    }
    let os = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    if os != "linux" || !matches!(arch.as_str(), "x86_64" | "aarch64") {
        panic!("rtrcu needs Linux on x86-64 or aarch64; this is {os} on {arch}");
    }
    build();
}

/// The second number of the compiler's version.
fn rustc_minor() -> u32 {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = std::process::Command::new(rustc).arg("--version").output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(0)
}

fn build() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let vendor = root.join("vendor");
    // Through a link the time of the files behind it counts, so each is named.
    let mut sources = Vec::new();
    for folder in ["src", "include"] {
        walk(&vendor.join(folder), &mut |file| {
            println!("cargo::rerun-if-changed={}", file.display());
            if file.extension().is_some_and(|e| e == "c") {
                sources.push(file.to_path_buf());
            }
        });
    }
    sources.sort();
    assert!(!sources.is_empty(), "vendor/src holds no C source");
    sources.push(root.join("src/private.c"));
    println!("cargo::rerun-if-changed={}", root.join("src/private.c").display());

    let mut compiler = cc::Build::new();
    compiler
        .files(&sources)
        .include(vendor.join("include"))
        .include(vendor.join("src"))
        .std("gnu11")
        .opt_level(2)
        .pic(true)
        .define("_GNU_SOURCE", None)
        .define("RTRCU_NOTE_TYPE", "0x7270") // a private copy, which may stand beside others
        .flag("-fvisibility=hidden")
        .flag("-fno-lto") // the objects' names are changed below
        .warnings(false);
    if env::var_os("CARGO_FEATURE_CHECKS").is_some() {
        compiler.define("RTRCU_DEBUG", "1");
    }
    let objects = compiler.compile_intermediates();

    let part = |name: &str| env::var(format!("CARGO_PKG_VERSION_{name}")).expect("cargo sets it");
    let prefix = format!("rtrcu_rs_{}_{}_{}_", part("MAJOR"), part("MINOR"), part("PATCH"));
    let private = rename_all(&objects, &prefix, &out);

    let mut archive = cc::Build::new();
    for object in private {
        archive.object(object);
    }
    archive.compile("rtrcu_private");
    println!("cargo::rustc-link-lib=pthread");
    println!("cargo::rustc-link-lib=dl");
}

/// Every file below `folder`.
fn walk(folder: &Path, seen: &mut dyn FnMut(&Path)) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry.expect("a folder that can be read").path();
        if path.is_dir() {
            walk(&path, seen);
        } else {
            seen(&path);
        }
    }
}

/// Give each name that one of the objects defines the prefix, in all of them; returns the new objects.
fn rename_all(objects: &[PathBuf], prefix: &str, out: &Path) -> Vec<PathBuf> {
    let contents: Vec<Vec<u8>> =
        objects.iter().map(|path| fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))).collect();
    let mut defined = HashSet::new();
    for data in &contents {
        for symbol in &parse(data).symbols {
            if is_global(symbol) && symbol.st_shndx != elf::SHN_UNDEF {
                defined.insert(symbol.name.to_vec());
            }
        }
    }
    // What sanitizers add to each object is shared between objects, ours or not, by its name.
    defined.retain(|name| !name.starts_with(b"__"));
    let mut renamed = Vec::new();
    for (data, path) in contents.iter().zip(objects) {
        let mut object = parse(data);
        for symbol in &mut object.symbols {
            if is_global(symbol) && defined.contains(&symbol.name[..]) {
                let name = [prefix.as_bytes(), &symbol.name[..]].concat();
                symbol.name = name.into();
            }
        }
        let file = out.join(format!("private-{}", path.file_name().expect("a file").to_string_lossy()));
        let mut bytes = Vec::new();
        object.write(&mut bytes).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        fs::write(&file, bytes).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        renamed.push(file);
    }
    renamed
}

fn parse(data: &[u8]) -> Builder<'_> {
    Builder::read(data).expect("the compiler makes ELF objects")
}

fn is_global(symbol: &object::build::elf::Symbol<'_>) -> bool {
    symbol.st_bind() != elf::STB_LOCAL
}
