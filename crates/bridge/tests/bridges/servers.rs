//! Real servers of nginx, Redis and PostgreSQL, beside what their own programs say, and hostile ones.

use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use crate::postgresql::PostgreSql;
use crate::support::{
    LONG, Place, ask, free_port, index, output, raw, read_secret, refused, start, wait_until,
};
use tallymon_bridge::{Declared, Kind, Plan, Settings};
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{NoValue, Source};
use tallymon_core::request::RequestKind;
use tallymon_host::registry::Scope;
use tallymon_provider::Health;
use tallymon_testkit::{Pcp, Reply, Scratch, TextServer, attack, peer};

#[test]
fn nginx_is_read_over_a_unix_socket() {
    let Some(program) = peer("nginx") else { return };
    let folder = Scratch::new();
    let (socket, file) = (folder.join("n.sock"), folder.join("n.conf"));
    let text = format!(
        "daemon off; master_process off; pid {f}/pid; error_log /dev/null;\nevents {{}}\n\
         http {{ access_log off; client_body_temp_path {f}/b; proxy_temp_path {f}/p; fastcgi_temp_path {f}/f;\n\
         uwsgi_temp_path {f}/u; scgi_temp_path {f}/s;\n\
         server {{ listen unix:{}; location /status {{ stub_status; }} }} }}\n",
        socket.display(),
        f = folder.display()
    );
    std::fs::write(&file, text).unwrap();
    let _nginx = start(Command::new(program).arg("-c").arg(&file).arg("-p").arg(&*folder));
    wait_until("nginx listens", || UnixStream::connect(&socket).is_ok());
    let settings = Settings {
        url: "http://localhost/status".to_owned(),
        kind: Some(Kind::Nginx),
        socket: Some(socket.clone()),
        ..Settings::default()
    };
    let place = Place::new();
    place.add("web", settings.clone(), LONG);
    let mut host = place.host();
    let object = "web Web Service";
    let count = |host: &mut tallymon_host::Host| {
        let snapshot = ask(host, &[object]);
        let value = |host: &mut _, name| raw(host, &snapshot, (object, None, name)).unwrap();
        let requests = value(host, "Total Method Requests/sec");
        assert_eq!(requests.0, CounterType::PERF_COUNTER_BULK_COUNT);
        let average = value(host, "Requests/Connection");
        assert_eq!((average.0, average.1), (CounterType::PERF_AVERAGE_BULK, requests.1));
        // Those of this test that connected and sent nothing, and this one.
        let active = value(host, "Current Connections");
        assert!(active.0 == CounterType::PERF_COUNTER_LARGE_RAWCOUNT && active.1 >= 1, "{active:?}");
        assert_eq!(value(host, "Connections Dropped/sec").1, 0);
        requests.1
    };
    // Each request is one.
    let first = count(&mut host);
    assert_eq!([count(&mut host), count(&mut host)], [first + 1, first + 2]);
    let error = refused(Settings { url: "http://localhost/other".to_owned(), ..settings.clone() });
    assert!(error.contains("404"), "{error}");
    let gone = Settings { socket: Some(folder.join("gone")), ..settings };
    let error = refused(gone);
    assert!(error.contains("no connection") && error.contains("/gone"), "{error}");
}

