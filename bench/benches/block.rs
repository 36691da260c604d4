//! The data block: writing, indexing, reading every value, computing values, and formatting them.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tallymon_bench::{COUNTERS, INSTANCES, layout, names, write};
use tallymon_core::block::{DataBlock, RawValue, Snapshot};
use tallymon_core::counter;

fn block(criterion: &mut Criterion) {
    let (layout, names) = (layout(), names());
    let (mut older, mut newer) = (Vec::new(), Vec::new());
    write(&mut older, &layout, &names, 1);
    let length = write(&mut newer, &layout, &names, 2) as u64;
    let values = u64::from(INSTANCES) * COUNTERS as u64;

    let mut group = criterion.benchmark_group("block of 1,000 instances");
    group.throughput(Throughput::Bytes(length));
    group.bench_function("encode", |bencher| {
        let mut buffer = Vec::new();
        bencher.iter(|| write(&mut buffer, &layout, &names, black_box(3)));
    });
    group.bench_function("decode: walk and read every value", |bencher| {
        bencher.iter(|| {
            let mut sum = 0u64;
            for object in DataBlock::parse(black_box(&newer)).expect("valid").objects() {
                let object = object.expect("valid");
                let counters: Vec<_> = object.counters().collect::<Result<_, _>>().expect("valid");
                for instance in object.instances() {
                    let block = instance.expect("valid").counter_block;
                    for counter in &counters {
                        if let Ok(RawValue::Number(number)) = block.raw(counter) {
                            sum = sum.wrapping_add(number);
                        }
                    }
                }
            }
            sum
        });
    });
    group.bench_function("decode: validate and index a snapshot", |bencher| {
        let mut bytes = newer.clone();
        bencher.iter(|| {
            let snapshot = Snapshot::new(std::mem::take(&mut bytes)).expect("valid");
            bytes = black_box(snapshot).into_bytes();
        });
    });
    group.finish();

    let mut group = criterion.benchmark_group("values");
    group.throughput(Throughput::Elements(values));
    let (older, newer) = (Snapshot::new(older).expect("valid"), Snapshot::new(newer).expect("valid"));
    group.bench_function("sample and compute every value", |bencher| {
        bencher.iter(|| {
            let mut sum = 0.0;
            for (was, is) in older.objects().zip(newer.objects()) {
                for (was, is) in was.instances().zip(is.instances()) {
                    for position in 0..COUNTERS {
                        if let (Ok(was), Ok(is)) = (was.sample(position), is.sample(position))
                            && let Ok(value) = counter::compute(Some(&was), &is)
                        {
                            sum += value.as_f64().unwrap_or(0.0);
                        }
                    }
                }
            }
            sum
        });
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("print one value as %.17g", |bencher| {
        let mut text = String::new();
        bencher.iter(|| {
            text.clear();
            counter::write_g17(&mut text, black_box(20.913042441624498)).expect("a string takes all");
            text.len()
        });
    });
    group.finish();
}

criterion_group!(benches, block);
criterion_main!(benches);
