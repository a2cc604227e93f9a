// SPDX-License-Identifier: MIT OR Apache-2.0
//! The build script refuses unsupported platforms with one error line: the test runs it with the settings of other
//! platforms.
#![cfg(not(miri))]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The newest build script of this crate. With `cargo --target` it is in the folder of the host, not of the target.
fn build_script() -> PathBuf {
    let builds = Path::new(env!("OUT_DIR")).ancestors().nth(2).unwrap();
    let of_host = builds.join("../../../debug/build");
    let folders = [builds, &of_host].map(std::fs::read_dir).into_iter().flatten().flatten();
    let scripts = folders.map(|entry| entry.unwrap().path().join("build-script-build"));
    let ours = scripts.filter(|path| path.to_string_lossy().contains("/rtrcu-sys-") && path.exists());
    ours.max_by_key(|path| path.metadata().unwrap().modified().unwrap()).expect("no build script was found")
}

fn errors_for(os: &str, arch: &str, bits: &str, endian: &str) -> Vec<String> {
    let mut script = Command::new(build_script());
    script
        .env("CARGO_CFG_TARGET_OS", os)
        .env("CARGO_CFG_TARGET_ARCH", arch)
        .env("CARGO_CFG_TARGET_POINTER_WIDTH", bits)
        .env("CARGO_CFG_TARGET_ENDIAN", endian);
    let output = script.env_remove("DOCS_RS").env_remove("OUT_DIR").output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    lines.lines().filter_map(|line| line.strip_prefix("cargo::error=")).map(String::from).collect()
}

#[test]
fn unsupported_platforms_are_refused_with_one_error_line() {
    for (os, arch, bits, endian) in [
        ("windows", "x86_64", "64", "little"),
        ("macos", "aarch64", "64", "little"),
        ("linux", "x86", "32", "little"),
        ("linux", "x86_64", "32", "little"),
        ("linux", "s390x", "64", "big"),
    ] {
        let errors = errors_for(os, arch, bits, endian);
        assert_eq!(errors.len(), 1, "{os} on {arch}: {errors:?}");
        assert!(errors[0].starts_with("rtrcu needs Linux on a 64-bit little-endian processor"), "{}", errors[0]);
    }
}
