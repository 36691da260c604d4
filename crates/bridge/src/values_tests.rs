use super::*;

fn number(text: &str) -> Number {
    Number { whole: text.parse().ok(), float: text.parse().unwrap() }
}

#[test]
fn raw_values_keep_what_their_type_can() {
    let ticks = Frequency(10_000_000);
    for (kind, text, wanted) in [
        // Whole numbers keep all digits, also those that a double does not have.
        (CounterKind::Count, "9007199254740993", Ok(9_007_199_254_740_993)),
        (CounterKind::Count, "18446744073709551615", Ok(u64::MAX)),
        (CounterKind::Count, "1.8446744073709552e19", Err(Absence::OutOfRange)),
        (CounterKind::Count, "3.99", Ok(3)),
        (CounterKind::Count, "1e3", Ok(1000)),
        (CounterKind::Count, "-1", Err(Absence::OutOfRange)),
        (CounterKind::Count, "NaN", Err(Absence::OutOfRange)),
        (CounterKind::Count, "+Inf", Err(Absence::OutOfRange)),
        (CounterKind::Seconds, "1.2345678", Ok(12_345_678)),
        (CounterKind::Seconds, "123456789.1234567", Ok(1_234_567_891_234_567)),
        (CounterKind::AverageSeconds, "0.25", Ok(2_500_000)),
        (CounterKind::Average, "70.9", Ok(70)),
        (CounterKind::Gauge, "-1.5", Ok((-1.5f64).to_bits())),
        (CounterKind::Gauge, "+Inf", Ok(f64::INFINITY.to_bits())),
    ] {
        assert_eq!(raw(kind, number(text), ticks), wanted, "{kind:?} {text}");
    }
}

#[test]
fn instances_are_the_values_of_labels() {
    for (texts, wanted) in [
        (&["0"][..], "0"),
        (&["0", "idle"], "0,idle"),
        (&["/var/log"], "/var/log"),
        (&["_Total"], "[_Total]"),
        (&["a\u{1b}[31m\nb"], "a_[31m_b"),
    ] {
        assert_eq!(instance_name(texts), wanted);
    }
}

/// Answers with random damage become a valid block, whatever the catalog was learned from.
#[test]
fn damaged_answers_are_written_as_valid_objects() {
    use tallymon_core::block::{BlockWriter, ObjectLayout, ObjectSpec, Snapshot, WriteHeader};
    use tallymon_core::time::FileTime;
    use tallymon_provider::{CounterSpec, CounterType, InstanceKind};
    use tallymon_testkit::raw::Random;

    const TEXT: &str = "# TYPE a_x_total counter\na_x_total{l=\"1\",m=\"_Total\"} 5\na_x_total{l=\"2\",m=\"\"} 6.5\n\
                        # TYPE b_seconds histogram\nb_seconds_bucket{le=\"1\"} 1\nb_seconds_sum 2\n\
                        b_seconds_count 3\n# TYPE c summary\nc{quantile=\"0.5\"} NaN\nc_sum +Inf\nc_count -1\n";
    let mut random = Random::new(24);
    for _ in 0..400 {
        let mut damaged = [TEXT.as_bytes().to_vec(), TEXT.as_bytes().to_vec()];
        for text in &mut damaged {
            for _ in 0..random.below(4) {
                let at = usize::try_from(random.below(text.len() as u64)).unwrap();
                text[at] = b"{}\",=_ \n\\1a\xff"[usize::try_from(random.below(12)).unwrap()];
            }
        }
        let (Ok(first), Ok(second)) = (Metrics::of_text(&damaged[0]), Metrics::of_text(&damaged[1])) else {
            continue;
        };
        let labels = (random.below(2) == 0).then(|| vec!["l".to_owned()]);
        let catalog = crate::catalog::learn("a", &first, labels.as_deref()).unwrap();
        let mut objects = Vec::new();
        for object in catalog {
            let name = |offset: u32| TitleIndex(2000 + offset);
            let mut counters = Vec::new();
            for counter in &object.counters {
                counters.push(CounterSpec::new(name(counter.offset), counter.kind.counter_type()));
                if counter.kind.has_base() {
                    counters.push(CounterSpec::new(name(counter.offset), CounterType::PERF_AVERAGE_BASE));
                }
            }
            let kind = if object.labels.is_empty() { InstanceKind::None } else { InstanceKind::Many };
            let spec =
                ObjectSpec { status: true, ..ObjectSpec::new(name(object.offset), kind, counters.leak()) };
            objects.push(BridgeObject { layout: ObjectLayout::new(spec), catalog: object });
        }
        let wanted: Vec<TitleIndex> = objects.iter().map(|object| object.layout.spec().name).collect();
        let (mut buffer, time) = (Vec::new(), FileTime(1));
        let header = WriteHeader {
            system_name: "h",
            default_object: -1,
            perf_time: PerfTime(1),
            perf_freq: Frequency(1),
            perf_time_100ns: time,
            system_time: time,
        };
        let mut writer = BlockWriter::growing(&mut buffer, &header);
        let window = ReadWindow { begin: time, end: time };
        write(&objects, &wanted, &second, labels.as_deref(), Frequency(1), window, writer.objects());
        writer.finish().unwrap();
        let snapshot = Snapshot::new(buffer).unwrap();
        assert_eq!(snapshot.objects().len(), objects.len());
        let totals = snapshot.objects().flat_map(|object| object.instances().collect::<Vec<_>>());
        assert!(totals.into_iter().all(|instance| instance.name().to_string_lossy() != "_Total"));
    }
}
