//! Meters of running programs as objects, compared with what the programs measured.

use std::time::{Duration, Instant};

use tallymon_core::block::{BlockWriter, RawValue, Snapshot, WriteHeader};
use tallymon_dotnet::live::DotnetPrograms;
use tallymon_provider::{CollectRequest, Frequency, Language, Provider, TitleIndex, Titles, ValueState};

use crate::counters::{PATIENCE, alone};
use crate::hosts::{Host, Running, hosts};

/// Programs are asked for meters from this age on.
const OLD_ENOUGH: Duration = Duration::from_secs(6);

/// One object, asked for by its name; none if there is no such object.
fn object(provider: &mut DotnetPrograms, name: &str) -> Option<(Titles, TitleIndex, Snapshot)> {
    provider.refresh();
    let titles = provider.titles(Language::ENGLISH);
    let is_named = |index: &TitleIndex| titles.name(*index) == Some(name);
    let index = provider.objects().iter().map(|object| object.name).find(is_named)?;
    let header = WriteHeader { perf_freq: Frequency(1), ..WriteHeader::named("test") };
    let mut bytes = Vec::new();
    let mut writer = BlockWriter::growing(&mut bytes, &header);
    provider.collect(&CollectRequest::everything(&[index]), writer.objects()).unwrap();
    writer.finish().unwrap();
    Some((titles, index, Snapshot::new(bytes).unwrap()))
}

/// The values of a counter by its instances, with the base that follows it.
type Values = Vec<(String, Result<(u64, Option<u64>), ValueState>)>;

fn values(provider: &mut DotnetPrograms, name: &str, counter: &str) -> Values {
    let Some((titles, index, snapshot)) = object(provider, name) else { return Vec::new() };
    let object = snapshot.object(index).unwrap();
    let named = |position: &usize| titles.name(object.counters()[*position].name) == Some(counter);
    let position = (0..object.counters().len()).find(named).unwrap_or_else(|| panic!("no {counter}"));
    let has_base = object.counters().get(position + 1).is_some_and(|next| next.counter_type.is_base());
    let number = |raw: Option<RawValue<'_>>| match raw {
        Some(RawValue::Number(number)) => number,
        _ => panic!("{counter}"),
    };
    let value = |instance: &tallymon_core::block::SnapshotInstance<'_>| match instance.state(position) {
        ValueState::Present => {
            let base = has_base.then(|| number(instance.raw(position + 1)));
            Ok((number(instance.raw(position)), base))
        }
        state => Err(state),
    };
    object.instances().map(|instance| (instance.name().to_string(), value(&instance))).collect()
}

