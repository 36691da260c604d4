//! The stream of live rows: server-sent events, one for each row, in columns.
//!
//! Each event has the number of its row as its id. A page that lost the connection says the last one
//! (`Last-Event-ID`), and the rows since then come first: the history is here. An event `series` says which
//! series the values of the rows after it belong to.

use std::sync::Arc;
use std::time::Duration;
use tallymon_remote::asynchronous;

use bytes::Bytes;
use serde_json::{Value, json};
use tallymon::core::title::Language;
use tallymon_remote::asynchronous::sync::mpsc;

use crate::chart::{SeriesInfo, numbers};
use crate::http::json_text;
use crate::live::Live;
use crate::live_state::{LiveRow, NewRows};
use crate::parameters::milliseconds;

/// A sign of life when no row comes, so that a dead connection is noticed.
const SILENCE: Duration = Duration::from_secs(10);
/// Pieces that wait for a slow client.
pub(crate) const WAITING: usize = 4;

/// Sends rows until the client goes.
pub(crate) async fn send(
    live: Arc<Live>,
    paths: Arc<Vec<String>>,
    (after, language): (Option<u64>, Language),
    to: mpsc::Sender<Bytes>,
) {
    let mut news = live.news();
    let mut first = after.map_or_else(|| *news.borrow_and_update(), |after| after.saturating_add(1));
    let mut known: Option<Arc<Vec<SeriesInfo>>> = None;
    loop {
        // Reading the history takes a lock, which a sample may hold for some milliseconds.
        let (reader, wanted, before) = (Arc::clone(&live), Arc::clone(&paths), known.clone());
        let read = move || {
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            let came = reader.rows(&wanted, first, before.as_deref().map(Vec::as_slice), language);
            let text = events(&came);
            (came, text)
        };
        let Ok((came, text)) = asynchronous::task::spawn_blocking(read).await else { return };
        let NewRows { series, rows, next, .. } = came;
        if let Some(series) = series {
            known = Some(Arc::new(series));
        }
        if let Some(last) = rows.last() {
            first = last.row.saturating_add(1);
        }
        if !text.is_empty() && to.send(Bytes::from(text)).await.is_err() {
            return;
        }
        if first < next && !rows.is_empty() {
            continue;
        }
        match asynchronous::time::timeout(SILENCE, news.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) => {
                if to.send(Bytes::from_static(b": still here\n\n")).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Rows as events.
fn events(news: &NewRows) -> String {
    let mut text = String::new();
    let mut event = |head: std::fmt::Arguments<'_>, data: &Value| {
        text.push_str(&format!("{head}\ndata: {}\n\n", json_text(data)));
    };
    if let Some(series) = &news.series {
        let all: Vec<Value> = series.iter().map(SeriesInfo::json).collect();
        event(format_args!("event: series"), &json!({ "series": all }));
    }
    for row in &news.rows {
        event(format_args!("id: {}", row.row), &frame(row));
    }
    if let Some(trouble) = &news.trouble {
        event(format_args!("event: trouble"), &json!({ "error": trouble }));
    }
    text
}

/// A row: its number, its time in milliseconds since 1970, and a value for each series.
pub(crate) fn frame(row: &LiveRow) -> Value {
    json!({ "row": row.row, "time": milliseconds(row.time), "values": numbers(&row.values) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_no_letters_that_a_terminal_obeys_or_hides() {
        let trouble = "web01 \u{9b}2J\u{202e}: 한\nid: 7";
        let news = NewRows { series: None, rows: Vec::new(), next: 0, trouble: Some(trouble.to_owned()) };
        let text = events(&news);
        assert_eq!(text, "event: trouble\ndata: {\"error\":\"web01 \\u009b2J\\u202e: 한\\nid: 7\"}\n\n");
    }
}
