//! Tests counter arithmetic against numbers that Windows printed, and with arbitrary input.

use tallymon_core::counter::{
    CounterType, Format, Scale, TYPES, apply, compute, f6, g17, human, write_f6, write_g17,
};
use tallymon_core::flow::{NoValue, Sample, Value};
use tallymon_core::time::{FileTime, Frequency};

/// The raw values of a Windows 10 log, with the texts that Windows wrote for them.
#[test]
fn texts_equal_those_of_windows() {
    let Some(path) = tallymon_testkit::shared("counters/PowerShell_CounterSamples_raw_vectors.tsv") else {
        return;
    };
    let text = std::fs::read_to_string(path).expect("readable");
    let mut older = std::collections::HashMap::new();
    let (mut blank, mut printed) = (0, 0);
    for line in text.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [_, time, _, path, counter_type, frequency, _, first, second, multi_count, expected] = fields[..]
        else {
            panic!("11 columns are needed: {line}");
        };
        let number = counter_type.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok());
        let newer = Sample {
            counter_type: CounterType(number.expect("a type")),
            first: first.parse().expect("a value"),
            second: second.parse().expect("a clock or base"),
            frequency: Frequency(frequency.parse().expect("a frequency")),
            multi_count: multi_count.parse().expect("a count"),
            time: FileTime(time.parse().expect("a time")),
        };
        let value = compute(older.get(path), &newer);
        if expected.trim().is_empty() {
            assert_eq!(value, Err(NoValue::FirstSample), "{line}");
            blank += 1;
        } else {
            // Not all of these counters have a default scale of 0; a log does not apply it.
            let value = apply(value.expect(line), newer.counter_type, -4, &Format::default());
            assert_eq!(g17(value.as_f64().expect("a number")).to_string(), expected, "{line}");
            printed += 1;
        }
        older.insert(path.to_owned(), newer);
    }
    assert_eq!((blank, printed), (8, 242));
}

/// Raw values of two Windows Vista data blocks, a minute apart. Another program computed the results.
#[test]
fn values_of_a_vista_machine_are_reproduced() {
    const PERF_TIME: [u64; 2] = [7_178_903_079, 7_393_519_392];
    const TIME_100NS: [u64; 2] = [128_315_940_386_596_596, 128_315_940_986_148_066];
    const OBJECT_TIME: [u64; 2] = [128_315_940_386_606_361, 128_315_940_986_157_831];
    const START: u64 = 128_315_920_365_000_000;
    for (counter, counter_type, first, second, frequency, expected) in [
        (
            "% Processor Time",
            0x2151_0500,
            [12_558_750_000, 12_665_781_250],
            TIME_100NS,
            10_000_000,
            "82.148113155322605",
        ),
        ("Interrupts/sec", 0x1041_0400, [2_125_688, 2_199_337], PERF_TIME, 3_579_545, "1228.3777780908947"),
        (
            "File Read Operations/sec",
            0x1041_0400,
            [638_820, 653_301],
            PERF_TIME,
            3_579_545,
            "241.52586735100607",
        ),
        ("% Free Space", 0x2002_0400, [54_488; 2], [72_469; 2], 0, "75.18801142557507"),
        ("System Up Time", 0x3024_0500, [START; 2], OBJECT_TIME, 10_000_000, "2062.1157831"),
        (
            "Avg. Disk sec/Transfer",
            0x3002_0400,
            [9_893_145_397, 9_960_045_661],
            [117_670, 119_955],
            3_579_545,
            "0.0081792559891410467",
        ),
        (
            "Disk Bytes/sec",
            0x1041_0500,
            [2_251_698_176, 2_339_683_840],
            PERF_TIME,
            3_579_545,
            "1467496.2925249769",
        ),
        (
            "Avg. Disk Bytes/Transfer",
            0x4002_0500,
            [2_251_698_176, 2_339_683_840],
            [117_670, 119_955],
            0,
            "38505.761050328227",
        ),
        (
            "% Disk Time",
            0x2057_0500,
            [27_637_997_000, 27_824_893_000],
            [OBJECT_TIME[0], TIME_100NS[1]],
            0,
            "31.173144160171478",
        ),
        (
            "Avg. Disk Queue Length",
            0x0055_0500,
            [27_637_997_000, 27_824_893_000],
            TIME_100NS,
            10_000_000,
            "0.31172636437702339",
        ),
    ] {
        let [older, newer] = [0, 1].map(|index| Sample {
            counter_type: CounterType(counter_type),
            first: first[index],
            second: second[index],
            frequency: Frequency(frequency),
            multi_count: 1,
            time: FileTime(TIME_100NS[index]),
        });
        let value = compute(Some(&older), &newer).expect(counter);
        assert_eq!(g17(value.as_f64().expect("a number")).to_string(), expected, "{counter}");
    }
}