#[test]
fn redis_is_read_with_and_without_a_password() {
    let (Some(server), Some(client)) = (peer("redis-server"), peer("redis-cli")) else { return };
    let folder = Scratch::new();
    let (socket, secret) = (folder.join("r.sock"), folder.join("secret"));
    let port = free_port();
    let _redis = start(
        Command::new(server)
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--unixsocket"])
            .arg(&socket)
            .current_dir(&*folder),
    );
    wait_until("redis listens", || UnixStream::connect(&socket).is_ok());
    let cli = |words: &[&str]| {
        let mut command = Command::new(&client);
        command.arg("-s").arg(&socket).args(words).env("REDISCLI_AUTH", "open sesame");
        output(&mut command)
    };
    let settings =
        Settings { url: "redis://localhost".to_owned(), socket: Some(socket.clone()), ..Settings::default() };
    let place = Place::new();
    place.add("cache", settings.clone(), LONG);
    let mut host = place.host();
    // A database and an error that came after the bridge are instances of objects that it has.
    cli(&["MSET", "a", "1", "b", "2", "c", "3"]);
    cli(&["GET", "a"]);
    cli(&["GET", "nothing"]);
    cli(&["EXPIRE", "a", "1000"]);
    cli(&["LPUSH", "a", "x"]);
    let all = ["cache Database", "cache Commands", "cache Command", "cache Errors", "cache Processor"];
    let snapshot = ask(&mut host, &all);
    for (path, counter_type, value, base) in [
        ((all[0], Some("db0"), "Keys"), CounterType::PERF_COUNTER_LARGE_RAWCOUNT, 3, None),
        ((all[0], Some("db0"), "% Keys With Time"), CounterType::PERF_LARGE_RAW_FRACTION, 1, Some(3)),
        ((all[1], None, "Key Hit %"), CounterType::PERF_SAMPLE_FRACTION, 1, Some(2)),
        ((all[1], None, "Key Misses/sec"), CounterType::PERF_COUNTER_BULK_COUNT, 1, None),
        ((all[2], Some("get"), "Calls/sec"), CounterType::PERF_COUNTER_BULK_COUNT, 2, None),
        ((all[3], Some("WRONGTYPE"), "Errors/sec"), CounterType::PERF_COUNTER_BULK_COUNT, 1, None),
    ] {
        let found = raw(&mut host, &snapshot, path).unwrap();
        assert_eq!((found.0, found.1), (counter_type, value), "{path:?}");
        assert!(base.is_none_or(|base| base == found.2), "{path:?}: {found:?}");
    }
    let call = raw(&mut host, &snapshot, (all[2], Some("get"), "Avg. sec/Call")).unwrap();
    assert_eq!((call.0, call.2), (CounterType::PERF_AVERAGE_TIMER, 2));
    let user = raw(&mut host, &snapshot, (all[4], None, "% User Time")).unwrap();
    assert_eq!(user.0, CounterType::PERF_100NSEC_TIMER);
    // No number of INFO is without a counter: there is no series that is newer than the bridge.
    host.snapshot(&RequestKind::Costly.into()).unwrap();
    let status = host.sources().into_iter().find(|source| source.collections > 0).unwrap();
    assert_eq!(status.health, Health::Healthy, "{}", status.reason);

    cli(&["CONFIG", "SET", "requirepass", "open sesame"]);
    let tcp = Settings { url: format!("redis://127.0.0.1:{port}"), ..Settings::default() };
    let error = refused(tcp.clone());
    assert!(error.contains("NOAUTH") && error.contains("a file with the password"), "{error}");
    std::fs::write(&secret, "wrong\n").unwrap();
    let with_password = Settings { password: Some(secret.clone()), ..tcp };
    let error = refused(with_password.clone());
    assert!(error.contains("WRONGPASS") && !error.contains("wrong\""), "{error}");
    std::fs::write(&secret, "open sesame\n").unwrap();
    place.add("tcp", with_password, LONG);
    std::fs::write(&secret, "two\nlines\n").unwrap();
    // A user who may do nothing but this.
    cli(&["ACL", "SETUSER", "watcher", "on", ">let me", "+info"]);
    std::fs::write(&secret, "let me").unwrap();
    place.add("acl", Settings { url: "redis://watcher@x".into(), password: Some(secret), ..settings }, LONG);
}

