//! One host, several hosts, groups, and hosts in paths.

use crate::support::{AVAILABLE, Net, good, has};
use crate::tls::Server;

/// A saved block of another machine, which never changes.
fn saved(net: &Net) -> Option<String> {
    let block = tallymon_testkit::shared("samba/global-zero-text-fraction.bin")?;
    let file = net.file("saved.bin", &std::fs::read(block).unwrap());
    Some(file.to_str().unwrap().to_string())
}

#[test]
fn a_saved_block_is_the_same_through_ssh_and_tls() {
    let net = Net::new(&[]);
    let Some(block) = saved(&net) else { return };
    let action = format!("exec {} serve --stdio --file {block}", crate::support::TALLY);
    let net = Net::new(&[("far", &action)]);
    let server = Server::start(&net, "server", &["--file", &block]);
    server.pair(&net);
    let ways = ["ssh://far", server.address.as_str()];
    // The names of the block: the same table in both cases.
    let file = |name: &str| net.folder.join(name).to_str().unwrap().to_string();
    for words in [
        vec!["list", "--json"],
        vec!["dump", "Global"],
        vec!["dump", "2 4 6 8"],
        vec!["dump", "MetadataGlobal"],
    ] {
        let here = net.tally(&[&words[..], &["--file", &block]].concat()).data();
        assert!(!here.is_empty());
        for way in ways {
            let there = net.tally(&[&words[..], &["-H", way]].concat()).data();
            assert_eq!(here, there, "{way}: {words:?}");
        }
    }
    for (number, way) in ways.iter().enumerate() {
        let raw = file(&format!("through{number}.bin"));
        net.tally(&["dump", "Global", "-H", way, "--raw", &raw]).data();
        assert_eq!(std::fs::read(raw).unwrap(), std::fs::read(&block).unwrap(), "{way}");
    }
}

#[test]
fn values_of_one_host_have_no_host_and_of_several_have_it() {
    let net = Net::new(&[("good*", &good())]);
    let one = net.tally(&["get", "-H", "ssh://good1", AVAILABLE]).data();
    assert!(one.starts_with(AVAILABLE), "{one}");
    let named = net.tally(&["get", "-H", "ssh://good1", r"\\GOOD1\Memory\Available MBytes"]).data();
    assert!(named.starts_with(AVAILABLE), "{named}");
    let two = net.tally(&["get", "-H", "ssh://good1", "-H", "ssh://ann@good2:2222", AVAILABLE, "--json"]);
    has(&two.data(), &[r"\\\\good1\\Memory\\Available MBytes", r"\\\\good2\\Memory\\Available MBytes"]);
    let list = net.tally(&["list", "-H", "ssh://good1", "-H", "ssh://good2", "Memory"]).data();
    has(&list, &[r"\\good1\Memory\Available Bytes", r"\\good2\Memory\Available Bytes"]);
    let of_one = net.tally(&["list", "-H", "ssh://good1", "-H", "ssh://good2", r"\\good2\Memory"]).data();
    assert!(!of_one.contains("good1") && of_one.contains(r"\Memory\Available Bytes"), "{of_one}");
    let found = net.tally(&["find", "Available MBytes", "-H", "ssh://good1", "-H", "ssh://good2"]).data();
    has(&found, &[r"\\good1\Memory\Available MBytes", r"\\good2\Memory\Available MBytes"]);
    let rows = net.tally(&["watch", AVAILABLE, "-H", "ssh://good1", "-H", "ssh://good2", "-c", "2", "--csv"]);
    let rows = rows.data();
    assert_eq!(rows.lines().count(), 3, "{rows}");
    has(
        rows.lines().next().unwrap(),
        &[r"\\good1\Memory\Available MBytes", r"\\good2\Memory\Available MBytes"],
    );
}