/// The documented case of an instance that ends: the next one moves into its slot and inherits its old value.
#[test]
fn an_instance_that_inherits_a_slot_gives_a_wrong_difference() {
    let sample = |first, seconds: u64| Sample {
        counter_type: CounterType::PERF_COUNTER_BULK_COUNT,
        first,
        second: seconds,
        frequency: Frequency(1),
        multi_count: 1,
        time: FileTime(0),
    };
    let (ended, moved_in, later) = (sample(20, 3), sample(1500, 4), sample(2000, 5));
    assert_eq!(compute(Some(&ended), &moved_in), Ok(Value::Number(1480.0)));
    assert_eq!(compute(Some(&moved_in), &later), Ok(Value::Number(500.0)));
    assert_eq!(compute(Some(&moved_in), &sample(20, 5)), Err(NoValue::NegativeValue));
}

#[test]
fn any_samples_give_a_finite_number_or_a_reason() {
    let mut random = XorShift(0x9e37_79b9_7f4a_7c15);
    let (mut values, mut reasons) = (0u32, 0u32);
    for _ in 0..60_000 {
        let [older, mut newer] = [0, 1].map(|_| random.sample());
        // Most pairs have equal types; some differ, and some types are unknown.
        if !random.next().is_multiple_of(16) {
            newer.counter_type = older.counter_type;
        }
        for result in [compute(Some(&older), &newer), compute(None, &newer), compute(Some(&newer), &newer)] {
            let Ok(value) = result else {
                reasons += 1;
                continue;
            };
            values += 1;
            assert!(value.as_f64().is_some_and(f64::is_finite), "{older:?} {newer:?}");
            let power = random.next() as i32;
            let format = Format {
                scale: [Scale::None, Scale::Default, Scale::Power(power)][(random.next() % 3) as usize],
                thousand: random.next().is_multiple_of(2),
                cap100: random.next().is_multiple_of(2),
            };
            let shown = apply(value, newer.counter_type, power, &format);
            assert!(shown.as_f64().is_some_and(f64::is_finite), "{newer:?} {format:?}");
            assert!(!human(&shown, newer.counter_type).to_string().is_empty());
        }
    }
    // Both must be frequent, else the loop tests nothing.
    assert!(values > 20_000 && reasons > 20_000, "{values} values, {reasons} reasons");
}

#[test]
fn any_number_is_a_valid_counter_type() {
    let mut random = XorShift(7);
    let known: Vec<u32> = TYPES.iter().map(|info| info.value.0).collect();
    for round in 0..100_000usize {
        // Known types with one bit changed, and random numbers.
        let number = match round % 2 {
            0 => known[round / 2 % known.len()] ^ (1 << (random.next() % 32)),
            _ => random.next() as u32,
        };
        let counter_type = CounterType::from(number);
        let name = counter_type.to_string();
        match counter_type.info() {
            Some(info) => assert_eq!(name, info.name),
            None => assert_eq!(name, format!("0x{number:08X}")),
        }
        assert_eq!(u32::from(counter_type), number);
        let _ = (
            counter_type.size_bits(),
            counter_type.default_size(),
            counter_type.kind(),
            counter_type.subtype(),
        );
        let _ = (counter_type.time_base(), counter_type.suffix().as_str(), counter_type.denominator());
        assert!(!(counter_type.is_base() && counter_type.is_visible()));
        assert!(!(counter_type.is_base() && counter_type.is_text()));
    }
}

/// The texts come from Python's `%`, which equals C's.
#[test]
fn numbers_are_printed_as_in_c() {
    let table = include_str!("data/counters/printf.csv");
    let mut lines = 0;
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [bits, general, fixed] = fields[..] else { panic!("3 columns are needed: {line}") };
        let value = f64::from_bits(u64::from_str_radix(bits, 16).expect("bits"));
        assert_eq!(g17(value).to_string(), general, "{bits}");
        assert_eq!(f6(value).to_string(), fixed, "{bits}");
        lines += 1;
    }
    assert!(lines > 500, "{lines}");
}

#[test]
fn seventeen_digits_round_trip() {
    let mut random = XorShift(1);
    let mut text = String::new();
    for _ in 0..200_000 {
        let value = f64::from_bits(random.next());
        text.clear();
        write_g17(&mut text, value).expect("a string takes all");
        if value.is_finite() {
            let read: f64 = text.parse().expect("a number");
            assert_eq!(read.to_bits(), value.to_bits(), "{text}");
            assert!(text.len() <= 24, "{text}");
        }
        text.clear();
        write_f6(&mut text, value).expect("a string takes all");
        assert!(!text.is_empty());
    }
}

/// A generator of sufficiently varied numbers.
struct XorShift(u64);

impl XorShift {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Numbers of any length, and numbers near the limits of 32 and 64 bits.
    fn number(&mut self) -> u64 {
        let random = self.next();
        match random % 8 {
            0 => random % 3,
            1 => u64::MAX - random % 3,
            2 => u64::from(u32::MAX).wrapping_add(random % 3),
            3 => (1 << 63) - 1 + random % 3,
            _ => self.next() >> (random % 64),
        }
    }

    fn sample(&mut self) -> Sample {
        let counter_type = match self.next() % 64 {
            0 => CounterType(self.next() as u32),
            other => TYPES[(other.wrapping_mul(self.next()) % TYPES.len() as u64) as usize].value,
        };
        Sample {
            counter_type,
            first: self.number(),
            second: self.number(),
            frequency: Frequency(self.number().cast_signed()),
            multi_count: self.number() as u32,
            time: FileTime(self.number()),
        }
    }
}
