//! Settings files: those of the monitor, and views that Windows' Performance Monitor saved. The page opens
//! and saves them.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use serde_json::{Value, json};
use tallymon::core::visible::visible;
use tallymon_monitor::model::{Axis, Look, MOST_WIDTH, Picture, Scale};
use tallymon_monitor::save::{COLOURS, DASHES};
use tallymon_monitor::settings::{LONGEST, Settings};

use crate::http::Refused;
use crate::parameters::Parameters;
use crate::room;
use crate::upload::next_piece;
use crate::uploads::{Temporary, Uploads};

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
    let picture = settings.picture.as_ref();
    let axis = picture.map(|picture| picture.axis);
    let lines = settings.looks.iter().map(|(path, look)| {
        let place = settings.counters.iter().position(|known| known == path);
        line_of(path, look, place.unwrap_or(0))
    });
    let parts = [
        ("title", picture.is_some_and(|picture| !picture.title.is_empty())),
        ("label", picture.is_some_and(|picture| !picture.label.is_empty())),
        ("alert", !settings.alerts.is_empty()),
        ("overview", settings.overview.is_some()),
        ("columns", settings.columns.is_some()),
    ];
    let parts = parts.into_iter().filter_map(|(name, is_there)| is_there.then_some(name));
    let left_out = settings.left_out.iter().map(String::as_str).chain(parts).map(visible);
    json!({
        "counters": settings.counters, "view": view.map(visible), "seconds": seconds, "sweep": settings.sweep,
        "axis": axis.map(|axis| [axis.minimum(), axis.maximum()]), "lines": lines.collect::<Vec<_>>(),
        "leftOut": left_out.collect::<Vec<_>>(),
    })
}

/// How a line looks, as the page has it: one number for colour and dashes, where either was chosen. A line
/// of which only the dashes were chosen has the colour of its `place`.
fn line_of(path: &str, look: &Look, place: usize) -> Value {
    let power = match look.scale {
        Scale::Power(power) => Some(power),
        // The page fits every line of which nothing else is said.
        Scale::Auto | Scale::Fit => None,
    };
    let colour = look.colour.or(look.pattern.map(|_| place)).map(|colour| {
        // In a terminal colours and dashes start over, each after its own count.
        let dashes = look.pattern.unwrap_or(colour) % DASHES.len();
        dashes.saturating_mul(COLOURS.len()).saturating_add(colour % COLOURS.len())
    });
    json!({ "path": path, "power": power, "colour": colour, "width": look.width, "hidden": look.hidden,
            "threshold": look.threshold })
}

/// A line as the page writes it: `POWER~COLOUR~WIDTH~HIDDEN~THRESHOLD PATH`, each of the five empty where
/// nothing was chosen; the last one may be missing.
fn line(text: &str) -> Option<(String, Look)> {
    let (look, path) = text.split_once(' ')?;
    let mut parts = look.split('~');
    let mut part = || parts.next().filter(|part| !part.is_empty());
    let (power, colour, width, hidden, threshold) = (part(), part(), part(), part(), part());
    let number = |text: Option<&str>| {
        text.map(|text| text.parse::<i32>().ok()).map_or(Some(None), |one| Some(Some(one?)))
    };
    let colour = number(colour)?.map(usize::try_from).transpose().ok()?;
    let width = number(width)?.map_or(Ok(1), u8::try_from).ok()?;
    let look = Look {
        // What the page does where no scale is chosen.
        scale: number(power)?.map_or(Scale::Fit, |power| Scale::Power(power.clamp(-9, 9))),
        hidden: hidden == Some("1"),
        colour: colour.map(|colour| colour % COLOURS.len()),
        pattern: colour.map(|colour| colour / COLOURS.len() % DASHES.len()),
        width: width.clamp(1, MOST_WIDTH),
        threshold: threshold.map(str::parse).transpose().ok()?.filter(|value: &f64| value.is_finite()),
    };
    Some((path.to_owned(), look))
}

/// The axis between two ends, as the page writes it: `LOW~HIGH`.
fn axis(text: &str) -> Option<Axis> {
    let (low, high) = text.split_once('~')?;
    Axis::new(low.parse().ok()?, high.parse().ok()?)
}