/// Processes of another machine have the names that the option asks for.
#[test]
fn processes_of_other_hosts_are_named_with_their_ids() {
    let net = Net::new(&[("good*", &good())]);
    let own = std::process::id();
    let path = format!(r"\Process(*_{own})\ID Process");
    let by_id = |hosts: &[&str]| net.tally(&[&["get", "--instances", "pid", &path], hosts].concat()).data();
    for (hosts, lines) in [(&["-H", "ssh://good1"][..], 1), (&["-H", "ssh://good1", "-H", "ssh://good2"], 2)]
    {
        let found = by_id(hosts);
        let named = |line: &&str| line.contains(&format!("_{own})")) && line.ends_with(&format!(" {own}"));
        assert_eq!(found.lines().filter(named).count(), lines, "{found}");
    }
    let list = net.tally(&["list", "Process", "--instances=pid", "-H", "ssh://good1"]).data();
    assert!(list.lines().any(|line| line.ends_with(&format!("_{own})"))), "{list}");
}

#[test]
fn the_table_names_hosts_and_groups() {
    let net = Net::new(&[("good*", &good())]);
    net.file("root/hosts", b"web1 ssh://good1 web\nweb2 ssh://good2 web # the second\n");
    let group = net.tally(&["get", "-H", "WEB", AVAILABLE]).data();
    has(&group, &[r"\\web1\Memory", r"\\web2\Memory"]);
    // A host in a path, beside this machine.
    let paths = net.tally(&["get", r"\\web1\Memory\Available MBytes", AVAILABLE, "--json"]).data();
    has(&paths, &[r"\\\\web1\\Memory"]);
    assert_eq!(paths.matches("Available MBytes").count(), 2, "{paths}");
    let only = net.tally(&["get", "//web2/Memory/Available MBytes"]).data();
    assert!(only.starts_with(AVAILABLE), "{only}");
    let file = net.file("more", b"ssh://good3\nssh://good4\n");
    let more = net.tally(&["get", "-H", &format!("@{}", file.display()), AVAILABLE]).data();
    has(&more, &[r"\\good3\Memory", r"\\good4\Memory"]);
}

#[test]
fn a_host_that_can_not_be_meant_is_a_named_error() {
    let net = Net::new(&[("good*", &good())]);
    for (words, code, parts) in [
        (vec!["get", r"\\web9\Memory\Available MBytes"], 6, &["-H ssh://HOST", "web9"][..]),
        (vec!["get", "-H", "web9", AVAILABLE], 3, &["no host or group is called \"web9\"", "root/hosts"]),
        (vec!["get", "-H", "ftp://x", AVAILABLE], 2, &["\"ftp\"", "ssh://HOST"]),
        (vec!["get", "-H", "ssh://-oProxyCommand=x", AVAILABLE], 2, &["the host is wrong"]),
        (vec!["get", "-H", "ssh://good1", "--file", "x", AVAILABLE], 2, &["cannot be combined"]),
        (vec!["get", "-H", "ssh://good1", "--log", "x", AVAILABLE], 2, &["cannot be combined"]),
        (vec!["doctor", "-H", "ssh://good1"], 2, &["does not read other machines"]),
        (vec!["explain", "-H", "ssh://good1", "-H", "ssh://good2", AVAILABLE], 2, &["name 2 hosts"]),
        (vec!["get", "-H", "ssh://nowhere", AVAILABLE], 6, &["Could not resolve hostname nowhere"]),
        (vec!["serve", "--stdio", "--open"], 2, &["--stdio"]),
    ] {
        let ran = net.tally(&words);
        assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{words:?}: {}", ran.err);
        has(&ran.err, parts);
    }
}

#[test]
fn attack_a_table_of_hosts_that_others_can_change_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let net = Net::new(&[("good*", &good())]);
    let table = net.file("root/hosts", b"web1 ssh://good1\n");
    std::fs::set_permissions(&table, std::fs::Permissions::from_mode(0o666)).unwrap();
    let ran = net.tally(&["get", "-H", "web1", AVAILABLE]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(5), ""), "{}", ran.err);
    has(&ran.err, &["can be written by every user"]);
    tallymon_testkit::attack(
        "other users",
        "change the table of hosts, so that it leads to a machine of theirs",
        "the table is refused; the message names its mode",
    );
}