#[test]
fn pcp_is_read_through_pmproxy() {
    let Some(pcp) = Pcp::find() else { return };
    let agent = pcp.path("/var/lib/pcp/pmdas/linux/pmda_linux.so");
    let folder = Scratch::new();
    let (pmcd, pmproxy) = (free_port(), free_port());
    let configuration = folder.join("pmcd.conf");
    std::fs::write(&configuration, format!("linux\t60\tdso\tlinux_init\t{}\n", agent.display())).unwrap();
    let user = output(Command::new("id").arg("-un"));
    let run = |program: &str, port: u16| {
        let mut command = pcp.command(&format!("/usr/lib/pcp/bin/{program}"));
        command.args(["-A", "-f", "-i", "127.0.0.1", "-U", &user, "-p", &port.to_string(), "-s"]);
        command.arg(folder.join(format!("{program}.socket"))).arg("-l").arg(folder.join(program)).arg("-x");
        command.arg(folder.join(format!("{program}.fatal"))).env("PMCD_PORT", pmcd.to_string());
        for folder_name in ["PCP_RUN_DIR", "PCP_TMP_DIR", "PCP_LOG_DIR"] {
            command.env(folder_name, &*folder);
        }
        command.current_dir(&*folder);
        command
    };
    let _pmcd = start(run("pmcd", pmcd).arg("-c").arg(&configuration));
    let listens = |port: u16| std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
    wait_until("pmcd listens", || listens(pmcd));
    let _pmproxy = start(&mut run("pmproxy", pmproxy));
    wait_until("pmproxy listens", || listens(pmproxy));
    let url = format!(
        "http://127.0.0.1:{pmproxy}/metrics?names=mem.physmem,hinv.ncpu,kernel.percpu.cpu.idle,kernel.uname"
    );
    let settings = Settings { url, kind: Some(Kind::Pcp), ..Settings::default() };
    let place = Place::new();
    place.add("vm", settings, LONG);
    let mut host = place.host();
    let host_of = format!("localhost:{pmcd}");
    // The value of a metric, as PCP's own program shows it.
    let own = |metric: &str, instance: &str| -> u64 {
        let text = output(pcp.command("/usr/bin/pminfo").args(["-f", "-h", &host_of, metric]));
        let line = text.lines().find(|line| line.contains("value ") && line.contains(instance)).unwrap();
        line.rsplit_once("value ").unwrap().1.trim().parse().unwrap()
    };
    let memory = "vm mem";
    let idle = ("vm kernel percpu cpu", Some("cpu0"), "idle");
    let before = own("kernel.percpu.cpu.idle", "cpu0");
    let snapshot = ask(&mut host, &[memory, idle.0]);
    let after = own("kernel.percpu.cpu.idle", "cpu0");
    let found = raw(&mut host, &snapshot, (memory, None, "physmem")).unwrap();
    assert_eq!((found.0, found.1), (CounterType::PERF_COUNTER_LARGE_RAWCOUNT, own("mem.physmem", "")));
    let found = raw(&mut host, &snapshot, idle).unwrap();
    assert_eq!(found.0, CounterType::PERF_100NSEC_TIMER);
    // Milliseconds in units of 100 ns.
    assert!((before * 10_000..=after * 10_000).contains(&found.1), "{found:?} {before} {after}");
    let status = host.sources().into_iter().find(|source| source.collections > 0).unwrap();
    assert_eq!(status.health, Health::Healthy, "{}", status.reason);
}

#[test]
fn the_views_of_postgresql_are_counters() {
    let Some(server) = PostgreSql::start() else { return };
    let place = Place::new();
    // There is no table yet.
    place.add("shop", server.settings("admin", "app"), LONG);
    server.say("app", "CREATE TABLE orders (id int); INSERT INTO orders SELECT generate_series(1, 1000)");
    server.say("app", "SELECT count(*) FROM orders");
    let mut host = place.host();
    let all =
        ["shop Database", "shop Sessions", "shop Background Writer", "shop Write-Ahead Log", "shop Table"];
    let (database, table) = ((all[0], Some("app")), (all[4], Some("public,orders")));
    let mut snapshot = ask(&mut host, &all);
    wait_until("the rows are counted", || {
        snapshot = ask(&mut host, &all);
        let object = snapshot.object(index(&mut host, all[4])).unwrap();
        let path = (table.0, table.1, "Rows Inserted/sec");
        object.instances().count() == 1 && raw(&mut host, &snapshot, path).is_ok_and(|found| found.1 == 1000)
    });
    let view =
        |column: &str| server.number(&format!("SELECT {column} FROM pg_stat_database WHERE datname = 'app'"));
    let mut value = |(object, instance): (&str, Option<&str>), counter: &str| {
        raw(&mut host, &snapshot, (object, instance, counter)).unwrap()
    };
    let inserted = value(database, "Rows Inserted/sec");
    assert_eq!((inserted.0, inserted.1), (CounterType::PERF_COUNTER_BULK_COUNT, view("tup_inserted")));
    let hits = value(database, "Buffer Cache Hit %");
    assert_eq!(hits.0, CounterType::PERF_SAMPLE_FRACTION);
    assert!(hits.1 > 0 && hits.1 <= hits.2 && hits.2 <= view("blks_hit + blks_read"), "{hits:?}");
    let time = value(database, "% Session Time");
    assert!(time.0 == CounterType::PERF_100NSEC_TIMER && time.1 > 0, "{time:?}");
    let used = value((all[1], None), "% Connections Used");
    let most = server.number("SHOW max_connections");
    assert_eq!((used.0, used.2), (CounterType::PERF_LARGE_RAW_FRACTION, most));
    assert!((1..=3).contains(&used.1), "{used:?}");
    let scans = server.number("SELECT seq_scan FROM pg_stat_user_tables");
    assert_eq!(value(table, "Sequential Scans/sec").1, scans);
    let log = value((all[3], None), "Bytes/sec");
    assert!(log.1 > 0 && log.1 <= server.number("SELECT wal_bytes FROM pg_stat_wal"), "{log:?}");
    let status = host.sources().into_iter().find(|source| source.collections > 0).unwrap();
    assert_eq!(status.health, Health::Healthy, "{}", status.reason);
}

