//! The profiler in real runtimes: .NET Core 3.1.23, .NET 8.0.15, .NET 9.0.5 and .NET 10.0.9 with programs
//! compiled by mono's `mcs` and `ilasm`, and with a program of .NET 10 that we did not compile.
//!
//! The first two are out of the PyPI packages `dotnetcore2` and `artifacts-keyring`, the others out of two
//! versions of npm's `@azure/mcp-linux-x64`, of which the newer has its runtime inside of a program; all are
//! kept in the target folder. `TALLYMON_PEERS=required` fetches them with pip and npm when they are not
//! there; without that variable a test that finds no runtime or no compiler says so and passes. The same
//! tests run in the first two runtimes as Windows has them: `cargo xtask wine --dotnet`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails is to panic")]

mod bundle;
mod endings;
mod exports;
mod foreign;
mod full;
mod room;
mod runtimes;
mod support;
mod switching;
mod unloading;
mod wine;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{Talk, balanced, benches, calls_of, enters_of, everywhere, finish, shape, throwing};
use tallymon_clr::export;
use tallymon_clr::reader::{self, Call, EventKind, Exact, Profile};
use tallymon_clr::settings::{ClockChoice, Filter, Mode, Settings, Unwinding};

#[test]
fn the_articles_program_gives_its_tree() {
    for bench in everywhere() {
        let program = bench.program("article", "article");
        let expected = "1 TestApp.Program.Main(string[])
1   TestApp.Program.sum(int, int)
1   TestApp.MethodTest..ctor()
1   TestApp.MethodTest.recursive(int)
1     TestApp.MethodTest.recursive(int)
1       TestApp.MethodTest.recursive(int)
1         TestApp.MethodTest.recursive(int)
";
        let user = program.check(&Settings::default(), |_| {});
        assert_eq!(shape(&user), expected);
        balanced(&user);
        assert_eq!((user.mode, user.exact), (Mode::User, Exact::No));
        assert_eq!(user.unwind_events, bench.reports_once());
        let main = calls_of(&user, "TestApp.Program.Main(string[])")[0];
        assert!(main.total >= main.own && main.total > 10_000 && main.total <= user.duration, "{main:?}");
        assert!(user.overhead_inner > 0.0 && user.overhead_inner < 2000.0);
        // Everything: the same calls among those of the framework.
        let settings = Settings { mode: Mode::All, ..Settings::default() };
        let all = program.check(&settings, |_| {});
        balanced(&all);
        assert!(all.methods.len() > 200, "{}", all.methods.len());
        assert_eq!(enters_of(&all, "TestApp.MethodTest.recursive(int)"), 4);
        assert_eq!(enters_of(&all, "System.Console.WriteLine(string)"), 5);
        // Filtered: one type.
        let mut settings = Settings::default();
        settings.filter.exclude = vec!["TestApp.Program".into()];
        let filtered = program.check(&settings, |_| {});
        assert_eq!(shape(&filtered).lines().next(), Some("1 TestApp.MethodTest..ctor()"));
        settings.filter.include = vec!["TestApp".into()];
        let included = program.check(&settings, |_| {});
        assert_eq!(shape(&included), shape(&filtered));
    }
}

#[test]
fn hook_changes_no_register() {
    for bench in everywhere() {
        let program = bench.program("registers", "registers");
        for tiered in ["0", "1"] {
            for mode in [Mode::User, Mode::All] {
                let settings = Settings { mode, ..Settings::default() };
                let profile = program.check(&settings, |command| {
                    command.env("COMPlus_TieredCompilation", tiered);
                });
                balanced(&profile);
                let twelve = "Registers.Twelve(int, double, long, float, byte, double, short, float, long, \
                    double, int, double)";
                assert_eq!(enters_of(&profile, twelve), 2000);
                assert_eq!(enters_of(&profile, "Registers.Doubles(double, double)"), 2000);
            }
        }
        // The slower clock leads through a library that may use any register.
        let settings = Settings { clock: ClockChoice::Monotonic, ..Settings::default() };
        let profile = program.check(&settings, |_| {});
        assert!(!profile.time_stamp_counter);
        assert_eq!(enters_of(&profile, "Registers.Outs(int&, double&)"), 2000);
    }
}