#[test]
fn fifty_hosts_answer_beside_one_that_hangs() {
    let net = Net::new(&[("good*", &good()), ("hang", "exec sleep 60")]);
    let names: Vec<String> = (0..50).map(|number| format!("ssh://good{number}")).collect();
    let mut words = vec!["get", AVAILABLE, "--timeout", "15s", "-H", "ssh://hang"];
    words.extend(names.iter().flat_map(|name| ["-H", name.as_str()]));
    let ran = net.tally(&words);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert_eq!(ran.out.matches("Available MBytes").count(), 50, "{}\n{}", ran.out, ran.err);
    has(&ran.err, &["ssh://hang: no answer within 15s"]);
    // Rows do not wait for it at all: its deadline is longer than the whole watch.
    words[0] = "watch";
    words[3] = "1h";
    words.extend(["--count", "2", "--interval", "5s"]);
    let ran = net.tally(&words);
    assert_eq!(ran.out.matches("Available MBytes").count(), 100, "{}\n{}", ran.out, ran.err);
}

/// A host answers at first; then it is stopped, or ends for good.
#[test]
fn the_age_of_old_values_is_said() {
    for (signal, before, behind) in [
        ("-STOP", "(old, ", " s: the source does not answer)"),
        ("-KILL", "; the last value was ", " s ago)"),
    ] {
        let flag = tallymon_testkit::Scratch::new();
        let number = flag.join("number");
        let file = number.display();
        let sick = format!("[ -e {file} ] && exit 255; echo $$ > {file}; {}", good());
        let net = Net::new(&[("good*", &good()), ("sick", &sick)]);
        let words = ["watch", AVAILABLE, "-i", "1s", "-c", "8", "--timeout", "1h", "-H", "ssh://good1"];
        let ran = std::thread::scope(|scope| {
            let watch = scope.spawn(|| net.tally(&[&words[..], &["-H", "ssh://sick"]].concat()));
            let begin = std::time::Instant::now();
            let process = loop {
                let text = std::fs::read_to_string(&number).unwrap_or_default();
                if text.ends_with('\n') {
                    break text.trim().to_string();
                }
                assert!(begin.elapsed() < std::time::Duration::from_secs(60), "the host was not asked");
                std::thread::sleep(std::time::Duration::from_millis(20));
            };
            // A row with its values.
            std::thread::sleep(std::time::Duration::from_millis(3_500));
            let kill = |signal: &str| std::process::Command::new("kill").args([signal, &process]).status();
            kill(signal).unwrap();
            let ran = watch.join().unwrap();
            let _ = kill("-KILL");
            ran
        });
        // On a busy machine a row may be missing between them.
        let ages: Vec<u32> =
            (1..8).filter(|age| ran.out.contains(&format!("{before}{age}{behind}"))).collect();
        assert!(ages.len() > 1 && ages[0] < 5, "{ages:?}: {}", ran.out);
        if signal == "-KILL" {
            has(&ran.err, &["; tried again after 1 s, later after up to 30 s"]);
        }
    }
}

