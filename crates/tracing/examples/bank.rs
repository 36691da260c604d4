//! A program that says what it does with `tracing`, and publishes by the first line of its `main`.
//!
//! `cargo run -p tallymon-tracing --example bank` runs until its input ends; `tally watch '\bank Spans(*)\*'`
//! shows it.

#[cfg(any(target_os = "linux", windows))]
#[tracing::instrument]
fn pay(amount: u32) {
    std::thread::sleep(std::time::Duration::from_millis(5));
    if amount > 90 {
        tracing::warn!(amount, "much money");
    }
}

#[cfg(any(target_os = "linux", windows))]
fn main() -> Result<(), tallymon_tracing::InstallError> {
    tallymon_tracing::install("bank")?;

    let input = std::thread::spawn(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    for amount in (0..100).cycle() {
        pay(amount);
        if input.is_finished() {
            break;
        }
    }
    Ok(())
}

#[cfg(not(any(target_os = "linux", windows)))]
fn main() {
    eprintln!("publishing needs Linux or Windows");
}