#[test]
fn exceptions_end_calls_exactly_once() {
    for bench in throwing() {
        let program = bench.program("exceptions", "exceptions");
        let run = |mode, unwinding| {
            let settings = Settings { mode, unwinding, ..Settings::default() };
            program.check(&settings, |_| {})
        };
        let user = run(Mode::User, Unwinding::Auto);
        let sum = |profile: &Profile, field: fn(&Call) -> u64| profile.calls.iter().map(field).sum::<u64>();
        let ended = |profile: &Profile| sum(profile, |call| call.unwinds + call.dropped);
        assert!(ended(&user) > 300, "{}", ended(&user));
        // Finally 1, NestedFinally 2, ThrowInFinally 2, Rethrow 2, ThrowInCatch 2, Filtered 2, NullReference
        // 1, DivideByZero 1, Recursion 5 (the call with 3 catches for good) and reflection 2, in ten rounds.
        // Rethrows count.
        let thrown: u64 = user.threads.iter().map(|thread| thread.exceptions).sum();
        // The first call by reflection leads through the runtime's own code, above which .NET 9 reports it
        // again.
        assert_eq!(thrown, if bench.reports_once() { 200 } else { 201 }, ".NET {}", bench.version);
        assert_eq!(user.unwind_events, bench.reports_once());
        balanced(&user);
        // A finally block's call hangs under the method that has the block.
        let under = |profile: &Profile, name: &str| {
            let below =
                |call: &&&Call| call.parent.is_some_and(|at| profile.name(&profile.calls[at]) == name);
            calls_of(profile, "Exceptions.Quiet()").iter().filter(below).map(|call| call.enters).sum::<u64>()
        };
        let blocks = |profile: &Profile| {
            ["Exceptions.Finally()", "Exceptions.Finally2()", "Exceptions.Rethrow()"]
                .map(|name| under(profile, name))
        };
        assert_eq!(blocks(&user), [10, 20, 10]);
        // What throws is the same in both modes, also where the runtime throws by methods of its own.
        let all = run(Mode::All, Unwinding::Auto);
        balanced(&all);
        for name in ["Exceptions.Throw(int)", "Exceptions.Null(string)", "Exceptions.Divide(int, int)"] {
            let thrown =
                |profile: &Profile| calls_of(profile, name).iter().map(|call| call.exceptions).sum::<u64>();
            assert!(thrown(&user) >= 10, "{name}");
            assert_eq!(thrown(&all), thrown(&user), "{name} .NET {}", bench.version);
        }
        assert_eq!(enters_of(&all, "Exceptions.Quiet()"), enters_of(&user, "Exceptions.Quiet()"));
        // By the stack pointer alone the same calls end, at the same time where the runtime says who handles.
        for unwinding in [Unwinding::Stack, Unwinding::Off] {
            let healed = run(Mode::User, unwinding);
            assert_eq!(sum(&healed, |call| call.enters), sum(&user, |call| call.enters));
            assert_eq!(sum(&healed, |call| call.leaves), sum(&user, |call| call.leaves));
            assert_eq!(ended(&healed), ended(&user));
            let open = sum(&healed, |call| u64::from(call.open && call.parent.is_some()));
            assert_eq!(
                sum(&healed, |call| call.enters),
                sum(&healed, |call| call.leaves + call.tails) + ended(&healed) + open
            );
            assert_eq!(healed.threads.iter().map(|thread| thread.unmatched).sum::<u64>(), 0);
            if unwinding == Unwinding::Stack {
                balanced(&healed);
                assert_eq!(blocks(&healed), blocks(&user));
            }
        }
    }
}