/// The commit limit of a machine is the same in every sample.
#[test]
fn values_are_computed_over_all_hosts() {
    const LIMIT: &str = r"\Memory\Commit Limit";
    let net = Net::new(&[("good*", &good()), ("dead", "exit 255")]);
    let hosts = ["-H", "ssh://good1", "-H", "ssh://good2", "-H", "ssh://good3"];
    let cells = |text: &str| -> Vec<(String, f64)> {
        let row: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        let cells = row["values"].as_array().unwrap_or_else(|| panic!("{row}"));
        let of = |cell: &serde_json::Value| {
            (cell["path"].as_str().unwrap().into(), cell["value"].as_f64().unwrap())
        };
        cells.iter().map(of).collect()
    };
    let run = |words: &[&str]| net.tally(&[words, &hosts[..]].concat());
    let all = cells(&run(&["get", LIMIT, "--json", "--fleet", "sum,mean,p95"]).data());
    let limit = all[0].1;
    let named: Vec<(&str, f64)> = all.iter().map(|(path, value)| (path.as_str(), *value)).collect();
    assert_eq!(
        named,
        [
            (r"\\good1\Memory\Commit Limit", limit),
            (r"\\good2\Memory\Commit Limit", limit),
            (r"\\good3\Memory\Commit Limit", limit),
            (r"\\_Fleet.sum\Memory\Commit Limit", 3.0 * limit),
            (r"\\_Fleet.mean\Memory\Commit Limit", limit),
            (r"\\_Fleet.p95\Memory\Commit Limit", limit),
        ]
    );
    // Without the hosts, and with the largest one only.
    let only = cells(&run(&["get", LIMIT, "--json", "--fleet", "max", "--top-hosts", "0"]).data());
    assert_eq!(only, [(r"\\_Fleet.max\Memory\Commit Limit".to_string(), limit)]);
    let top =
        cells(&run(&["watch", r"\Process(*)\ID Process", "--json", "--top-hosts", "1", "-c", "1"]).data());
    let own = format!("({})", "tally");
    assert!(top.iter().filter(|(path, _)| path.contains(&own)).count() == 1, "{top:?}");
    // What a host that is gone lacks is said beside the value.
    let gone = net.tally(&[&["get", LIMIT, "--fleet", "sum", "-H", "ssh://dead"][..], &hosts].concat());
    assert_eq!(gone.code, Some(3), "{}", gone.err);
    has(&gone.out, &["_Fleet.sum", "1 of 4 missing"]);
    for (words, part) in [
        (&["get", LIMIT, "--fleet", "median"][..], "none of sum, mean, min, max"),
        (&["watch", LIMIT, "--csv", "--top-hosts", "2"], "leave out --top-hosts"),
    ] {
        let ran = run(words);
        assert_eq!(ran.code, Some(2), "{words:?}");
        has(&ran.err, &[part]);
    }
}

/// The clock of a host is compared with this machine's: that of a saved block stands still.
#[test]
fn the_clocks_of_hosts_are_compared() {
    let net = Net::new(&[("good*", &good())]);
    let Some(block) = saved(&net) else { return };
    let action = format!("exec {} serve --stdio --file {block}", crate::support::TALLY);
    let net = Net::new(&[("good*", &good()), ("far", &action)]);
    let words = ["get", r"\System\System Up Time", "-v", "-H", "ssh://good1"];
    let one = net.tally(&words);
    assert_eq!(one.code, Some(0), "{}", one.err);
    has(&one.err, &["good1: its clock agrees with that of this machine within ", "good1: an answer of "]);
    net.file("root/hosts", b"far ssh://far\n");
    let two = net.tally(&[&words[..], &[r"\\far\System\Memory"]].concat());
    assert_eq!(two.err.matches(" bytes took ").count(), 2, "{}", two.err);
    has(&two.err, &["good1: its clock agrees with", "far: its clock is ", " h behind that of this machine"]);
    // Without the option nothing is said.
    let plain = net.tally(&["get", AVAILABLE, "-H", "ssh://good1"]);
    assert_eq!(plain.err, "");
}

