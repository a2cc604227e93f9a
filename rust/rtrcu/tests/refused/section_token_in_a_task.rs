// SPDX-License-Identifier: MIT OR Apache-2.0
//! The token of a section, in a task that may outlive it.
use rtrcu::RcuOption;

static CELL: RcuOption<u64> = RcuOption::empty();

fn main() {
    smol::block_on(rtrcu::section(async |s| {
        tokio::spawn(async move { println!("{:?}", CELL.load(s)) });
    }));
}