#[test]
fn two_threads_are_counted_exactly_and_named() {
    for bench in everywhere() {
        let program = bench.program("threads", "threads");
        let settings = Settings { exact: true, ..Settings::default() };
        let profile = program.check(&settings, |_| {});
        balanced(&profile);
        assert_eq!(profile.exact, Exact::User);
        for name in ["first worker", "second worker"] {
            let thread = profile.threads.iter().find(|thread| thread.name == name).expect(name);
            assert!(thread.ended);
            let mut counts = [0; 3];
            profile.walk(thread.root, |call, step| {
                if step == reader::Step::Down {
                    let methods = [
                        "Threads.Program.Leaf(int)",
                        "Threads.Program.Small(int)",
                        "Threads.Program.Fib(int)",
                    ];
                    if let Some(at) = methods.iter().position(|method| *method == profile.name(call)) {
                        counts[at] += call.enters;
                    }
                }
            });
            // Fib(20) makes 2 F(21) - 1 calls.
            assert_eq!(counts, [100_000, 50_000, 21_891], "{name}");
        }
        let histogram: u64 = calls_of(&profile, "Threads.Program.Leaf(int)")
            .iter()
            .flat_map(|call| &call.histogram)
            .map(|(_, count)| u64::from(*count))
            .sum();
        assert_eq!(histogram, 200_000);
    }
}

#[test]
fn tail_calls_are_seen() {
    for bench in everywhere() {
        let program = bench.program("tails", "tails");
        // Otherwise one of the two is inlined into the other, which then jumps back to its own beginning.
        let settings = Settings { exact: true, ..Settings::default() };
        let profile = program.check(&settings, |command| {
            command.env("COMPlus_TieredCompilation", "0");
        });
        balanced(&profile);
        let tails: u64 = profile.calls.iter().map(|call| call.tails).sum();
        let enters = enters_of(&profile, "Tails.IsEven(int)") + enters_of(&profile, "Tails.IsOdd(int)");
        // A chain for each number from 1,000 to 1,009, down to 0.
        assert_eq!(enters, 10_055, "{}", shape(&profile));
        // The compiler of .NET 8 makes no jumps of them on Windows, as Wine runs it.
        if bench.is_windows() && bench.version == "8.0" {
            assert_eq!(tails, 0);
            continue;
        }
        assert!(tails > 0, "{}", shape(&profile));
        // Only the last call of each chain returns.
        assert_eq!(tails, enters - 10, "{}", shape(&profile));
    }
}

#[test]
fn names_read_as_written() {
    for bench in everywhere() {
        let program = bench.program("names", "names");
        let settings = Settings { exact: true, ..Settings::default() };
        let profile = program.check(&settings, |_| {});
        balanced(&profile);
        let names: Vec<&str> = profile.methods.iter().map(|method| method.name.as_str()).collect();
        // The class of a generic method whose code is shared is told by .NET 10 only.
        let class = |text: &'static str| {
            if bench.version == "10.0" { text } else { "Names.Inner.Outer<T>.Nested<U>" }
        };
        let generic = [
            format!("{}.Get<double>(T, U[], List<V>)", class("Names.Inner.Outer<T>.Nested<int>")),
            format!("{}.Get<V>(T, U[], List<V>)", class("Names.Inner.Outer<int>.Nested<U>")),
        ];
        for expected in [
            "Names.Inner.Program.Main()",
            "Names.Inner.Program.Over(int)",
            "Names.Inner.Program.Over(string, double&)",
            "Names.Inner.Program.Property.get()",
            "Names.Inner.Program.Items(int)",
            "iterator Names.Inner.Program.Items",
            "Names.Inner.Program.Load(int)",
            "async Names.Inner.Program.Load",
            &generic[0],
            &generic[1],
            "Names.Inner.Program.Main.<lambda 0>(int)",
        ] {
            assert!(names.contains(&expected), "{expected} is not among {names:#?}");
        }
        assert_eq!(enters_of(&profile, "async Names.Inner.Program.Load"), 3);
    }
}

