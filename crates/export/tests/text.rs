//! Expositions of made rows: every kind of metric, hostile names, and what is left out.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Cell, Column, LiveColumn, NoValue, Row, Sample, Sink, Value};
use tallymon_core::path::{CounterPath, InstancePath, Part};
use tallymon_core::time::{FileTime, Frequency};
use tallymon_core::title::TitleIndex;
use tallymon_export::influx;
use tallymon_export::openmetrics::{Exposition, TextFormat};
use tallymon_export::profile::Profile;
use tallymon_export::series::families;
use tallymon_export::statsd::Statsd;

/// 2033-05-18 03:33:20 UTC.
const NOW: i128 = 2_000_000_000_000_000_000;

fn column(object: &str, instance: Option<&str>, counter: &str, counter_type: CounterType) -> Column {
    Column {
        path: String::new(),
        parts: Some(CounterPath {
            machine: None,
            object: Part::Name(object.into()),
            instance: instance.map(|name| InstancePath::new(None, name, 0)),
            counter: Part::Name(counter.into()),
        }),
        counter_type,
        scale: 0,
        time_base: Frequency(10),
        group: 0,
        wild: false,
        live: Some(LiveColumn {
            process: None,
            object: TitleIndex(2),
            counter: TitleIndex(4),
            instance: instance.map(str::to_owned),
            local_path: String::new(),
        }),
    }
}

fn cell(counter_type: CounterType, first: u64, second: u64) -> Cell {
    let time = FileTime::from_unix_nanoseconds(NOW).unwrap();
    let sample = Sample { counter_type, first, second, frequency: Frequency(10), multi_count: 2, time };
    Cell { sample: Some(sample), ..Cell::missing(NoValue::FirstSample) }
}

fn written(format: TextFormat, columns: &[Column], cells: &[Cell]) -> String {
    let mut out = Vec::new();
    let mut sink = Exposition::new(&mut out, format, "here");
    let time = FileTime::from_unix_nanoseconds(NOW).unwrap();
    sink.columns(columns).unwrap();
    sink.row(&Row { time, local_minutes: 0, cells }).unwrap();
    sink.finish().unwrap();
    String::from_utf8(out).unwrap()
}

