//! Reads the per-CPU counters of this machine, and compares them with the files.

use super::super::assembler::{FieldOffset, Width};
use super::super::btf::Named;
use super::super::btf::btf_tests::Assembler;
use super::layout::{Events, Types, interrupts_of_x86};
use super::*;
use crate::kernel::proc::stat::Stat;
use crate::test_support::{CAPABILITIES, run_with_capabilities, test_name};

/// `None`, listed as a skip, where the kernel refuses the program.
fn open() -> Option<Processors> {
    match Processors::open() {
        Ok(processors) => Some(processors),
        Err(refusal) => {
            refusal.skip_test();
            None
        }
    }
}

fn read(file: &str) -> Vec<u8> {
    fs::read(file).unwrap()
}

/// Whether a count is between those before and after it, whatever the width at which they wrap.
fn is_between(low: u32, between: u32, high: u32) -> bool {
    between.wrapping_sub(low) <= high.wrapping_sub(low)
}

fn softirqs() -> Vec<(u32, u32)> {
    let text = read("/proc/softirqs");
    let softirqs = Softirqs::parse(&text).unwrap();
    softirqs.cpus.into_iter().zip(softirqs.totals).collect()
}

#[test]
fn soft_interrupts_match_the_file() {
    let Some(processors) = open() else { return };
    for _ in 0..50 {
        let before = softirqs();
        processors.run().unwrap();
        let after = softirqs();
        let found = processors.softirqs();
        assert_eq!(found.len(), before.len());
        for (((number, low), found), (_, high)) in before.iter().zip(&found).zip(&after) {
            assert_eq!(*number, found.0);
            assert!(is_between(*low, found.1, *high), "CPU{number}: {low} {} {high}", found.1);
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
fn memory_events_match_the_file() {
    let Some(processors) = open() else { return };
    for _ in 0..50 {
        let mut before = VmStat::parse(&read("/proc/vmstat")).unwrap();
        // Starting a program causes faults; memory of this process may be mapped already.
        std::process::Command::new("true").status().unwrap();
        processors.run().unwrap();
        let mut found = processors.events().unwrap();
        let mut after = VmStat::parse(&read("/proc/vmstat")).unwrap();
        for (name, field) in WANTED {
            let numbers = [&mut before, &mut found, &mut after].map(|stat| *field(stat));
            match numbers {
                [Some(low), Some(found), Some(high)] => {
                    assert!(low <= found && found <= high, "{name}: {low} {found} {high}");
                }
                [None, None, None] => {}
                _ => panic!("{name}: {numbers:?}"),
            }
        }
        assert!(after.faults > before.faults);
    }
}

#[test]
fn interrupts_grow_like_those_of_the_file() {
    let Some(processors) = open() else { return };
    let file = || Interrupts::parse(&read("/proc/interrupts")).unwrap();
    let found = || {
        processors.run().unwrap();
        processors.interrupts()
    };
    let Some(_) = found() else {
        let why = processors.why_no_interrupts().unwrap();
        tallymon_testkit::skip(why);
        return;
    };
    // The kernel's own sum includes released interrupts, so it shows whether the file has lost any.
    let total = || Stat::parse(&read("/proc/stat")).unwrap().interrupts.unwrap();
    let sum = |of: &Interrupts| of.totals.iter().copied().map(u64::from).sum::<u64>();
    let (low, between, high) = (total(), file(), total());
    let has_lost_nothing = (low..=high).contains(&sum(&between));
    let first = (file(), found().unwrap(), file());
    for _ in 0..50 {
        std::thread::sleep(std::time::Duration::from_millis(2));
        let last = (file(), found().unwrap(), file());
        let columns = |of: &Interrupts, number: u32| {
            let at = of.cpus.iter().position(|cpu| *cpu == number).unwrap();
            (of.totals[at], of.clock.as_ref().map(|clock| clock[at]))
        };
        for number in last.0.cpus.iter().copied() {
            let [low, found, high] = [&last.0, &last.1, &last.2].map(|of| columns(of, number));
            if let (Some(low), Some(found), Some(high)) = (low.1, found.1, high.1) {
                assert!(is_between(low, found, high), "the clock of CPU{number}: {low} {found} {high}");
            }
            if has_lost_nothing {
                assert!(is_between(low.0, found.0, high.0), "CPU{number}: {low:?} {found:?} {high:?}");
            }
            let [begin, then, end] = [&first.0, &first.1, &first.2].map(|of| columns(of, number).0);
            let growth = found.0.wrapping_sub(then);
            let (least, most) = (low.0.wrapping_sub(end), high.0.wrapping_sub(begin));
            // The file was read once more in between, so the lower bound may be negative.
            let is_grown = growth.wrapping_sub(least) <= most.wrapping_sub(least);
            assert!(is_grown, "CPU{number}: {least} {growth} {most}");
        }
    }
}

/// A variable that is a plain number, with a known value on each CPU: its number.
#[test]
fn a_per_cpu_variable_may_be_a_plain_number() {
    let mut is_there = false;
    let opened = Processors::open_with(|btf| {
        let mut kernel = CountsLayout::new(btf)?;
        let [section, number, variable] = btf.find([
            (Named::Section, ".data..percpu"),
            (Named::Struct, "timespec64"),
            (Named::Variable, "cpu_number"),
        ]);
        if let Some(variable) = variable {
            let types = Types { btf, section: section.unwrap(), number: number.unwrap() };
            let mut places = [None; WANTED.len()];
            places[0] = Some(FieldOffset { offset: 0, width: Width::B4 });
            kernel.events = Some(Events { variable: types.variable(variable)?, places });
            is_there = true;
        }
        Ok(kernel)
    });
    let Some(processors) = opened.ok().filter(|_| is_there) else {
        tallymon_testkit::skip_bpf("there is no such variable, or the kernel does not let us");
        return;
    };
    processors.run().unwrap();
    let sum: u64 = processors.possible.iter().copied().map(u64::from).sum();
    assert_eq!(processors.events().unwrap().faults, Some(sum));
}

#[test]
fn counters_that_disagree_with_the_file_are_refused() {
    if open().is_none() {
        return;
    }
    let load_refusal = Processors::open_with(|btf| {
        let mut kernel = CountsLayout::new(btf)?;
        kernel.counts.place += 8;
        Ok(kernel)
    });
    assert!(load_refusal.unwrap_err().reason.contains("/proc/softirqs"));
}

#[test]
fn unknown_counters_are_not_taken_for_interrupts() {
    // 1 int, 2 the structure, 3 the variable, 4 the section.
    let with = |names: &[&str]| {
        let mut asm = Assembler::new();
        asm.push("int", 1 << 24, &[4, 32]);
        let count = u32::try_from(names.len()).unwrap();
        let names = names.iter().zip(0_u32..).flat_map(|(name, at)| [asm.name(name), 1, at * 32]);
        let names: Vec<u32> = [count * 4].into_iter().chain(names).collect();
        asm.push("", 4 << 24 | count, &names);
        asm.push("irq_stat", 14 << 24, &[2, 1]);
        asm.push(".data..percpu", 15 << 24 | 1, &[count * 4, 3, 64, count * 4]);
        let bytes = asm.finish();
        let btf = Btf::parse(&bytes).unwrap();
        let [section, own] = btf.find([(Named::Section, ".data..percpu"), (Named::Variable, "irq_stat")]);
        let types = Types { btf: &btf, section: section.unwrap(), number: super::super::btf::TypeId(2) };
        interrupts_of_x86(&types, own, [None, None])
            .map(|own| (own.variables[0].1.len(), own.clock.is_some()))
    };
    assert_eq!(with(&["__nmi_count", "irq_tlb_count", "apic_timer_irqs"]), Ok((2, true)));
    assert!(with(&["__nmi_count"]).unwrap_err().contains("clock"));
    assert!(with(&["apic_timer_irqs", "irq_news"]).unwrap_err().contains("irq_news"));
}

#[test]
fn types_without_the_counters_are_refused() {
    let mut asm = Assembler::new();
    asm.push("int", 1 << 24, &[4, 32]);
    let bytes = asm.finish();
    let error = CountsLayout::new(&Btf::parse(&bytes).unwrap()).unwrap_err();
    assert_eq!(error, BtfError::NoField { path: ".data..percpu".to_string() });
}

#[test]
fn two_capabilities_suffice_and_one_does_not() {
    if let Ok(rights) = std::env::var(CAPABILITIES) {
        match rights.as_str() {
            "bpf,perfmon" => Processors::open().unwrap().run().unwrap(),
            _ => assert!(Processors::open().unwrap_err().remedy.contains("CAP_PERFMON")),
        }
        return;
    }
    if open().is_some() {
        run_with_capabilities(&test_name(module_path!(), "two_capabilities_suffice_and_one_does_not"));
    }
}