#[test]
fn a_program_that_ends_without_notice_leaves_all_but_its_open_calls() {
    for (bench, end) in benches().iter().flat_map(|bench| ["KILL", "INT", "fail"].map(|end| (bench, end))) {
        let program = bench.program("forever", "ended");
        let mut command = program.profiled(&Settings::default());
        // What a program says that gives up belongs to no test.
        command.stderr(Stdio::null());
        let mut child = Talk::start(command);
        child.line("ready");
        child.say("1");
        child.line("done 1");
        // Read while it runs.
        let live = Profile::open(&program.profile()).unwrap();
        assert!(!live.ended);
        assert_eq!(enters_of(&live, "Forever.Program.Marked(int)"), 1000);
        child.say("2");
        child.line("done 2");
        if end == "fail" {
            child.say(end);
        } else {
            let process = child.child.id().to_string();
            assert!(Command::new("kill").args(["-s", end, &process]).status().unwrap().success());
        }
        assert!(!child.child.wait().unwrap().success());
        let profile = Profile::open(&program.profile()).unwrap();
        assert!(!profile.ended, "the runtime says nothing on {end}");
        balanced(&profile);
        assert_eq!(enters_of(&profile, "Forever.Program.Marked(int)"), 2000);
        let main = calls_of(&profile, "Forever.Program.Main()")[0];
        assert!(main.open && main.total > 0);
        assert!(calls_of(&profile, "Forever.Program.Background()")[0].open);
    }
}

