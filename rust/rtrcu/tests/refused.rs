// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that would read a dropped value, or drop one on the wrong thread, do not compile. Each file says what it
//! tries; its `.stderr` is the message of the compiler version `MESSAGES`; with other versions the test is skipped.
#![cfg(not(miri))]

use std::process::Command;

const MESSAGES: &str = "1.95.";

#[test]
fn invalid_programs_do_not_compile() {
    if std::env::var_os("RTRCU_TEST_SHORT").is_some() {
        println!("skipped: it builds everything once more, and the short form of the tests was asked for");
        return;
    }
    let version = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into())).arg("--version").output().unwrap();
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    if !version.contains(MESSAGES) {
        println!("skipped: the messages are those of Rust {MESSAGES}; this is {version}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}