/// The values of several hosts and those over all of them, as columns of a text log.
#[test]
fn several_hosts_are_written_into_a_text_log() {
    let net = Net::new(&[("good*", &good()), ("dead", "exit 255")]);
    let file = net.folder.join("farm.csv");
    let path = file.to_str().unwrap();
    let hosts = ["-H", "ssh://good1", "-H", "ssh://dead", "-H", "ssh://good2"];
    let words = ["watch", AVAILABLE, "-o", path, "-i", "500ms", "-c", "3", "--fleet", "sum,mean"];
    let ran = net.tally(&[&words[..], &hosts].concat());
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{}", ran.err);
    has(&ran.err, &["farm.csv: 3 records", "dead: not in this file", "other formats take hosts"]);
    let info = net.tally(&["info", path]).data();
    has(&info, &["good1", "good2", "_Fleet.sum", "_Fleet.mean"]);
    let read = |path: &str| -> f64 {
        let cell = net.tally(&["get", "--log", file.to_str().unwrap(), path, "--json"]).data();
        let row: serde_json::Value = serde_json::from_str(cell.lines().last().unwrap()).unwrap();
        row["values"][0]["value"].as_f64().unwrap_or_else(|| panic!("{row}"))
    };
    let of = |host: &str| read(&format!(r"\\{host}{AVAILABLE}"));
    let sum = of("good1") + of("good2");
    assert!((of("_Fleet.sum") - sum).abs() < 1e-6 && (of("_Fleet.mean") - sum / 2.0).abs() < 1e-6);
    // It is not replaced unasked, and other formats have another command.
    let again = net.tally(&[&words[..], &hosts].concat());
    assert!(again.code != Some(0) && again.err.contains("exists"), "{}", again.err);
    for (words, part) in [
        (
            &["watch", AVAILABLE, "-o", "farm.blg", "--fleet", "sum"][..],
            "the hosts themselves: leave out --fleet",
        ),
        (&["watch", AVAILABLE, "-o", "farm.csv", "--top-hosts", "2"], "leave out --top-hosts"),
    ] {
        let ran = net.tally(&[words, &hosts].concat());
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        has(&ran.err, &[part]);
    }
}