/// The settings file of what the page shows.
pub(crate) fn save(parameters: &Parameters) -> Result<String, Refused> {
    let seconds = parameters.number("seconds")?;
    let view = parameters.text("view");
    let view =
        view.map(|view| VIEWS.iter().find(|(_, page)| *page == view).map_or(view, |(monitor, _)| monitor));
    let bad = |name: &str, text: &str, form: &str| {
        Refused::bad_request(format!("{name}={:?}: {form} is expected", visible(text)))
    };
    let looks = parameters.all("line").map(|text| {
        line(text)
            .ok_or_else(|| bad("line", text, "POWER~COLOUR~WIDTH~HIDDEN~THRESHOLD PATH, as 0~3~2~~80 PATH,"))
    });
    let picture = parameters.text("axis").map(|text| {
        let axis = axis(text).ok_or_else(|| bad("axis", text, "LOW~HIGH, as 0~100,"))?;
        Ok::<_, Refused>(Picture { axis, ..Picture::default() })
    });
    let settings = Settings {
        looks: looks.collect::<Result<_, _>>()?,
        picture: picture.transpose()?,
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
        let uri = "/?path=%5CA(b'c)%5CD%20%22e%22&path=%5CF%5CG&view=values&seconds=300&sweep=0&axis=-5~2500\
                   &line=-3~12~4~1~80.5%20%5CF%5CG&line=~0~~%20%5CA(b'c)%5CD%20%22e%22"
            .parse()
            .unwrap();
        let text = save(&Parameters::of(&uri).unwrap()).unwrap();
        let shown = shown(&Settings::parse(&text).unwrap());
        let expected = json!({
            "counters": ["\\A(b'c)\\D \"e\"", "\\F\\G"], "view": "values", "seconds": 300.0, "sweep": false,
            "axis": [-5.0, 2500.0],
            "lines": [
                { "path": "\\F\\G", "power": -3, "colour": 12, "width": 4, "hidden": true,
                  "threshold": 80.5 },
                { "path": "\\A(b'c)\\D \"e\"", "power": null, "colour": 0, "width": 1, "hidden": false,
                  "threshold": null },
            ],
            "leftOut": [],
        });
        assert_eq!(shown, expected, "{text}");
        assert!(text.contains("view = 'report'"), "{text}");
    }

    /// The terminal has the same file: a line has the same colour, dashes, width and scale in both.
    #[test]
    fn lines_of_the_terminal_are_those_of_the_page() {
        let of = |look: Look| line_of(r"\A\B", &look, 5);
        let look = Look::default();
        // In a terminal the dashes change with the colour, unless they were chosen.
        assert_eq!(of(Look { colour: Some(1), ..look })["colour"], json!(9));
        assert_eq!(of(Look { colour: Some(9), pattern: Some(0), ..look })["colour"], json!(1));
        assert_eq!(of(Look { pattern: Some(2), ..look })["colour"], json!(21));
        assert_eq!(of(look)["colour"], Value::Null);
        assert_eq!(of(Look { scale: Scale::Fit, ..look })["power"], Value::Null);
        for number in 0..COLOURS.len() * DASHES.len() {
            let (path, look) = line(&format!("0~{number}~2~ \\A\\B")).unwrap();
            assert_eq!(line_of(&path, &look, 0)["colour"], json!(number));
            assert_eq!((look.scale, look.is_thick(), look.hidden), (Scale::Power(0), true, false));
        }
    }

    #[test]
    fn lines_that_are_none_are_refused() {
        for target in [
            "line=",
            "line=x",
            "line=a~~~%20p",
            "line=~-1~~%20p",
            "line=~~999~%20p",
            "line=~~~~x%20p",
            "axis=1",
            "axis=5~5",
        ] {
            let uri = format!("/?path=p&{target}").parse().unwrap();
            let refused = save(&Parameters::of(&uri).unwrap()).unwrap_err();
            assert!(refused.words.contains("is expected"), "{target}: {}", refused.words);
        }
    }

    #[test]
    fn what_the_page_does_not_have_is_named() {
        let text = "counters = ['\\A\\B']\nview = 'split'\ntitle = 'x'\n[[line]]\npath = '\\A\\B'\n\
                    hidden = true\nthreshold = 5\n";
        let shown = shown(&Settings::parse(text).unwrap());
        assert_eq!((&shown["leftOut"], &shown["view"]), (&json!(["title"]), &json!("split")));
        assert_eq!(
            (&shown["lines"][0]["hidden"], &shown["lines"][0]["threshold"]),
            (&json!(true), &json!(5.0))
        );
    }
}