/// The lines with numbers.
fn series(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

#[test]
fn each_type_becomes_its_metrics_in_base_units() {
    use CounterType as T;
    let table: [(CounterType, &str, &[&str]); 13] = [
        (T::PERF_COUNTER_BULK_COUNT, "Reads/sec", &["nt_o_reads_total 30"]),
        (T::PERF_COUNTER_LARGE_DELTA, "New", &["nt_o_new_total 30"]),
        (T::PERF_COUNTER_TIMER, "% Busy", &["nt_o_busy_seconds_total 3"]),
        (T::PERF_100NSEC_TIMER, "% Busy", &["nt_o_busy_seconds_total 0.000003"]),
        (T::PERF_100NSEC_TIMER_INV, "% Busy", &["nt_o_busy_idle_seconds_total 0.000003"]),
        (T::PERF_COUNTER_MULTI_TIMER, "% Busy", &["nt_o_busy_seconds_total 3", "nt_o_busy_resources 2"]),
        (T::PERF_COUNTER_LARGE_QUEUELEN_TYPE, "Avg. Queue", &["nt_o_queue_queue_seconds_total 3"]),
        (
            T::PERF_PRECISION_100NS_TIMER,
            "% Busy",
            &["nt_o_busy_seconds_total 0.000003", "nt_o_busy_clock_seconds_total 0.000012"],
        ),
        (T::PERF_SAMPLE_FRACTION, "Hits %", &["nt_o_hits_hits_total 30", "nt_o_hits_base_total 120"]),
        (
            T::PERF_RAW_FRACTION,
            "% Free",
            &["nt_o_free_ratio 0.25", "nt_o_free_ratio_value 30", "nt_o_free_ratio_base 120"],
        ),
        (T::PERF_AVERAGE_TIMER, "Avg. sec/Read", &["nt_o_read_seconds_sum 3", "nt_o_read_seconds_count 120"]),
        (T::PERF_AVERAGE_BULK, "Avg. Bytes/Read", &["nt_o_bytes_read_sum 30", "nt_o_bytes_read_count 120"]),
        (T::PERF_ELAPSED_TIME, "Up Time", &["nt_o_up_time_start_time_seconds 1999999991"]),
    ];
    for (counter_type, counter, lines) in table {
        let columns = [column("O", None, counter, counter_type)];
        let cells = [cell(counter_type, 30, 120)];
        for format in [TextFormat::OpenMetrics, TextFormat::Prometheus] {
            assert_eq!(series(&written(format, &columns, &cells)), lines, "{counter_type} {format:?}");
        }
    }
}

#[test]
fn whole_numbers_stay_exact_and_larger_units_become_bytes() {
    let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let whole = |number| Cell { value: Ok(Value::Integer(number)), ..cell(raw, number, 0) };
    let columns = [
        column("Memory", None, "Available MBytes", raw),
        column("Memory", None, "Available Bytes", raw),
        column("Memory", None, "Cache KBytes", raw),
    ];
    let text = written(TextFormat::OpenMetrics, &columns, &[whole(3), whole((1 << 53) + 1), whole(2)]);
    // The megabytes say nothing that the bytes do not.
    assert_eq!(series(&text), ["nt_memory_available_bytes 9007199254740993", "nt_memory_cache_bytes 2048"]);
    assert!(text.contains("# UNIT nt_memory_available_bytes bytes\n"), "{text}");
}

#[test]
fn a_total_stands_only_where_nothing_else_does() {
    let count = CounterType::PERF_COUNTER_BULK_COUNT;
    let all: Vec<Column> =
        ["_Total", "0", "0,_Total"].iter().map(|name| column("P", Some(name), "C/sec", count)).collect();
    let cells: Vec<Cell> = (1..4).map(|number| cell(count, number, 0)).collect();
    assert_eq!(series(&written(TextFormat::OpenMetrics, &all, &cells)), ["nt_p_c_total{name=\"0\"} 2"]);
    let alone = written(TextFormat::OpenMetrics, &all[..1], &cells[..1]);
    assert_eq!(series(&alone), ["nt_p_c_total{name=\"_Total\"} 1"]);
}

#[test]
fn hostile_names_stay_inside_of_their_label() {
    let raw = CounterType::PERF_COUNTER_TEXT;
    let name = "a\"} 1\n# EOF\nevil{x=\"\\";
    let text = Cell { value: Ok(Value::Text("\"\\\n".into())), ..Cell::missing(NoValue::NotNumeric) };
    let written = written(TextFormat::OpenMetrics, &[column("O\nO", Some(name), "C\n\"", raw)], &[text]);
    let lines: Vec<&str> = written.lines().collect();
    let series = r#"nt_o_o_c_info{name="a\"} 1\n# EOF\nevil{x=\"\\",value="\"\\\n"} 1"#;
    assert_eq!(lines[2..], [series, "# EOF"], "{written}");
    assert!(lines[0].starts_with("# HELP ") && lines[1].starts_with("# TYPE "), "{written}");
}

#[test]
fn values_that_are_missing_or_old_have_no_series() {
    let count = CounterType::PERF_COUNTER_BULK_COUNT;
    let columns = [column("O", None, "A/sec", count), column("O", None, "B/sec", count)];
    let old = Cell { stale: true, ..cell(count, 1, 0) };
    let text = written(TextFormat::OpenMetrics, &columns, &[Cell::missing(NoValue::NoInstance), old]);
    assert_eq!(text, "# EOF\n");
}

#[test]
fn two_counters_of_one_name_are_two_metrics() {
    let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let whole = |number| Cell { value: Ok(Value::Integer(number)), ..cell(raw, number, 0) };
    let columns =
        [column("O", None, "A B", raw), column("O", None, "A-B", raw), column("O", None, "A B", raw)];
    let text = written(TextFormat::Prometheus, &columns, &[whole(1), whole(2), whole(3)]);
    // The third is the first again.
    assert_eq!(series(&text), ["nt_o_a_b 1", "nt_o_a_b_4 2"]);
}

/// The table of docs/exports.md is what the code does.
#[test]
fn the_page_has_the_row_of_each_type() {
    use std::fmt::Write as _;
    use tallymon_core::counter::TYPES;
    use tallymon_export::metric::{MetricKind, metrics};

    let mut table = String::new();
    for info in TYPES {
        let parts: Vec<String> = metrics(info.value)
            .iter()
            .map(|metric| {
                let suffix = metric.suffix;
                let names = match metric.kind {
                    MetricKind::Gauge(_) => format!("gauge `…{suffix}`"),
                    MetricKind::Counter(_) => format!("counter `…{suffix}_total`"),
                    MetricKind::Summary { .. } => format!("summary `…{suffix}_sum`, `…{suffix}_count`"),
                    MetricKind::Info => format!("info `…{suffix}_info`"),
                };
                format!("{names}: {}", metric.meaning)
            })
            .collect();
        if !parts.is_empty() {
            writeln!(table, "| {} | {} |", info.name, parts.join("<br>")).unwrap();
        }
    }
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/exports.md")).unwrap();
    assert!(page.contains(&table), "docs/exports.md should have:\n{table}");
}

/// docs/reference/metric-names.md, from the tables of the profiles.
#[test]
fn the_page_of_names_has_every_counter_of_each_profile() {
    use std::fmt::Write as _;

    let mut page = String::from(
        "# Names of metrics in other collectors\n\n\
         `--metric-names` of `tally get` and `tally push`, and `?names=` of `/metrics`, give counters\n\
         the names that other collectors gave to the same numbers: see\n\
         [Counters for other engines](../exports.md#names-of-other-collectors). A counter that is not\n\
         listed keeps its own name. A counter of the engine ends in `_total` where its format asks for\n\
         it. This page is made from the tables in `crates/export/src/profile`.\n",
    );
    for profile in Profile::ALL.into_iter().filter(|profile| profile.renamed().next().is_some()) {
        write!(page, "\n## {profile}\n\n| counter | metric |\n|---|---|\n").unwrap();
        for (object, counter, metric) in profile.renamed() {
            writeln!(page, "| `\\{object}\\{counter}` | `{metric}` |").unwrap();
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/metric-names.md");
    if std::env::var_os("TALLYMON_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    let difference = page.lines().zip(written.lines()).find(|(one, other)| one != other);
    assert!(page == written, "{path} is not up to date: {difference:?}; TALLYMON_BLESS=1 writes it");
}

#[test]
fn lines_of_telegraf_have_all_counters_of_an_instance() {
    use CounterType as T;
    let columns = [
        column("Processor", Some("0"), "% User Time", T::PERF_100NSEC_TIMER),
        column("Processor", Some("1"), "% User Time", T::PERF_100NSEC_TIMER),
        column("Processor", Some("0"), "Interrupts/sec", T::PERF_COUNTER_COUNTER),
        column("Memory", None, "Available Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT),
    ];
    let values = [Value::Number(12.5), Value::Number(7.0), Value::Number(1e-3), Value::Integer(9)];
    let cells: Vec<Cell> = columns
        .iter()
        .zip(values)
        .map(|(column, value)| Cell { value: Ok(value), ..cell(column.counter_type, 30, 120) })
        .collect();
    let made = families(&columns, "here", Profile::Telegraf);
    let (lines, count) = influx::lines(&made, &row(&cells), "h");
    let expected = [
        "win_cpu,host=h,instance=0,objectname=Processor Percent_User_Time=12.5,Interrupts_persec=0.001 \
         2000000000000000000",
        "win_cpu,host=h,instance=1,objectname=Processor Percent_User_Time=7 2000000000000000000",
        "win_mem,host=h,objectname=Memory Available_Bytes=9 2000000000000000000",
    ];
    assert_eq!((lines.lines().collect::<Vec<_>>(), count), (expected.to_vec(), 4));
}

#[test]
fn a_name_that_two_types_claim_is_given_once_and_nothing_is_lost() {
    use CounterType as T;
    let columns = [
        column("Processor", Some("0"), "% User Time", T::PERF_100NSEC_TIMER),
        // A log of another system has another type.
        column("Processor", Some("1"), "% Privileged Time", T::PERF_COUNTER_RAWCOUNT),
        column("TCPv4", None, "Segments/sec", T::PERF_COUNTER_COUNTER),
    ];
    let names = |profile| -> Vec<String> {
        families(&columns, "here", profile).into_iter().map(|family| family.name).collect()
    };
    assert_eq!(
        names(Profile::NodeExporter),
        ["node_cpu_seconds", "nt_processor_privileged_time", "nt_tcpv4_segments"]
    );
    assert_eq!(names(Profile::Semconv)[0], "system_cpu_time_seconds");
}

fn row(cells: &[Cell]) -> Row<'_> {
    Row { time: FileTime::from_unix_nanoseconds(NOW).unwrap(), local_minutes: 0, cells }
}

#[test]
fn lines_of_influxdb_keep_types_and_hostile_tags_inside() {
    use CounterType as T;
    let text = Cell { value: Ok(Value::Text("a\"\n\\".into())), ..Cell::missing(NoValue::NotNumeric) };
    let columns = [
        column("O", Some("a b,c=d\ne\\"), "Reads/sec", T::PERF_COUNTER_BULK_COUNT),
        column("O", None, "% Busy", T::PERF_COUNTER_TIMER),
        column("O", None, "Avg. sec/Read", T::PERF_AVERAGE_TIMER),
        column("O", None, "Version", T::PERF_COUNTER_TEXT),
        column("O", None, "New", T::PERF_COUNTER_LARGE_DELTA),
    ];
    // The format has no whole numbers of 64 bits without a sign.
    let huge = cell(T::PERF_COUNTER_LARGE_DELTA, u64::MAX, 0);
    let mut cells: Vec<Cell> = columns[..3].iter().map(|column| cell(column.counter_type, 30, 120)).collect();
    cells.extend([text, huge]);
    let (lines, count) = influx::lines(&families(&columns, "here", Profile::Nt), &row(&cells), "h 1");
    let expected = [
        r"nt_o_reads_total,host=h\ 1,name=a\ b\,c\=d\ e\\  value=30i 2000000000000000000",
        r"nt_o_busy_seconds_total,host=h\ 1 value=3 2000000000000000000",
        r"nt_o_read_seconds,host=h\ 1 sum=3,count=120i 2000000000000000000",
        r#"nt_o_version_info,host=h\ 1 value="a\" \\" 2000000000000000000"#,
    ];
    assert_eq!((lines.lines().collect::<Vec<_>>(), count), (expected.to_vec(), 4));
}

#[test]
fn packets_of_statsd_have_differences_and_fit() {
    use CounterType as T;
    let columns = [
        column("O", Some("a:b|c.d"), "Reads/sec", T::PERF_COUNTER_BULK_COUNT),
        column("O", None, "Avg. sec/Read", T::PERF_AVERAGE_TIMER),
        column("O", None, "Used Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT),
    ];
    let families = families(&columns, "here", Profile::Nt);
    let used = |number| Cell {
        value: Ok(Value::Integer(number)),
        ..cell(T::PERF_COUNTER_LARGE_RAWCOUNT, number, 0)
    };
    let cells = |reads: u64, time: u64, count: u64| {
        [cell(T::PERF_COUNTER_BULK_COUNT, reads, 0), cell(T::PERF_AVERAGE_TIMER, time, count), used(7)]
    };
    let mut statsd = Statsd::new(60);
    // Nothing is known of what was before the first row; a reset has no difference.
    for (row_cells, packets) in [
        (cells(10, 100, 10), &["nt_o_used_bytes:7|g"][..]),
        (
            cells(13, 150, 20),
            &["nt_o_reads_total.a_b_c_d:3|c\nnt_o_read_seconds:0.5|g", "nt_o_used_bytes:7|g"],
        ),
        (cells(2, 150, 20), &["nt_o_used_bytes:7|g"]),
    ] {
        assert_eq!(statsd.packets(&families, &row(&row_cells)), packets);
    }
}

#[test]
fn processes_of_one_name_are_told_apart_by_their_id() {
    let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let handles = || column("Process", Some("a"), "Handle Count", raw);
    let mut columns = [handles(), handles()];
    for (column, process) in columns.iter_mut().zip([17, 18]) {
        column.live.as_mut().unwrap().process = Some(process);
    }
    let cells = [7, 8].map(|number| Cell { value: Ok(Value::Integer(number)), ..cell(raw, number, 0) });
    let text = written(TextFormat::OpenMetrics, &columns, &cells);
    let expected = [
        "nt_process_handle{name=\"a\",process_id=\"17\"} 7",
        "nt_process_handle{name=\"a\",process_id=\"18\"} 8",
    ];
    assert_eq!(series(&text), expected);
}
