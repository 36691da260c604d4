//! Names and help texts: of other systems, of old systems, and in languages whose Windows has English names.

use tallymon_testkit::{Scratch, shared};

use super::support::{AVAILABLE, PROCESSOR_TIME, has, tally, tally_with};

/// A log of Windows is explained in words that are true of Windows, with the help of the counter's own
/// object.
#[test]
fn a_log_of_windows_is_explained_without_linux() {
    let (Some(blg), Some(csv)) =
        (shared("logs/PAL_SampleLog.blg"), shared("logs/PowerShell_CounterSamples.csv"))
    else {
        return;
    };
    let blg = blg.to_str().unwrap();
    for path in [r"\Process(_Total)\% Processor Time", AVAILABLE, r"\Process(_Total)\Handle Count"] {
        for language in ["en", "ko", "ja", "ru"] {
            let text = tally(&["explain", "--log", blg, path, "--lang", language]).data();
            for word in ["Linux", "/proc", "users", "MemAvailable"] {
                assert!(!text.contains(word), "{path} in {language}: {word} in {text}");
            }
        }
    }
    let process = tally(&["explain", "--log", blg, r"\Process(_Total)\% Processor Time", "--json"]).json();
    has(process["help"].as_str().unwrap(), &["all threads of this process"]);
    // The value of a text log is a number, not the bits of one.
    let computed = tally(&["explain", "--log", csv.to_str().unwrap(), PROCESSOR_TIME, "--json"]).json();
    let number: f64 = computed["numbers"].as_str().unwrap().parse().unwrap();
    assert_eq!(Some(number), computed["value"].as_f64());
    assert_eq!(computed["detail"], serde_json::Value::Null);
}

/// Our own logs are explained as this machine is, also after they were copied.
#[test]
fn a_log_of_ours_is_explained_with_linux() {
    let scratch = Scratch::new();
    let (log, copy) = (scratch.join("a.tally"), scratch.join("b.tally"));
    let (log, copy) = (log.to_str().unwrap(), copy.to_str().unwrap());
    tally(&["watch", AVAILABLE, "-i", "20ms", "-c", "2", "-o", log]);
    assert_eq!(tally(&["relog", log, "-o", copy]).code, Some(0));
    for file in [log, copy] {
        has(&tally(&["explain", "--log", file, r"\Memory\Available MBytes"]).data(), &["/proc/meminfo"]);
    }
    let Some(blg) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    let converted = scratch.join("c.tally");
    let converted = converted.to_str().unwrap();
    assert_eq!(tally(&["relog", blg.to_str().unwrap(), "-o", converted]).code, Some(0));
    let text = tally(&["explain", "--log", converted, PROCESSOR_TIME]).data();
    assert!(!text.contains("hypervisor"), "{text}");
}

/// Windows shows English names in Korean and Japanese; the translations are a choice, and always accepted.
#[test]
fn korean_and_japanese_names_are_a_choice() {
    for (language, memory, counter) in [("ko", "메모리", "사용 가능한 MB"), ("ja", "メモリ", "利用可能 MB")]
    {
        let listed = |more: &[&str]| {
            let mut words = vec!["list", "--lang", language];
            words.extend(more);
            tally(&words).data()
        };
        let is_translated = |text: &str| text.lines().any(|line| line.starts_with(memory));
        assert!(
            !is_translated(&listed(&[])) && is_translated(&listed(&["--names", "translated"])),
            "{language}"
        );
        let environment = |value: &str| {
            tally_with(&["list", "--lang", language], |command| {
                command.env("TALLY_NAMES", value);
            })
        };
        assert!(is_translated(&environment("translated").data()));
        assert!(!is_translated(&environment("nt").data()));
        assert_eq!(environment("x").code, Some(2));
        // Either name means the counter, whatever is shown.
        let value = tally(&["get", &format!(r"\{memory}\{counter}"), "--lang", language]).data();
        has(&value, &[AVAILABLE]);
        let help = tally(&["explain", AVAILABLE, "--lang", language, "--json"]).json();
        assert!(help["help"].as_str().unwrap().chars().any(|letter| letter > '\u{2fff}'), "{help}");
    }
}

/// TCP, UDP and IP of NT 4 and Windows 2000 are the objects with a version in their names.
#[test]
fn objects_of_nt_4_have_their_names() {
    for (old, new) in [
        (r"\TCP\Segments/sec", r"\TCPv4\Segments/sec"),
        (r"\UDP\Datagrams/sec", r"\UDPv4\Datagrams/sec"),
        (r"\ip\Datagrams/sec", r"\IPv4\Datagrams/sec"),
        (r"\ICMP\Messages/sec", r"\ICMP\Messages/sec"),
    ] {
        let text = tally(&["get", old, "-i", "20ms"]).data();
        assert!(text.starts_with(new), "{old}: {text}");
    }
    // Logs of those systems too.
    let scratch = Scratch::new();
    let log = scratch.join("nt4.csv");
    let text = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\PDC\\TCP\\Connections Established\"\r\n\
                \"07/01/1999 12:00:00.000\",\"5\"\r\n";
    std::fs::write(&log, text).unwrap();
    let log = log.to_str().unwrap();
    for path in [r"\TCP\Connections Established", r"\TCPv4\Connections Established"] {
        has(&tally(&["get", path, "--log", log]).data(), &["5"]);
    }
}
