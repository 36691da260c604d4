//! Settings files: those of the monitor, and views that Windows' Performance Monitor saved. The page opens
//! and saves them.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use serde_json::{Value, json};
use tallymon::core::visible::visible;
use tallymon_monitor::settings::{LONGEST, Settings};

use crate::http::Refused;
use crate::parameters::Parameters;
use crate::room;
use crate::upload::{Temporary, Uploads, next_piece};

/// Views with another name on the page.
const VIEWS: [(&str, &str); 2] = [("graph", "line"), ("report", "values")];

/// Reads a settings file that is the body of a request.
pub(crate) async fn open(uploads: Arc<Uploads>, request: Request<Incoming>) -> Result<Value, Refused> {
    let name = Parameters::of(request.uri())?.needed("name")?.to_owned();
    let (mut body, mut text) = (request.into_body(), Vec::new());
    while let Some(piece) = next_piece(&mut body).await? {
        text.extend_from_slice(&piece);
        if text.len() as u64 > LONGEST {
            let words = format!("{} is longer than {} MiB", visible(&name), LONGEST >> 20);
            return Err(Refused::new(StatusCode::PAYLOAD_TOO_LARGE, words));
        }
    }
    room::apart(move |_| {
        // Windows writes UTF-16 in several ways, which the monitor tells apart in a file.
        let file = Temporary::new(&uploads, text.len() as u64)?;
        let failed = |error| Refused::new(StatusCode::INSUFFICIENT_STORAGE, format!("{error}"));
        std::fs::write(file.path(), &text).map_err(|error: std::io::Error| failed(error))?;
        let settings = Settings::open(file.path());
        let settings = settings.map_err(|words| {
            let words = words.replace(&*file.path().to_string_lossy(), &name);
            Refused::bad_request(visible(&words).into_owned())
        })?;
        Ok(shown(&settings))
    })
    .await
}

/// What the page takes of settings, and the names of what it does not have.
fn shown(settings: &Settings) -> Value {
    let seconds = settings.points.map(|points| {
        let interval = settings.interval.unwrap_or(Duration::from_secs(1));
        interval.as_secs_f64() * points as f64
    });
    let view = settings.view.as_deref();
    let view =
        view.map(|view| VIEWS.iter().find(|(monitor, _)| *monitor == view).map_or(view, |(_, page)| page));
    let parts = [
        ("line", settings.looks.iter().any(|(_, look)| *look != Default::default())),
        ("alert", !settings.alerts.is_empty()),
        ("overview", settings.overview.is_some()),
        ("columns", settings.columns.is_some()),
    ];
    let parts = parts.into_iter().filter_map(|(name, is_there)| is_there.then_some(name));
    let left_out = settings.left_out.iter().map(String::as_str).chain(parts).map(visible);
    json!({
        "counters": settings.counters, "view": view.map(visible), "seconds": seconds, "sweep": settings.sweep,
        "leftOut": left_out.collect::<Vec<_>>(),
    })
}

/// The settings file of what the page shows.
pub(crate) fn save(parameters: &Parameters) -> Result<String, Refused> {
    let seconds = parameters.number("seconds")?;
    let view = parameters.text("view");
    let view =
        view.map(|view| VIEWS.iter().find(|(_, page)| *page == view).map_or(view, |(monitor, _)| monitor));
    let settings = Settings {
        counters: parameters.all("path").map(str::to_owned).collect(),
        view: view.map(str::to_owned),
        interval: seconds.map(|_| Duration::from_secs(1)),
        points: seconds.and_then(|seconds| usize::try_from(seconds).ok()),
        sweep: parameters.text("sweep").map(|sweep| sweep == "1"),
        ..Settings::default()
    };
    Ok(settings.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_shown_again() {
        let uri =
            "/?path=%5CA(b'c)%5CD%20%22e%22&path=%5CF%5CG&view=values&seconds=300&sweep=0".parse().unwrap();
        let text = save(&Parameters::of(&uri).unwrap()).unwrap();
        let shown = shown(&Settings::parse(&text).unwrap());
        let expected = json!({
            "counters": ["\\A(b'c)\\D \"e\"", "\\F\\G"], "view": "values", "seconds": 300.0, "sweep": false,
            "leftOut": [],
        });
        assert_eq!(shown, expected, "{text}");
        assert!(text.contains("view = 'report'"), "{text}");
    }

    #[test]
    fn what_the_page_does_not_have_is_named() {
        let text = "counters = ['\\A\\B']\nview = 'split'\n[[line]]\npath = '\\A\\B'\nhidden = true\n";
        let shown = shown(&Settings::parse(text).unwrap());
        assert_eq!((&shown["leftOut"], &shown["view"]), (&json!(["line"]), &json!("split")));
    }
}