/// Raw values of several hosts, in Windows' binary format and others. One host answers
/// later, and one never does.
#[test]
fn several_hosts_are_written_into_a_binary_log() {
    let flag = tallymon_testkit::Scratch::new();
    let count = flag.join("count");
    // It is asked twice before it answers: by the command, and by its thread.
    let later = format!("echo x >> {0}; [ $(wc -l < {0}) -gt 2 ] || exit 255; {1}", count.display(), good());
    let net = Net::new(&[("good*", &good()), ("later", &later), ("dead", "exit 255")]);
    for format in ["blg", "tally", "parquet"] {
        let _ = std::fs::remove_file(&count);
        let file = net.folder.join(format!("farm.{format}"));
        let path = file.to_str().unwrap();
        net.file("root/hosts", b"web2 ssh://good2\n");
        let words = [
            "watch",
            AVAILABLE,
            r"\\web2\Processor(*)\% Processor Time",
            "-o",
            path,
            "-i",
            "500ms",
            "-c",
            "6",
        ];
        let hosts = ["-H", "ssh://good1", "-H", "web2", "-H", "ssh://dead", "-H", "ssh://later"];
        let ran = net.tally(&[&words[..], &hosts].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{}", ran.err);
        let said = [
            format!("farm.{format}: 6 records"),
            r"\\dead is recorded as soon as it answers".to_string(),
            "later answers again, after ".to_string(),
        ];
        said.iter().for_each(|part| has(&ran.err, &[part.as_str()]));
        // What was wrong at the start is said once.
        assert_eq!(ran.err.matches("ssh://dead: ").count(), 1, "{}", ran.err);
        let read = |path: &str| -> serde_json::Value {
            let cell = net.tally(&["get", "--log", file.to_str().unwrap(), path, "--json"]).data();
            serde_json::from_str(cell.lines().last().unwrap()).unwrap()
        };
        for host in ["good1", "web2", "later"] {
            let row = read(&format!(r"\\{host}{AVAILABLE}"));
            assert!(row["values"][0]["value"].as_f64() > Some(0.0), "{host}: {row}");
        }
        // What one host was asked for is not recorded of the others.
        let times = read(r"\\web2\Processor(_Total)\% Processor Time");
        assert!(times["values"][0]["value"].is_number(), "{times}");
        let info = net.tally(&["list", "--log", path]).data();
        assert!(info.contains(r"\\web2\Processor") && !info.contains(r"\\good1\Processor"), "{info}");
        let fleet = ["get", "--log", path, AVAILABLE, "--fleet", "sum", "--top-hosts", "0"];
        has(&net.tally(&fleet).data(), &["_Fleet.sum"]);
        // It is not replaced unasked.
        let again = net.tally(&[&words[..], &hosts].concat());
        assert!(again.code != Some(0) && again.err.contains("--force"), "{}", again.err);
        // Nothing of the recording is left beside it.
        let mut names = std::fs::read_dir(&net.folder).unwrap().flatten().map(|file| file.file_name());
        assert!(!names.any(|name| name.to_string_lossy().contains("recording")));
    }
}

#[test]
fn this_machine_is_written_beside_a_host_and_a_host_must_answer() {
    let net = Net::new(&[("good*", &good()), ("dead", "exit 255")]);
    net.file("root/hosts", b"web2 ssh://good2\n");
    let file = net.folder.join("both.tally");
    let words = ["watch", r"\\web2\Memory\Available MBytes", AVAILABLE, "-c", "2", "-i", "100ms", "-o"];
    let ran = net.tally(&[&words[..], &[file.to_str().unwrap()]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
    has(&net.tally(&["info", file.to_str().unwrap()]).data(), &["web2"]);
    let all = net.tally(&["get", "--log", file.to_str().unwrap(), AVAILABLE, "--json"]).data();
    assert_eq!(all.lines().last().unwrap().matches("Available MBytes").count(), 2, "{all}");
    // Nobody answers, or nobody has the counter.
    for (words, code) in
        [(["watch", AVAILABLE, "-H", "ssh://dead"], 6), (["watch", r"\No\x", "-H", "ssh://good1"], 3)]
    {
        let file = net.folder.join("none.blg");
        let more = ["-H", "ssh://dead", "-o", file.to_str().unwrap()];
        let ran = net.tally(&[&words[..], &more].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{words:?}: {}", ran.err);
        assert!(!file.exists());
    }
}

/// A host that is stopped while a text log is written has blank cells, never its old value again.
#[test]
fn a_late_host_is_blank_in_a_text_log() {
    let flag = tallymon_testkit::Scratch::new();
    let number = flag.join("number");
    let sick = format!("echo $$ > {}; {}", number.display(), good());
    let net = Net::new(&[("good*", &good()), ("sick", &sick)]);
    let file = net.folder.join("late.csv");
    let words = ["watch", r"\System\Processes", "-o", file.to_str().unwrap(), "-i", "1s", "-c", "7"];
    let hosts = ["--timeout", "1h", "-H", "ssh://good1", "-H", "ssh://sick"];
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| net.tally(&[&words[..], &hosts].concat()));
        let begin = std::time::Instant::now();
        // Its first row is there.
        while std::fs::read_to_string(&file).unwrap_or_default().lines().count() < 2 {
            assert!(begin.elapsed() < std::time::Duration::from_secs(60), "no row");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let process = std::fs::read_to_string(&number).unwrap().trim().to_string();
        let kill = |signal: &str| std::process::Command::new("kill").args([signal, &process]).status();
        kill("-STOP").unwrap();
        watch.join().unwrap();
        let _ = kill("-KILL");
    });
    let text = std::fs::read_to_string(&file).unwrap();
    let cells: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!(cells.len(), 7, "{text}");
    let is_blank = |cell: &str| cell.trim_matches('"').trim().is_empty();
    assert!(cells.iter().all(|row| !is_blank(row[1])), "{text}");
    assert!(!is_blank(cells[0][2]) && cells[2..].iter().all(|row| is_blank(row[2])), "{text}");
}

/// Every command that reads one host reads the one that its paths name.
#[test]
fn a_path_names_the_host_of_any_command() {
    let net = Net::new(&[("good*", &good())]);
    net.file("root/hosts", b"web1 ssh://good1\nweb2 ssh://good2\naway ssh://away\n");
    let of = |host: &str| format!(r"\\{host}{AVAILABLE}");
    let (one, two, away, nobody) = (of("web1"), of("web2"), of("away"), of("nobody"));
    let explained = net.tally(&["explain", &one]).data();
    has(&explained, &[r"\Memory\Available MBytes"]);
    let checked = net.tally(&["check", &one, &one, "-w", "0:"]).data();
    has(&checked, &["OK - ", "Available MBytes"]);
    // The block says which machine it is of, so it is the one of the host, however it is named.
    let there = net.tally(&["dump", r"\\web1\MetadataGlobal"]).data();
    assert_eq!(there.lines().count(), net.tally(&["dump", "MetadataGlobal"]).data().lines().count());
    for words in
        [&["-s", "web1", AVAILABLE, "-sc", "1"][..], &[&one, "-sc", "1"], &["-q", "Memory", "-s", r"\\web1"]]
    {
        let ran = net.tally(&[&["compat", "typeperf"], words].concat());
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.err);
        let host = if words.contains(&"-q") { "" } else { r"\\web1" };
        has(&ran.out, &[&format!("{host}{AVAILABLE}")]);
    }
    for (arguments, code, words) in [
        (vec!["explain", &*away], 6, "away"),
        (vec!["explain", &*nobody], 6, "leave the host out"),
        (vec!["dump", r"\\away\Global"], 6, "away"),
        (vec!["dump", r"\\nobody\Global"], 3, "no host or group is called \"nobody\""),
        (vec!["compat", "typeperf", "-s", "nobody", AVAILABLE], 3, "no host or group is called \"nobody\""),
        (vec!["compat", "typeperf", "-s", "away", AVAILABLE], 6, "away"),
        (
            vec!["compat", "typeperf", &*one, &*two],
            2,
            "the paths name 2 machines, and a query reads one: web1, web2",
        ),
    ] {
        let ran = net.tally(&arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {}{}", ran.out, ran.err);
        has(&ran.err, &[words]);
    }
    // A plugin says what is wrong in its line.
    for (arguments, words) in [
        (vec!["check", &*one, &*two], "name 2 hosts, and this command reads one"),
        (vec!["check", &*one, AVAILABLE], "name 2 hosts, and this command reads one"),
        (vec!["check", "-H", "web2", &*one], "name 2 hosts, and this command reads one"),
        (vec!["check", &*away], "away"),
    ] {
        let ran = net.tally(&arguments);
        assert_eq!(ran.code, Some(3), "{arguments:?}: {}{}", ran.out, ran.err);
        has(&ran.out, &["UNKNOWN - ", words]);
    }
    // A session of Windows' words records the host, and is one of this machine.
    let made =
        net.tally(&["compat", "logman", "create", "counter", "far", "-s", "web1", "-c", AVAILABLE, &two]);
    assert_eq!(made.code, Some(0), "{}{}", made.out, made.err);
    let shown = net.tally(&["compat", "logman", "query", "far"]).out;
    has(&shown, &[r"\\web1\Memory\Available MBytes", r"\\web2\Memory\Available MBytes"]);
}

#[test]
fn a_session_of_all_objects_keeps_its_hosts_until_it_is_to_record_this_machine() {
    let net = Net::new(&[("good1", &good())]);
    let done = |words: &[&str]| {
        let ran = net.tally(words);
        assert_eq!(ran.code, Some(0), "{words:?}: {}{}", ran.out, ran.err);
        ran.out
    };
    let later = ["--all-objects", "--begin", "2099-01-01"];
    done(&[&["log", "start", "all", "-H", "ssh://good1"], &later[..]].concat());
    let hosts = || {
        let shown: serde_json::Value =
            serde_json::from_str(&done(&["log", "show", "all", "--json"])).unwrap();
        shown["hosts"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(hosts(), 1);
    done(&["log", "update", "all", "-i", "2s"]);
    assert_eq!(hosts(), 1, "log update");
    done(&["log", "stop", "all"]);
    done(&["compat", "logman", "update", "all", "-si", "5"]);
    assert_eq!(hosts(), 1, "logman update");
    done(&[&["log", "update", "all"], &later[..1]].concat());
    assert_eq!(hosts(), 0);
}
