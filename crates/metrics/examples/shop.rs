//! A program that counts with `metrics`, and publishes by the first line of its `main`.
//!
//! `cargo run -p tallymon-metrics --example shop` runs until its input ends; `tally watch '\shop
//! orders(*)\*'` shows it.

#[cfg(any(target_os = "linux", windows))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::{Duration, Instant};

    let recorder = tallymon_metrics::install("shop")?;

    metrics::describe_counter!("orders", "Orders that were paid.");
    let (end, ended) = channel::<()>();
    std::thread::spawn(move || {
        // Whatever ends the input ends the program.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        drop(end);
    });
    for n in 0u32.. {
        let start = Instant::now();
        let kind = if n.is_multiple_of(3) { "map" } else { "book" };
        metrics::counter!("orders", "kind" => kind).increment(1);
        metrics::gauge!("basket_value").set(f64::from(n % 40) + 0.5);
        metrics::histogram!("checkout_seconds").record(start.elapsed());
        if ended.recv_timeout(Duration::from_millis(10)) == Err(RecvTimeoutError::Disconnected) {
            break;
        }
    }
    recorder.faults().iter().for_each(|fault| eprintln!("{fault}"));
    Ok(())
}

#[cfg(not(any(target_os = "linux", windows)))]
fn main() {
    eprintln!("publishing needs Linux or Windows");
}