/// Asks until a counter of an instance is what is wanted; fails with the last values.
fn until(
    provider: &mut DotnetPrograms,
    (object, counter, instance): (&str, &str, &str),
    wanted: impl Fn(u64, Option<u64>) -> bool,
) -> (u64, Option<u64>) {
    let end = Instant::now() + PATIENCE;
    loop {
        let all = values(provider, object, counter);
        let found = all.iter().find(|(name, _)| name == instance).map(|(_, value)| *value);
        if let Some(Ok((value, base))) = found
            && wanted(value, base)
        {
            return (value, base);
        }
        assert!(Instant::now() < end, "{object} {counter} {instance}: {all:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Asks until a program has a meter of this name: on a busy machine the first answer may come after the
/// deadline.
fn discover(provider: &mut DotnetPrograms, object: &str) {
    wait(&format!("a program has the meter {object}"), || provider.discover(object));
}

/// Asks again and again until something is so.
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A program with meters that is old enough to be asked; none on a runtime without them.
fn with_meters(host: &Host) -> Option<Running> {
    // The framework of the trimmed one lacks what makes meters through their names.
    if host.is_trimmed() {
        return None;
    }
    let mut running = host.start();
    let begun = Instant::now();
    let answer = running.ask("meter 0");
    if host.version == "3.1" {
        assert_eq!(answer, "none");
        return None;
    }
    assert_eq!(answer, "ok", ".NET {}", host.version);
    std::thread::sleep(OLD_ENOUGH.saturating_sub(begun.elapsed()));
    Some(running)
}

const SHOP: &str = "Shop.Orders";

#[test]
fn meters_are_objects_with_the_values_of_the_program() {
    let _alone = alone();
    for host in hosts() {
        let Some(mut running) = with_meters(host) else { continue };
        let mut provider = DotnetPrograms::except_later(|| vec!["Processor".to_string()]);
        assert!(object(&mut provider, SHOP).is_none(), "nobody asked");
        discover(&mut provider, "shop.orders");
        assert!(!provider.discover("No.Such.Meter"));
        // Nothing was measured yet: the program is an instance without values.
        let none = values(&mut provider, SHOP, "orders.placed/sec");
        assert!(none.iter().any(|(name, value)| name == "attach" && value.is_err()), "{none:?}");
        running.ask("order 1");
        let (eu, us) = ("attach [region=eu]", "attach [region=us_[west]_1]");
        // A new series grows evenly from nothing.
        let before = until(&mut provider, (SHOP, "orders.placed/sec", eu), |now, _| now == 1).0;
        let before_us = until(&mut provider, (SHOP, "orders.placed/sec", us), |now, _| now == 2).0;
        let told = until(&mut provider, (SHOP, "orders.told/sec", "attach"), |now, _| now == 7).0;
        let (sum, count) = until(&mut provider, (SHOP, "Avg. order.time", eu), |_, now| now == Some(1));
        running.ask("order 100");
        let placed = until(&mut provider, (SHOP, "orders.placed/sec", eu), |now, _| now >= before + 100).0;
        assert_eq!(placed - before, 100, ".NET {}", host.version);
        let placed = until(&mut provider, (SHOP, "orders.placed/sec", us), |now, _| now >= before_us + 200).0;
        assert_eq!(placed - before_us, 200);
        assert_eq!(until(&mut provider, (SHOP, "orders.told/sec", "attach"), |now, _| now > told).0, 707);
        // Numbers with a sign and with fractions.
        let open =
            until(&mut provider, (SHOP, "orders.open", "attach"), |now, _| f64::from_bits(now) < -1.0).0;
        assert_eq!(f64::from_bits(open), -101.0);
        let share = until(&mut provider, (SHOP, "share[%]__", "attach"), |_, _| true).0;
        assert_eq!(f64::from_bits(share), -0.25);
        // 100 times of 4.5 ms on average, in units of 100 ns.
        let wanted = count.unwrap() + 100;
        let (after, count) =
            until(&mut provider, (SHOP, "Avg. order.time", eu), |_, now| now >= Some(wanted));
        assert_eq!((after - sum, count), (4_500_000, Some(wanted)));
        let half = loop {
            running.ask("order 100");
            let all = values(&mut provider, SHOP, "order.time 50 % ms");
            if let Some((_, Ok((half, _)))) = all.iter().find(|(name, value)| name == eu && value.is_ok()) {
                break f64::from_bits(*half);
            }
        };
        // The runtime's quantiles have an error of some percent.
        assert!((3.5..=5.5).contains(&half), ".NET {}: {half}", host.version);
        // Nobody takes the name of an object of this machine.
        assert!(object(&mut provider, "Processor").is_none());
        assert!(object(&mut provider, "Processor [meter]").is_some());
    }
}

/// Indexes stay, whoever reads and whatever comes later.
#[test]
fn indexes_of_meters_stay() {
    let _alone = alone();
    let Some(host) = hosts().iter().find(|host| host.version == "8.0") else { return };
    let Some(mut running) = with_meters(host) else { return };
    let indexes = |provider: &mut DotnetPrograms| {
        let (titles, index, snapshot) = object(provider, SHOP).unwrap();
        let object = snapshot.object(index).unwrap();
        let names = object.counters().iter().map(|counter| (counter.name, counter.counter_type));
        (index, titles.name(index).map(str::to_string), names.collect::<Vec<_>>())
    };
    let mut first = DotnetPrograms::default();
    discover(&mut first, SHOP);
    let known = indexes(&mut first);
    running.ask("order 3");
    assert_eq!(indexes(&mut first), known);
    drop(first);
    let mut second = DotnetPrograms::default();
    discover(&mut second, SHOP);
    assert_eq!(indexes(&mut second), known);
}

/// A program with more series than anybody keeps says so, and the first ones have values.
#[test]
fn attack_many_series_are_bounded_and_said() {
    let _alone = alone();
    for host in hosts() {
        let Some(mut running) = with_meters(host) else { continue };
        let mut provider = DotnetPrograms::default();
        discover(&mut provider, SHOP);
        // From now on it counts.
        assert!(!values(&mut provider, SHOP, "orders.placed/sec").is_empty());
        running.ask("order 1");
        let eu = (SHOP, "orders.placed/sec", "attach [region=eu]");
        until(&mut provider, eu, |_, _| true);
        running.ask("series 5000");
        until(&mut provider, (".NET Meters", "Limit Reached", "attach [Shop.Orders]"), |now, _| now == 1);
        let series =
            until(&mut provider, (".NET Meters", "Time Series", "attach [Shop.Orders]"), |now, _| now >= 500)
                .0;
        assert!((500..=1000).contains(&series), ".NET {}: {series}", host.version);
        until(&mut provider, eu, |_, _| true);
        let findings = provider.findings();
        assert!(findings.iter().any(|finding| finding.detail.contains("more series")), "{findings:?}");
        running.end();
        assert!(running.ends_within(PATIENCE), ".NET {}", host.version);
    }
    tallymon_testkit::attack(
        "published counters",
        "measure with 5,000 different tags in a .NET program whose meter is read",
        "the runtime keeps 1,000 time series; that there are more is a counter and a finding",
    );
}

/// A server of ASP.NET Core, which nobody here wrote: its requests by route, status and duration.
#[test]
fn meters_of_a_web_server_have_its_requests() {
    let _alone = alone();
    let Some(host) = hosts().iter().find(|host| host.version == "9.0") else { return };
    let Some(parts) = crate::runtimes::web_server() else {
        tallymon_testkit::skip("no ASP.NET Core for the tests that attach");
        return;
    };
    let begun = Instant::now();
    let (_running, address) = host.start_server(&parts);
    std::thread::sleep(OLD_ENOUGH.saturating_sub(begun.elapsed()));
    let mut provider = DotnetPrograms::default();
    let hosting = "Microsoft.AspNetCore.Hosting";
    discover(&mut provider, hosting);
    discover(&mut provider, "Microsoft.AspNetCore.Server.Kestrel");
    let active = "http.server.active_requests";
    wait(active, || !values(&mut provider, hosting, active).is_empty());
    for id in 0..20 {
        assert_eq!(crate::requests::get(&address, &format!("/orders/{id}")), "200");
    }
    let instance = "web [http.request.method=GET,http.response.status_code=200,http.route=_orders_{id},\
                    network.protocol.version=1.1,url.scheme=http]";
    let count = (hosting, "http.server.request.duration/sec", instance);
    assert_eq!(until(&mut provider, count, |now, _| now >= 20).0, 20);
    let (sum, count) =
        until(&mut provider, (hosting, "Avg. http.server.request.duration", instance), |_, _| true);
    // Each takes 20 ms and a little more.
    let average = sum / count.unwrap();
    assert!((190_000..5_000_000).contains(&average), "{average} x 100 ns");
}
