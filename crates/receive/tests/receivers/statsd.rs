//! StatsD, as its Python client and DogStatsD's send it.

use std::net::UdpSocket;

use tallymon_receive::{Address, Options};

use crate::support::{Running, any_port, python};

#[test]
fn the_client_statsd_arrives() {
    let running = Running::statsd();
    let script = "import sys, statsd
client = statsd.StatsClient('127.0.0.1', int(sys.argv[1]), prefix='shop')
client.incr('orders', 12345678901234567)
client.incr('orders')
client.decr('orders', 3)
client.gauge('stock', 40.5)
client.gauge('stock', 2, delta=True)
client.gauge('stock', -5, delta=True)
client.gauge('debt', -7)
client.timing('paid', 320.25)
client.timing('paid', 10)
for user in ['ann', 'bob', 'ann', 'eve']:
    client.set('users', user)
with client.pipeline() as pipe:
    for n in range(100):
        pipe.incr('piped')
        pipe.timing('sizes', n)
";
    if python("statsd", script, &[&running.address().port().to_string()]).is_none() {
        return;
    }
    let values = running.wait_for(&[
        (r"statsd shop.orders(unlabelled)\Count/sec", "12345678901234568"),
        (r"statsd shop.stock(unlabelled)\Value", "37.5"),
        (r"statsd shop.debt(unlabelled)\Value", "-7"),
        (r"statsd shop.paid(unlabelled)\Count/sec", "2"),
        (r"statsd shop.paid(unlabelled)\Sum", "330.25"),
        (r"statsd shop.paid(unlabelled)\Time", "3302500"),
        (r"statsd shop.paid(unlabelled)\Time base", "2"),
        (r"statsd shop.piped(unlabelled)\Total", "100"),
        (r"statsd shop.sizes(unlabelled)\Sum", "4950"),
        (r"statsd shop.users(unlabelled)\Unique Values", "3"),
    ]);
    assert_eq!(values[r"statsd shop.orders(unlabelled)\Total"], (12_345_678_901_234_565_f64).to_string());
    // A negative gauge is sent as 0 and its change.
    assert_eq!((running.own("Left Out/sec"), running.own("Values/sec")), ("0".into(), "214".into()));
}

#[test]
fn sample_rates_count_for_what_was_left_out() {
    let running = Running::statsd();
    let script = "import sys, random, statsd
random.random = lambda: 0.0
client = statsd.StatsClient('127.0.0.1', int(sys.argv[1]))
for _ in range(7):
    client.incr('some', 3, rate=0.1)
    client.timing('times', 4, rate=0.5)
";
    if python("statsd", script, &[&running.address().port().to_string()]).is_none() {
        return;
    }
    running.wait_for(&[
        (r"statsd some(unlabelled)\Count/sec", "210"),
        (r"statsd times(unlabelled)\Count/sec", "14"),
        (r"statsd times(unlabelled)\Sum", "56"),
    ]);
}

/// What the client of DogStatsD sends, over UDP or a Unix socket.
const DOG: &str = "import sys
from datadog.dogstatsd.base import DogStatsd
is_unix = sys.argv[1] == 'unix'
where = {'socket_path': sys.argv[2]} if is_unix else {'host': '127.0.0.1', 'port': int(sys.argv[1])}
dog = DogStatsd(constant_tags=['env:prod'], disable_telemetry=True, disable_buffering=True, **where)
dog.increment('pages', 5, tags=['page:/home'])
dog.increment('pages', tags=['page:/home'])
dog.decrement('pages', 2, tags=['page:/cart'])
dog.gauge('load', -1.5)
dog.histogram('size', 0.25)
dog.distribution('size', 0.75)
dog.set('users', 'ann')
dog.set('users', 'bob:x')
dog.timing('took', 12)
dog.event('title', 'text')
dog.service_check('check', 0)
dog.flush()
";

fn dog_values(running: &Running) {
    let values = running.wait_for(&[
        (r"statsd pages(env=prod,page=_home)\Count/sec", "6"),
        (r"statsd pages(env=prod,page=_cart)\Total", "-2"),
        (r"statsd load(env=prod)\Value", "-1.5"),
        (r"statsd size(env=prod)\Sum", "1"),
        (r"statsd size(env=prod)\Count/sec", "2"),
        (r"statsd users(env=prod)\Unique Values", "2"),
        (r"statsd took(env=prod)\Time", "120000"),
    ]);
    assert_eq!(values[r"statsd pages(env=prod,page=_cart)\Count/sec"], "0");
    assert_eq!(running.own("Left Out/sec"), "2");
    assert_eq!(running.own("Last Left Out"), "events and service checks of DogStatsD are no metrics");
}

#[test]
fn the_client_of_dogstatsd_arrives() {
    let running = Running::start(|_| Options {
        statsd: vec![Address::Internet(any_port())],
        signed_gauges: true,
        interval: std::time::Duration::from_secs(1),
        ..Options::default()
    });
    if python("datadog", DOG, &[&running.address().port().to_string(), ""]).is_some() {
        dog_values(&running);
    }
}

#[cfg(unix)]
#[test]
fn the_client_of_dogstatsd_arrives_by_a_unix_socket() {
    let running = Running::start(|folder| Options {
        statsd: vec![Address::Unix(folder.join("dsd.sock"))],
        signed_gauges: true,
        interval: std::time::Duration::from_secs(1),
        ..Options::default()
    });
    let path = running.folder.join("dsd.sock");
    if python("datadog", DOG, &["unix", &path.display().to_string()]).is_some() {
        dog_values(&running);
    }
    drop(running);
    assert!(!path.exists());
}

#[test]
fn percentiles_are_those_of_an_interval_and_series_end() {
    let running = Running::start(|_| Options {
        statsd: vec![Address::Internet(any_port())],
        keep: std::time::Duration::from_secs(2),
        interval: std::time::Duration::from_millis(500),
        ..Options::default()
    });
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(b"size:7|h\nsize:7|h\nsize:7|h", running.address()).unwrap();
    running.wait_for(&[(r"statsd size(unlabelled)\Average", "7"), (r"statsd size(unlabelled)\99 %", "7")]);
    // Nothing came in the next one.
    running.wait_for(&[(r"statsd size(unlabelled)\Average", "NaN"), (r"statsd size(unlabelled)\Sum", "21")]);
    let began = std::time::Instant::now();
    while running.values().keys().any(|path| path.starts_with("statsd ")) {
        assert!(began.elapsed().as_secs() < 60);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(running.own("Objects"), "0");
}