#[test]
fn a_dormant_program_is_switched_on_and_off() {
    for (bench, tiered) in everywhere().flat_map(|bench| [(bench, "0"), (bench, "1")]) {
        let program = bench.program("forever", "dormant");
        let settings = Settings { mode: Mode::Dormant, ..Settings::default() };
        let mut command = program.profiled(&settings);
        command.env("COMPlus_TieredCompilation", tiered).stderr(Stdio::inherit());
        let mut child = Talk::start(command);
        child.line("ready");
        let file = program.profile();
        // Which methods are seen in turn, and their calls that are expected. The calls of Small were inlined
        // before.
        let only = |include: &str, exclude: &str| {
            let names = |text: &str| text.split_whitespace().map(str::to_string).collect();
            Some(Filter { include: names(include), exclude: names(exclude) })
        };
        let mut expected = [0; 2];
        let turns = [
            (None, [0, 0]),
            (only("", ""), [1, 1]),
            (None, [0, 0]),
            (only("Forever.Program::Marked", ""), [1, 0]),
            (only("", "Forever.Program::Marked"), [0, 1]),
            (only("Other", ""), [0, 0]),
            (only("Forever", "Other"), [1, 1]),
        ];
        for (number, (filter, seen)) in turns.into_iter().enumerate() {
            if number > 0 {
                reader::switch(&file, filter.is_some(), &filter.clone().unwrap_or_default()).unwrap();
                let deadline = Instant::now() + Duration::from_secs(60);
                while Profile::open(&file).unwrap().asked {
                    assert!(Instant::now() < deadline, "the program did not answer");
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            child.say("x");
            child.line("done x");
            expected = [expected[0] + 1000 * seen[0], expected[1] + 1000 * seen[1]];
            let profile = Profile::open(&file).unwrap();
            if matches!(bench.version, "3.1" | "8.0") {
                // It may crash, so it is refused, and nothing changes.
                let refused = profile.problem.contains("not switched: .NET before 9 may crash");
                assert_eq!((refused, profile.hooks_on, profile.enters()), (number > 0, false, 0));
                continue;
            }
            assert_eq!((profile.problem.as_str(), profile.hooks_on), ("", filter.is_some()));
            let found =
                ["Marked", "Small"].map(|name| enters_of(&profile, &format!("Forever.Program.{name}(int)")));
            assert_eq!(found, expected, "{filter:?}, tiered: {tiered}, .NET {}", bench.version);
        }
        child.child.kill().unwrap();
        child.child.wait().unwrap();
    }
}

#[test]
fn a_profiler_that_can_not_start_says_so_and_lets_the_program_run() {
    for bench in benches() {
        let program = bench.program("article", "refused");
        let mut command = program.profiled(&Settings::default());
        command.env("TALLYMON_PROF_MODE", "fast");
        let out = finish(&mut command);
        assert!(out.status.success());
        let words = String::from_utf8_lossy(&out.stderr).into_owned();
        let expected = "tallymon profiler: TALLYMON_PROF_MODE: needed dormant, user or all, found \"fast\"; \
            the program runs without it\n";
        assert_eq!(words, expected);
        assert!(String::from_utf8_lossy(&out.stdout).contains('6'));
        let mut command = program.profiled(&Settings::default());
        command.env("TALLYMON_PROF_FILE", "/proc/none/x.prof");
        let out = finish(&mut command);
        assert!(String::from_utf8_lossy(&out.stderr).contains("/proc/none/x.prof: No such file"), "{out:?}");
        assert!(out.status.success());
    }
}

#[test]
fn explicit_tail_calls_are_counted() {
    for bench in everywhere() {
        let Some(program) = bench.assembled("jumps", "jumps") else { return };
        for tiered in ["0", "1"] {
            let profile = program.check(&Settings::default(), |command| {
                command.env("COMPlus_TieredCompilation", tiered);
            });
            balanced(&profile);
            let ends = |name: &str| {
                let calls = calls_of(&profile, name);
                let sum = |field: fn(&Call) -> u64| calls.iter().map(|call| field(call)).sum::<u64>();
                [sum(|call| call.enters), sum(|call| call.leaves), sum(|call| call.tails)]
            };
            // 100,000 and 99,999 steps down: the first chain ends in IsEven, the second in IsOdd.
            assert_eq!(ends("Jumps.IsEven(int)"), [100_001, 1, 100_000], "{tiered} {}", shape(&profile));
            assert_eq!(ends("Jumps.IsOdd(int)"), [100_000, 1, 99_999], "{tiered} {}", shape(&profile));
            // A jump to the own beginning is no call.
            assert_eq!(ends("Jumps.Sum(int, int)"), [1, 1, 0]);
            // An ordinary call on 3.1, but a jump in that of Windows; two calls by a helper since.
            let is_jump = bench.is_windows() && bench.version == "3.1";
            let few = if is_jump { [1, 0, 1] } else { [1, 1, 0] };
            assert_eq!(ends("Jumps.Few(long)"), few);
            assert_eq!(enters_of(&profile, "Jumps.Many(long, long, long, long, long, long, long, long)"), 1);
        }
    }
}

#[test]
fn exact_counts_are_exact_and_others_say_what_inlining_hid() {
    for bench in everywhere() {
        let program = bench.program("counts", "counts");
        let counts = |profile: &Profile| {
            ["Counts.Square.V(int)", "Counts.Program.Small(int)"].map(|name| enters_of(profile, name))
        };
        for mode in [Mode::User, Mode::All] {
            let exact = program.check(&Settings { exact: true, mode, ..Settings::default() }, |_| {});
            balanced(&exact);
            assert_eq!(counts(&exact), [350_000, 700_000], "{mode:?}");
        }
        // As it runs: most of the small calls are not there.
        let plain = program.check(&Settings::default(), |command| {
            command.env("COMPlus_TieredCompilation", "0");
        });
        balanced(&plain);
        // The runtimes of Windows, as Wine runs them, ask whether they may inline these, and do not.
        if bench.is_windows() {
            assert_eq!(counts(&plain), [350_000, 700_000]);
            continue;
        }
        assert_eq!(counts(&plain)[1], 0);
        let hidden = plain.methods.iter().find(|method| method.name == "Counts.Program.Small(int)").unwrap();
        assert!(plain.inlining_counted && hidden.inlined >= 2 && hidden.compiled == 0, "{hidden:?}");
        let caller = hidden.inlined_into.and_then(|at| plain.methods.get(at)).unwrap();
        assert!(caller.name.starts_with("Counts.Program.Round"), "{caller:?}");
        let mut words = Vec::new();
        export::summary(&plain, &mut words).unwrap();
        let words = String::from_utf8(words).unwrap();
        assert!(words.contains("inlined  perhaps: "), "{words}");
    }
}

#[test]
fn newest_events_form_a_time_line() {
    use EventKind::{Enter, Leave};
    for bench in everywhere() {
        let program = bench.program("article", "events");
        let profile = program.check(&Settings { events: 8, ..Settings::default() }, |_| {});
        let main = profile.threads.iter().find(|thread| !thread.events.is_empty()).unwrap();
        let events = main.events.iter().map(|event| {
            let name = &profile.methods[event.method.unwrap()].raw.method;
            (event.kind, name.as_str())
        });
        let expected = [
            (Enter, "Main"),
            (Enter, "sum"),
            (Leave, "sum"),
            (Enter, ".ctor"),
            (Leave, ".ctor"),
            (Enter, "recursive"),
            (Enter, "recursive"),
            (Enter, "recursive"),
            (Enter, "recursive"),
            (Leave, "recursive"),
            (Leave, "recursive"),
            (Leave, "recursive"),
            (Leave, "recursive"),
            (Leave, "Main"),
        ];
        assert_eq!(events.collect::<Vec<_>>(), expected);
        assert!(main.events.is_sorted_by_key(|event| event.at) && main.first <= main.events[0].at);
        assert!(profile.modules.iter().all(|module| !module.domain.is_empty()), "{:?}", profile.modules);
        // More events than a ring has: the newest stay.
        let program = bench.program("threads", "events-many");
        let profile = program.check(&Settings { events: 8, exact: true, ..Settings::default() }, |_| {});
        let worker = profile.threads.iter().find(|thread| thread.name == "first worker").unwrap();
        assert_eq!(worker.events.len(), 65_536);
        // Two for each of 100,000, 50,000 and 21,891 calls and one more.
        assert_eq!(worker.lost_events + 65_536, 2 * 171_892);
    }
}

#[test]
fn asynchronous_methods_gather_their_steps() {
    for bench in throwing() {
        let program = bench.program("steps", "steps");
        let profile = program.check(&Settings::default(), |_| {});
        balanced(&profile);
        // 20 calls; each runs once until its delay is over, once behind it, and 16 once more behind the
        // yield.
        assert_eq!(enters_of(&profile, "Steps.Program.Leaf(int)"), 20);
        assert_eq!(enters_of(&profile, "async Steps.Program.Leaf"), 56);
        assert_eq!(enters_of(&profile, "Steps.Program.Middle(int)"), 20);
        let thrown: u64 = profile.threads.iter().map(|thread| thread.exceptions).sum();
        assert_eq!(thrown, 8, "each of 4 exceptions is thrown again where it is awaited");
    }
}

#[test]
fn a_little_shop_adds_up() {
    for bench in throwing() {
        let program = bench.program("shop", "shop");
        let profile = program.check(&Settings { exact: true, ..Settings::default() }, |_| {});
        balanced(&profile);
        // Two threads of a hundred rounds with five items each, one of which has no price.
        assert_eq!(enters_of(&profile, "Shop.Orders.Place(int)"), 200);
        assert_eq!(enters_of(&profile, "async Shop.Orders.Place"), 400);
        assert_eq!(enters_of(&profile, "Shop.Cart.Total.<lambda 0>(Item)"), 1000);
        let parse = calls_of(&profile, "Shop.Text.Parse(string)");
        let sum = |field: fn(&Call) -> u64| parse.iter().map(|call| field(call)).sum::<u64>();
        assert_eq!([sum(|c| c.enters), sum(|c| c.unwinds), sum(|c| c.exceptions)], [1000, 200, 200]);
    }
}