#[test]
fn postgresql_asks_for_a_password_and_gets_no_plain_one() {
    let Some(server) = PostgreSql::start() else { return };
    let (place, admin) = (Place::new(), server.settings("admin", "app"));
    let socket = server.folder.join(format!("data/.s.PGSQL.{}", server.port));
    let local = Settings { url: "postgres://admin@x".into(), socket: Some(socket), ..admin.clone() };
    place.add("local", local, LONG);
    let error = refused(Settings { password: None, ..admin.clone() });
    assert!(error.contains("wants a password"), "{error}");
    let error = refused(server.settings("admin", "none"));
    assert!(error.contains("3D000") && error.contains("does not exist"), "{error}");
    // What a user may not read is missing, and named.
    server.say("app", "CREATE ROLE watcher LOGIN PASSWORD 'open sesame'");
    server.say("app", "REVOKE SELECT ON pg_stat_wal FROM PUBLIC");
    let declared = Declared { name: "less".to_owned(), settings: server.settings("watcher", "app") };
    let plan = Plan::new(&place.roots, Scope::System, &declared, read_secret).unwrap();
    let omission = plan.omission().unwrap();
    assert!(omission.contains("Write-Ahead Log") && omission.contains("42501"), "{omission}");
    server.say("postgres", "SET password_encryption = 'md5'; ALTER USER watcher PASSWORD 'open sesame'");
    let rules = server.folder.join("data/pg_hba.conf");
    let text = std::fs::read_to_string(&rules).unwrap().replace("scram-sha-256", "md5");
    std::fs::write(rules, text).unwrap();
    server.say("postgres", "SELECT pg_reload_conf()");
    wait_until("MD5 is wanted", || {
        refused(server.settings("watcher", "app")).contains("clear text or as MD5")
    });
    std::fs::write(server.secret(), "wrong\n").unwrap();
    let error = refused(admin);
    assert!(error.contains("28P01") && !error.contains("wrong"), "{error}");
}

/// A message of PostgreSQL.
fn message(kind: u8, length: u32, body: &[u8]) -> Vec<u8> {
    [&[kind], length.to_be_bytes().as_slice(), body].concat()
}

