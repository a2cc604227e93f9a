// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds the C library from `vendor/` as a private copy of this crate.
//!
//! `vendor/src` and `vendor/include` are the project's own `src/` and `include/`: links in its repository, files in a
//! package. Each global name of the objects gets the prefix of this crate's version, so that the names of the copy
//! collide neither with those of another version of the crate nor with those of the C library in the same program.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(rtrcu_asm_goto)");
    println!("cargo::rustc-check-cfg=cfg(rtrcu_asan)");
    println!("cargo::rustc-check-cfg=cfg(rtrcu_tsan)");
    println!("cargo::rerun-if-changed=build.rs");
    if rustc_minor() >= 87 {
        println!("cargo::rustc-cfg=rtrcu_asm_goto");
    }
    // Under Miri, which runs no C, a model in Rust replaces the library; docs.rs needs only the declarations.
    if env::var_os("CARGO_CFG_MIRI").is_some() || env::var_os("DOCS_RS").is_some() {
        return;
    }
    let os = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let bits = env::var("CARGO_CFG_TARGET_POINTER_WIDTH").unwrap_or_default();
    let endian = env::var("CARGO_CFG_TARGET_ENDIAN").unwrap_or_default();
    if os != "linux" || endian != "little" || bits != "64" {
        // Cargo prints this line and stops. A panic or a compile_error!() would print further lines.
        println!("cargo::error=rtrcu needs Linux on a 64-bit little-endian processor; this is {os} on {arch}");
        return;
    }
    build();
}

/// Returns the minor number of the compiler's version.
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
    // Cargo does not follow links when it checks whether files have changed, so this script prints the name of each
    // file.
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
        .define("RTRCU_NOTE_TYPE", "0x7270") // marks a private copy: other copies in the process ignore it
        .define("RTRCU_STACK_KB", "2048") // as std's threads, since the library's threads drop values
        .flag("-fvisibility=hidden")
        .flag("-fno-omit-frame-pointer") // the library finds the stacks that it prints by frame pointers
        .flag_if_supported("-momit-leaf-frame-pointer")
        .flag_if_supported("-fstack-clash-protection") // safe code may call the library when the stack is nearly full
        .flag("-fno-lto") // rename_all() changes the names in the objects, which must be machine code
        .warnings(false);
    if env::var_os("CARGO_FEATURE_CHECKS").is_some() {
        compiler.define("RTRCU_DEBUG", "1");
    }
    if env::var_os("CARGO_FEATURE_DYLIB").is_some() {
        compiler.define("RTRCU_DYNAMIC_TLS", None);
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

/// Calls `seen` for every file below `folder`.
fn walk(folder: &Path, seen: &mut dyn FnMut(&Path)) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry.expect("an entry of a folder of the C source cannot be read").path();
        if path.is_dir() {
            walk(&path, seen);
        } else {
            seen(&path);
        }
    }
}

/// Writes copies of the objects, in which `prefix` precedes each global name that one of the objects defines. Returns
/// the paths of the copies.
fn rename_all(objects: &[PathBuf], prefix: &str, out: &Path) -> Vec<PathBuf> {
    let mut contents: Vec<Object> = objects.iter().map(|path| Object::read(path)).collect();
    let mut defined = HashSet::new();
    for object in &contents {
        defined.extend(object.globals().filter(|symbol| symbol.is_defined).map(|symbol| symbol.name));
    }
    // Keep names that begin with `__`: sanitizers add them to each object, and objects of other libraries share them.
    defined.retain(|name| !name.starts_with(b"__"));
    let mut renamed = Vec::new();
    for (object, path) in contents.iter_mut().zip(objects) {
        object.prefix(&defined, prefix);
        let file = out.join(format!("private-{}", path.file_name().expect("an object is a file").to_string_lossy()));
        fs::write(&file, &object.data).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        renamed.push(file);
    }
    renamed
}

/// A 64-bit little-endian ELF object. This script reads and changes only its symbols and their names; all other
/// contents stay as the compiler wrote them.
struct Object {
    data: Vec<u8>,
    /// The position and the size of the symbol table, in bytes.
    symbols: (usize, usize),
    /// The position of the section header of the string table, which has the names of the symbols.
    names_header: usize,
}

struct Symbol {
    at: usize,
    name: Vec<u8>,
    is_defined: bool,
}

impl Object {
    const SYMBOL: usize = 24;

    fn read(path: &Path) -> Self {
        let data = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(data.starts_with(b"\x7fELF\x02\x01"), "{}: not a 64-bit little-endian ELF object", path.display());
        let mut object = Self { data, symbols: (0, 0), names_header: 0 };
        let (first, size) = (object.number::<8>(0x28), object.number::<2>(0x3a));
        let headers = (0..object.number::<2>(0x3c)).map(|index| first + index * size);
        const SHT_SYMTAB: usize = 2;
        let table = headers.clone().find(|header| object.number::<4>(header + 4) == SHT_SYMTAB);
        let table = table.unwrap_or_else(|| panic!("{}: the object has no symbol table", path.display()));
        object.symbols = (object.number::<8>(table + 0x18), object.number::<8>(table + 0x20));
        object.names_header = first + object.number::<4>(table + 0x28) * size;
        object
    }

    fn number<const BYTES: usize>(&self, at: usize) -> usize {
        let mut bytes = [0; 8];
        bytes[..BYTES].copy_from_slice(&self.data[at..at + BYTES]);
        usize::try_from(u64::from_le_bytes(bytes)).expect("a number in the object file is too large for an address")
    }

    fn globals(&self) -> impl Iterator<Item = Symbol> + '_ {
        let names = self.number::<8>(self.names_header + 0x18);
        let (begin, bytes) = self.symbols;
        (begin..begin + bytes).step_by(Self::SYMBOL).filter(|at| self.data[at + 4] >> 4 != 0).map(move |at| {
            let name = &self.data[names + self.number::<4>(at)..];
            let name = name.split(|byte| *byte == 0).next().expect("split() returns at least one part").to_vec();
            Symbol { at, name, is_defined: self.number::<2>(at + 6) != 0 }
        })
    }

    /// Puts `prefix` before each global name that is in `chosen`. Appends a new string table to the file: the old
    /// names, then the new ones.
    fn prefix(&mut self, chosen: &HashSet<Vec<u8>>, prefix: &str) {
        let (at, bytes) = (self.number::<8>(self.names_header + 0x18), self.number::<8>(self.names_header + 0x20));
        let mut names = self.data[at..at + bytes].to_vec();
        for symbol in self.globals().filter(|symbol| chosen.contains(&symbol.name)).collect::<Vec<_>>() {
            let place = u32::try_from(names.len()).expect("the names of an object exceed 4 GiB");
            self.data[symbol.at..symbol.at + 4].copy_from_slice(&place.to_le_bytes());
            names.extend_from_slice(prefix.as_bytes());
            names.extend_from_slice(&symbol.name);
            names.push(0);
        }
        let place = self.data.len() as u64;
        self.data[self.names_header + 0x18..][..8].copy_from_slice(&place.to_le_bytes());
        self.data[self.names_header + 0x20..][..8].copy_from_slice(&(names.len() as u64).to_le_bytes());
        self.data.extend(names);
    }
}
