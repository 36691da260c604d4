//! Publishes one behemoth who eats ten times a second: `tally watch '\Behemoth(*)\*'` shows it.
//!
//! `cargo run -p tallymon-provider --example publish` runs until it is stopped.

#[cfg(any(target_os = "linux", windows))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use tallymon_provider::CounterType;
    use tallymon_provider::shm::{CounterSet, NewInstance, Publisher};

    // The set-up: what there is, where it is visible, and one behemoth.
    let set = CounterSet::new("Behemoth")
        .help("The behemoths that are alive.")
        .instances()
        .counter("Meals/sec", CounterType::PERF_COUNTER_BULK_COUNT)
        .help("Meals eaten in a second.")
        .counter("Weight", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
        .help("Weight in kilograms.")
        .text("Mood", 40)
        .help("How it feels.");
    let publisher = Publisher::start("behemoths", &[set])?;
    let ada = publisher.instance("Behemoth", &NewInstance { name: "Ada", id: Some(1), parent: None })?;

    let (meals, weight, mood) = (ada.counter("Meals/sec")?, ada.gauge("Weight")?, ada.text("Mood")?);
    println!("{}", publisher.path().display());
    mood.set("hungry");
    loop {
        meals.increment();
        weight.set(9_000 + meals.value() / 10);
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

#[cfg(not(any(target_os = "linux", windows)))]
fn main() {
    eprintln!("publishing needs Linux or Windows");
}