#[test]
fn attack_servers_that_answer_wrongly_lose_only_their_own_objects() {
    let whole = |kind: u8, body: &[u8]| message(kind, u32::try_from(body.len()).unwrap() + 4, body);
    let let_in = [whole(b'R', &[0; 4]), whole(b'Z', b"I")].concat();
    let set = [whole(b'C', b"SET\0"), whole(b'Z', b"I")].concat();
    let sasl = whole(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
    let redis: &[(Reply, &[&str])] = &[
        (Reply::bytes(""), &["closed the connection"]),
        (Reply::bytes("-ERR \x1b[31m\r\n"), &["ERR  [31m"]),
        (Reply::bytes("HTTP/1.1 400 Bad Request\r\n\r\n"), &["none to INFO", "HTTP/1.1 400"]),
        (Reply::bytes("$-1\r\n"), &["none to INFO"]),
        (Reply::bytes("$4294967296\r\n"), &["none to INFO"]),
        (Reply::bytes("$4294967295\r\nx"), &["more than 16777216 bytes"]),
        (Reply::bytes("$9\r\nshort\r\n"), &["closed the connection"]),
        (Reply::bytes("$4\r\nabcd\r\n"), &["no numbers"]),
        (
            Reply::Flood(b"$99999999\r\n".to_vec(), b"used_memory:1\r\n".to_vec()),
            &["more than 16777216 bytes"],
        ),
        (Reply::Flood(Vec::new(), vec![b'x']), &["has no end"]),
    ];
    let postgresql: &[(Reply, &[&str])] = &[
        (Reply::bytes(""), &["closed the connection"]),
        (Reply::bytes("HTTP/1.1 400 Bad Request\r\n\r\n"), &["none of PostgreSQL"]),
        (Reply::Bytes(message(b'R', 3, &[])), &["none of PostgreSQL"]),
        (Reply::Bytes(message(b'R', u32::MAX, &[])), &["none of PostgreSQL"]),
        (Reply::Bytes(message(b'R', 100, &[])), &["closed the connection"]),
        (Reply::Bytes(whole(b'R', b"\0\0\0\x03")), &["clear text"]),
        (Reply::Bytes(whole(b'R', b"\0\0\0\x07")), &["not known"]),
        (Reply::Bytes(sasl.clone()), &["wants a password"]),
        (Reply::Bytes(whole(b'E', b"SFATAL\0C28000\0Mno \x1b[31m\0\0")), &["no  [31m", "28000"]),
        (Reply::Bytes([&let_in[..], &set, &whole(b'T', &[0xff, 0xff])].concat()), &["row of the answer"]),
        (
            Reply::Bytes([&let_in[..], &set, &whole(b'D', &[0, 1, 0, 0, 0, 9])].concat()),
            &["row of the answer"],
        ),
        (Reply::Flood(Vec::new(), whole(b'N', &[0; 100])), &["more than 16777216 bytes"]),
    ];
    for (scheme, begin, replies) in [
        ("redis://", b"$1000\r\n".to_vec(), redis),
        ("postgresql://u@", message(b'R', 1000, &[]), postgresql),
    ] {
        for (reply, words) in replies {
            let server = TextServer::start(reply.clone());
            let url = format!("{scheme}{}", server.at());
            let error = refused(Settings { url, ..Settings::default() });
            for word in words.iter() {
                assert!(error.contains(word), "{scheme} {word}: {error}");
            }
            assert!(error.contains(&server.at().to_string()) && !error.contains('\u{1b}'), "{error}");
        }
        for reply in [Reply::Nothing, Reply::Drip(begin)] {
            let server = TextServer::start(reply);
            let timeout = Some(Duration::from_millis(300));
            let error =
                refused(Settings { url: format!("{scheme}{}", server.at()), timeout, ..Settings::default() });
            assert!(error.contains("no answer within 0.3 s"), "{error}");
        }
    }
    // One that lets in after it was asked to prove that it knows the password.
    let folder = Scratch::new();
    let secret = folder.join("secret");
    std::fs::write(&secret, "open sesame").unwrap();
    let server = TextServer::start(Reply::Bytes([&sasl[..], &let_in].concat()));
    let url = format!("postgresql://u@{}", server.at());
    let error = refused(Settings { url, password: Some(secret), ..Settings::default() });
    assert!(error.contains("does not prove"), "{error}");
    a_sick_server_is_alone();
    attack(
        "bridges",
        "answer as Redis or PostgreSQL with garbage, lengths of 4 GB, no end, or a false proof of the password",
        "its own objects are missing, with its name and the reason; other endpoints answer",
    );
}

/// A Redis that is well, then sick, then well, beside an endpoint that is well.
fn a_sick_server_is_alone() {
    let info = "# Memory\r\nused_memory:7\r\n";
    let well = Reply::Bytes(format!("${}\r\n{info}\r\n", info.len()).into_bytes());
    let (sick, healthy) = (TextServer::start(well.clone()), TextServer::says("two 2\n"));
    let place = Place::new();
    place.add("one", Settings { url: format!("redis://{}", sick.at()), ..Settings::default() }, LONG);
    place.add("two", Settings { url: format!("http://{}", healthy.at()), ..Settings::default() }, LONG);
    let mut host = place.host();
    let one = index(&mut host, "one Memory");
    for (reply, is_well) in [(Reply::bytes("-LOADING\r\n"), false), (well, true)] {
        sick.set(reply);
        let snapshot = ask(&mut host, &["one Memory", "two"]);
        assert_eq!(raw(&mut host, &snapshot, ("two", None, "two")).unwrap().1, 2f64.to_bits());
        assert_eq!(snapshot.object(one).is_some(), is_well);
        assert_eq!(host.trouble(one).is_some_and(|words| words.contains("LOADING")), !is_well);
    }
    // A value that the server does not have now has none.
    sick.set(Reply::bytes("$11\r\nother_one:1\r\n"));
    let snapshot = ask(&mut host, &["one Memory"]);
    let found = raw(&mut host, &snapshot, ("one Memory", None, "Used Bytes"));
    assert!(matches!(found, Err(NoValue::NoData(_))), "{found:?}");
}
