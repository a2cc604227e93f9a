// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every work, measured by criterion side by side: `cargo bench -p rtrcu-bench`. Its output is in `target/`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn sides(criterion: &mut Criterion) {
    for work in rtrcu_bench::works() {
        let mut group = criterion.benchmark_group(work.name);
        let times = work.times;
        group.throughput(Throughput::Elements(times)).sample_size(10);
        for mut side in work.sides {
            group.bench_function(side.name, |bencher| bencher.iter(|| (side.run)(times)));
        }
    }
}

criterion_group!(benches, sides);
criterion_main!(benches);
