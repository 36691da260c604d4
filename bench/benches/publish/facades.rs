//! Programs that use `metrics` or `tracing`: with no recorder, with the usual one, and with ours.

use std::hint::black_box;
use std::path::Path;

use metrics::{NoopRecorder, Recorder, counter, histogram};
use metrics_exporter_prometheus::PrometheusBuilder;
use tracing::{Subscriber, info_span};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;

use super::row;

const OPERATIONS: u64 = 400_000;

pub(super) fn run(directory: &Path) {
    metrics_of("nothing", &NoopRecorder);
    metrics_of("Prometheus", &PrometheusBuilder::new().build_recorder());
    metrics_of("ours", &tallymon_metrics::Recorder::in_directory("bench", directory.join("metrics")));
    spans("nothing", tracing::subscriber::NoSubscriber::new);
    spans("a registry alone", Registry::default);
    spans("lines written to nowhere", || {
        tracing_subscriber::fmt().with_span_events(FmtSpan::CLOSE).with_writer(std::io::sink).finish()
    });
    let publish = || tallymon_tracing::Layer::in_directory("bench", &directory.join("tracing"));
    spans("ours", || Registry::default().with(publish().expect("it can be published")));
}

fn metrics_of(behind: &str, recorder: &(impl Recorder + Sync)) {
    row(&format!("metrics, {behind}: handle of one counter"), OPERATIONS, |_| {
        let counter = metrics::with_local_recorder(recorder, || counter!("bench_counter"));
        Box::new(move |n| (0..n).for_each(|_| black_box(&counter).increment(1)))
    });
    row(&format!("metrics, {behind}: counter! with 2 labels"), OPERATIONS / 4, |_| {
        Box::new(move |n| {
            metrics::with_local_recorder(recorder, || {
                (0..n).for_each(|_| counter!("bench_labels", "kind" => "book", "size" => "A4").increment(1));
            });
        })
    });
    row(&format!("metrics, {behind}: handle of one histogram"), OPERATIONS / 4, |_| {
        let histogram = metrics::with_local_recorder(recorder, || histogram!("bench_histogram"));
        Box::new(move |n| (0..n).for_each(|value| black_box(&histogram).record(value as f64)))
    });
}

/// Enters and leaves a span.
fn spans<S: Subscriber + Send + Sync + 'static>(behind: &str, subscriber: impl Fn() -> S) {
    let dispatch = tracing::Dispatch::new(subscriber());
    row(&format!("tracing, {behind}: a span"), OPERATIONS / 8, |_| {
        let dispatch = dispatch.clone();
        Box::new(move |n| {
            tracing::dispatcher::with_default(&dispatch, || {
                (0..n).for_each(|n| {
                    let span = info_span!("job", n);
                    let _entered = black_box(&span).enter();
                });
            });
        })
    });
}
