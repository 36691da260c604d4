//! Which address does what.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tallymon_remote::asynchronous;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT_LANGUAGE, CONNECTION, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, COOKIE, HeaderMap, HeaderName,
    HeaderValue, LOCATION, ORIGIN, SET_COOKIE, STRICT_TRANSPORT_SECURITY, WWW_AUTHENTICATE, X_FRAME_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use tallymon::SourceInfo;
use tallymon::clock::now;
use tallymon::core::time::FileTime;
use tallymon::core::title::Language;
use tallymon::core::visible::visible;
use tallymon::log::{ReadOptions, Wanted};
use tallymon::process::Processes;
use tallymon::registry::Roots;
use tallymon_monitor::model::overview::Overview;
use tallymon_remote::asynchronous::sync::{Semaphore, mpsc};

use crate::chart::{Range, paths};
use crate::convert;
use crate::crossings::Thresholds;
use crate::decimate::Aggregate;
use crate::describe;
use crate::events;
use crate::gate::{Gate, Refusal};
use crate::http::{Answer, Refused, answer, json_answer, whole};
use crate::hub::{Host, Hub};
use crate::login::{Login, password_of};
use crate::machines::{self, Machine};
use crate::metrics::{self, Metrics, MetricsAccess, Selection};
use crate::page::Page;
use crate::parameters::{Parameters, language_of, language_of_browser, milliseconds};
use crate::process_list::{self, ProcessTexts};
use crate::profiles::{ProfilePage, Profiles};
use crate::providers;
use crate::room::{self, Room, busy, while_wanted};
use crate::scrape_format::ScrapeFormat;
use crate::sessions::{Action, SessionAccess};
use crate::settings;
use crate::stream;
use crate::upload;
use crate::uploads::Uploads;

/// The description of the interface.
pub(crate) const OPENAPI: &str = include_str!("../openapi.json");
/// The chart that comes with the page: what the page asks for first, see `page/src/live.ts`.
const FIRST_SPAN: Duration = Duration::from_secs(120);
const FIRST_POINTS: usize = 1_200;
/// The most streams at a time.
const MOST_STREAMS: usize = 64;
/// The most requests that read sources and logs at a time.
const MOST_WORK: usize = 4;

/// Everything that requests need.
#[derive(Debug)]
pub(crate) struct Service {
    gate: Gate,
    hub: Arc<Hub>,
    uploads: Arc<Uploads>,
    page: Page,
    profile_page: ProfilePage,
    streams: Arc<Semaphore>,
    work: Room,
    /// One log at a time is looked through for findings.
    analyses: Room,
    /// The history of one machine at a time is looked through.
    looks: Room,
    /// What reads whole logs, and takes long.
    conversions: Room,
    /// The counters of the first chart.
    usual: Vec<String>,
    metrics: Option<Arc<Metrics>>,
    local: Local,
    /// One action at a time changes sessions.
    control: Room,
    /// The password of a server for other machines.
    login: Option<Arc<Login>>,
    /// Whether every connection has shown a certificate that an authority of the user has signed.
    is_certified: bool,
    /// One password is hashed at a time.
    hashing: Room,
    /// Whether browsers should come by TLS only from now on.
    is_strict: bool,
}

/// What is shown of this machine besides its counters.
pub(crate) struct Local {
    pub(crate) sessions: Option<SessionAccess>,
    pub(crate) events: Option<Roots>,
    /// Who ends, stops and renices processes of this machine.
    pub(crate) processes: Option<Arc<dyn Processes>>,
    pub(crate) profiles: Option<Arc<Profiles>>,
}

impl std::fmt::Debug for Local {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Local").field("sessions", &self.sessions).finish_non_exhaustive()
    }
}

/// How browsers of other machines come in.
#[derive(Debug, Default)]
pub(crate) struct Entrance {
    /// The password that they are asked for.
    pub(crate) login: Option<Login>,
    /// Whether they have shown a certificate.
    pub(crate) is_certified: bool,
    /// Whether they should come by TLS only from now on.
    pub(crate) is_strict: bool,
}

impl Service {
    /// A service over a hub.
    pub(crate) fn new(
        gate: Gate,
        hub: Arc<Hub>,
        uploads: Uploads,
        usual: Vec<String>,
        metrics: Option<Arc<Metrics>>,
        local: Local,
        entrance: Entrance,
    ) -> Service {
        Service {
            gate,
            hub,
            uploads: Arc::new(uploads),
            page: Page::new(),
            profile_page: ProfilePage::new(),
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
            work: Room::new(MOST_WORK),
            analyses: Room::new(1),
            looks: Room::new(1),
            conversions: Room::new(2),
            usual,
            metrics,
            local,
            control: Room::new(1),
            login: entrance.login.map(Arc::new),
            is_certified: entrance.is_certified,
            hashing: Room::new(1),
            is_strict: entrance.is_strict,
        }
    }

    /// What Prometheus scrapes, if that is served.
    pub(crate) const fn metrics(&self) -> Option<&Arc<Metrics>> {
        self.metrics.as_ref()
    }

    /// Who may ask.
    pub(crate) const fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Answers a request. A refused one ends its connection.
    pub(crate) async fn handle(
        self: Arc<Service>,
        request: Request<Incoming>,
        from: IpAddr,
    ) -> Result<Response<Answer>, Infallible> {
        let is_head = request.method() == Method::HEAD;
        let result = self.route(request, from).await;
        let mut response = result.unwrap_or_else(|refused| {
            let mut response = refused.answer();
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            response
        });
        if self.is_strict {
            let year = HeaderValue::from_static("max-age=31536000");
            response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, year);
        }
        if is_head {
            *response.body_mut() = Answer::Whole(None);
        }
        Ok(response)
    }

    async fn route(
        self: &Arc<Service>,
        request: Request<Incoming>,
        from: IpAddr,
    ) -> Result<Response<Answer>, Refused> {
        self.gate.origin(&request).map_err(refused)?;
        let path = self.gate.inner(request.uri().path()).to_string();
        let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
        if path == "/"
            && is_reading
            && let Some(response) = self.first_look(&request)?
        {
            return Ok(response);
        }
        if path == "/" && is_reading && self.gate.token_of(request.headers()).is_err() {
            match &self.login {
                Some(login) => return self.log_in(login, request.headers(), from).await,
                // Who came so far has shown a certificate.
                None if self.is_certified => return self.welcome(),
                None => {}
            }
        }
        let is_metrics = path == "/metrics" && is_reading;
        let is_open = |metrics: &Arc<Metrics>| metrics.access() == MetricsAccess::Local;
        if !is_metrics || !self.metrics.as_ref().is_some_and(is_open) {
            self.gate.token_of(request.headers()).map_err(refused)?;
        }
        if is_metrics {
            return self.scrape(&request).await;
        }
        match (path.as_str(), request.method()) {
            ("/", &Method::GET | &Method::HEAD) => self.page(request.headers()).await,
            ("/api/v1/openapi.json", &Method::GET | &Method::HEAD) => {
                let body = Bytes::from_static(OPENAPI.as_bytes());
                Ok(answer(StatusCode::OK, "application/json", Answer::Whole(Some(body))))
            }
            ("/profile", &Method::GET | &Method::HEAD) => self.profile_page(request.headers()),
            ("/api/v1/profile", &Method::GET | &Method::HEAD) => self.profile(&request).await,
            ("/api/v1/profile", &Method::DELETE) => {
                let parameters = Parameters::of(request.uri())?;
                self.uploads.give_back(self.profiles()?.close(parameters.needed("id")?)?);
                Ok(json_answer(&json!({}), request.headers()))
            }
            ("/api/v1/stream", &Method::GET) => self.stream(&request).await,
            ("/api/v1/convert", &Method::GET) => self.convert(&request).await,
            ("/api/v1/report", &Method::GET) => self.report(&request).await,
            ("/api/v1/settings", &Method::POST) => {
                let asked = request.headers().clone();
                Ok(json_answer(&settings::open(Arc::clone(&self.uploads), request).await?, &asked))
            }
            ("/api/v1/settings", &Method::GET) => {
                let text = settings::save(&Parameters::of(request.uri())?)?;
                let mut response =
                    answer(StatusCode::OK, "text/plain; charset=utf-8", Answer::Whole(Some(text.into())));
                let name = HeaderValue::from_static("attachment; filename=\"view.tallymon\"");
                response.headers_mut().insert(CONTENT_DISPOSITION, name);
                Ok(response)
            }
            ("/api/v1/logs", &Method::POST) => {
                let asked = request.headers().clone();
                let (hub, uploads) = (Arc::clone(&self.hub), Arc::clone(&self.uploads));
                let kept = upload::receive(hub, uploads, self.local.profiles.clone(), request).await?;
                Ok(json_answer(&kept, &asked))
            }
            ("/api/v1/logs", &Method::DELETE) => {
                let parameters = Parameters::of(request.uri())?;
                self.close_log(parameters.needed("id")?)?;
                Ok(json_answer(&json!({}), request.headers()))
            }
            (path, &Method::POST) if Action::of(path).is_some() => self.control(path, &request).await,
            (path, &Method::GET | &Method::HEAD) if path.starts_with("/api/v1/") => {
                let (name, asked) = (path.to_string(), request.headers().clone());
                let parameters = Parameters::of(request.uri())?;
                self.work(name, parameters, &asked).await
            }
            (_, &Method::GET | &Method::HEAD) => Err(Refused::not_found(format!(
                "nothing is at this address; /api/v1/openapi.json describes the interface, {} is the page",
                self.gate.folder_path()
            ))),
            _ => Err(Refused::new(StatusCode::METHOD_NOT_ALLOWED, "this address only shows: use GET")),
        }
    }

    /// The page, with what it asks for first.
    async fn page(self: &Arc<Service>, asked: &HeaderMap) -> Result<Response<Answer>, Refused> {
        let (service, asked) = (Arc::clone(self), asked.clone());
        let accepted = asked.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let language = language_of_browser(accepted);
        room::apart(move |_| Ok(service.page.answer(&asked, &service.first_answers(language)))).await
    }

    /// The answers to the first questions of a page, as far as they are known without asking a source.
    fn first_answers(&self, language: &str) -> Value {
        let mut first = json!({ "hosts": self.hosts() });
        let machines = self.hub.machines();
        if machines.len() > 1 {
            first["fleet"] = self.fleet();
        } else if let Some(live) = machines.first().and_then(|machine| machine.live().ok()) {
            let usual = live.usual(&self.usual);
            let from = FileTime(now().0.saturating_sub(FIRST_SPAN.as_nanos() as u64 / 100));
            let range =
                Range { from: Some(from), to: None, points: FIRST_POINTS, aggregate: Aggregate::Extremes };
            first["usual"] = json!(usual);
            let processes = process_list::Wanted::default();
            first["overview"] = live
                .overview(None, false, |model, at, texts| describe::overview(model, at, &processes, texts));
            if let Some(mut chart) = live.known_chart(&usual, &range, language_of(Some(language))) {
                first["chart"] = chart.json();
                first["chart"]["lang"] = json!(language);
                first["chart"]["paths"] = json!(usual);
            }
        }
        first
    }

    fn profiles(&self) -> Result<&Arc<Profiles>, Refused> {
        let shown = self.local.profiles.as_ref();
        shown.ok_or_else(|| Refused::not_found("this server shows no profiles"))
    }

    /// The page that shows profiles.
    fn profile_page(&self, asked: &HeaderMap) -> Result<Response<Answer>, Refused> {
        let ProfilePage { page, rules } = &self.profile_page;
        let mut response =
            whole(StatusCode::OK, "text/html; charset=utf-8", page.clone().into_bytes(), asked);
        let rules = HeaderValue::from_str(rules)
            .map_err(|_| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "bad header"))?;
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, rules);
        response.headers_mut().insert(X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
        Ok(response)
    }

    /// A whole profile.
    async fn profile(self: &Arc<Service>, request: &Request<Incoming>) -> Result<Response<Answer>, Refused> {
        let parameters = Parameters::of(request.uri())?;
        let (profiles, id) = (Arc::clone(self.profiles()?), parameters.needed("id")?.to_string());
        let text = self.work.run(move |_| profiles.document(&id)).await?;
        Ok(whole(StatusCode::OK, "application/json", text, request.headers()))
    }

    /// A log in another format, as a file.
    async fn convert(self: &Arc<Service>, request: &Request<Incoming>) -> Result<Response<Answer>, Refused> {
        let parameters = Parameters::of(request.uri())?;
        let service = Arc::clone(self);
        let work = self.conversions.run(move |wanted| {
            let log = service.hub.log(parameters.needed("host")?)?;
            let options = while_wanted(service.hub.options(), wanted);
            convert::convert(&log, &options, &service.uploads, &parameters)
        });
        let converted = work.await?;
        let (pieces, taken) = mpsc::channel(convert::WAITING);
        let mut response = answer(StatusCode::OK, "application/octet-stream", Answer::Pieces(taken));
        let name = HeaderValue::from_str(&format!("attachment; filename=\"{}\"", converted.name));
        if let Ok(name) = name {
            response.headers_mut().insert(CONTENT_DISPOSITION, name);
        }
        asynchronous::task::spawn_blocking(move || converted.send(&pieces));
        Ok(response)
    }

    /// A report of a log or of the history of a live machine, as a file.
    async fn report(self: &Arc<Service>, request: &Request<Incoming>) -> Result<Response<Answer>, Refused> {
        let parameters = Parameters::of(request.uri())?;
        let service = Arc::clone(self);
        let work = self.conversions.run(move |wanted| {
            let last = parameters.text("last").map(seconds).transpose()?;
            let what = (last, parameters.language());
            let options = while_wanted(service.hub.options(), wanted);
            match service.hub.host(parameters.text("host"))? {
                Host::Live(live) => live.report(&service.uploads, &options, what),
                Host::Log(log, None) => log.report(&service.usual, &options, what),
                Host::Log(_, Some(host)) => {
                    let host = visible(&host);
                    Err(Refused::bad_request(format!("a report is of the whole log; leave \"/{host}\" out")))
                }
            }
        });
        let mut response =
            whole(StatusCode::OK, "text/html; charset=utf-8", work.await?.into_bytes(), request.headers());
        // A file to keep: here its script would have the cookie of this page.
        let name = HeaderValue::from_static("attachment; filename=\"report.html\"");
        response.headers_mut().insert(CONTENT_DISPOSITION, name);
        Ok(response)
    }

    /// Changes or makes a session, shows its log, or switches a library.
    async fn control(
        self: &Arc<Service>,
        path: &str,
        request: &Request<Incoming>,
    ) -> Result<Response<Answer>, Refused> {
        let access = self.sessions()?.clone();
        let mut without_cookie = request.headers().clone();
        without_cookie.remove(COOKIE);
        let is_by_token = self.gate.token_of(&without_cookie).is_ok();
        let Some(action) = Action::of(path) else { return Err(Refused::not_found("no such action")) };
        access.may_control(is_by_token || request.headers().contains_key(ORIGIN), action)?;
        let parameters = Parameters::of(request.uri())?;
        let (hub, roots) = (Arc::clone(&self.hub), self.local.events.clone());
        let processes = self.local.processes.clone();
        let work = move |_: &Wanted| match action {
            Action::Open => access.open_logs(&hub, &parameters),
            Action::Enable => providers::enable(roots.as_ref(), &parameters),
            Action::Interval => machines::set_interval(&hub, &parameters),
            Action::Process => process_list::act(processes.as_deref(), &parameters),
            _ => access.act(action, &parameters),
        };
        let done = self.control.run(work).await?;
        Ok(json_answer(&done, request.headers()))
    }

    fn sessions(&self) -> Result<&SessionAccess, Refused> {
        self.local
            .sessions
            .as_ref()
            .ok_or_else(|| Refused::not_found("this server shows no recording sessions"))
    }

    /// Answers Prometheus.
    async fn scrape(&self, request: &Request<Incoming>) -> Result<Response<Answer>, Refused> {
        let served = self.metrics.as_ref();
        let served = served.ok_or_else(|| {
            Refused::not_found("metrics are not served; start 'tally serve' with --metrics")
        })?;
        let selection = Selection::of(&Parameters::of(request.uri())?)?;
        let (format, deadline) =
            (ScrapeFormat::preferred(request.headers()), metrics::deadline(request.headers()));
        let body = served.scrape(selection, format, deadline).await?;
        Ok(whole(StatusCode::OK, format.content_type(), body, request.headers()))
    }

    /// The printed address: its token becomes a cookie, and leaves the address.
    fn first_look(&self, request: &Request<Incoming>) -> Result<Option<Response<Answer>>, Refused> {
        let parameters = Parameters::of(request.uri())?;
        let Some(token) = parameters.text("token") else { return Ok(None) };
        if !self.gate.is_token(token) {
            return Err(refused(Refusal::Token));
        }
        self.welcome().map(Some)
    }

    /// A browser without the cookie: asks for the password, or takes it.
    async fn log_in(
        &self,
        login: &Arc<Login>,
        headers: &HeaderMap,
        from: IpAddr,
    ) -> Result<Response<Answer>, Refused> {
        let ask = |words: &'static str| {
            let mut response = Refused::new(StatusCode::UNAUTHORIZED, words).answer();
            let scheme = HeaderValue::from_static("Basic realm=\"tallymon\", charset=\"UTF-8\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            response
        };
        let Some(password) = password_of(headers) else {
            return Ok(ask("the password of 'tally serve' is needed; the user name does not matter"));
        };
        if !login.begin(from, Instant::now()) {
            let words = "too many wrong passwords; try again in a minute";
            return Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, words));
        }
        let login = Arc::clone(login);
        if self.hashing.run(move |_| Ok(login.is_right(from, &password))).await? {
            self.welcome()
        } else {
            Ok(ask("the password is wrong"))
        }
    }

    /// Sets the cookie, and leads to the page.
    fn welcome(&self) -> Result<Response<Answer>, Refused> {
        let mut response = answer(StatusCode::SEE_OTHER, "text/plain", Answer::Whole(None));
        let text = |text: String| {
            HeaderValue::from_str(&text)
                .map_err(|_| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "bad header"))
        };
        response.headers_mut().insert(SET_COOKIE, text(self.gate.cookie())?);
        response.headers_mut().insert(LOCATION, text(self.gate.folder_path())?);
        Ok(response)
    }

    /// Answers what reads a source or a log, on a thread of its own.
    async fn work(
        self: &Arc<Service>,
        name: String,
        parameters: Parameters,
        asked: &HeaderMap,
    ) -> Result<Response<Answer>, Refused> {
        // What is known at once does not wait for what has to be read.
        let is_short = match name.as_str() {
            "/api/v1/hosts" | "/api/v1/fleet" | "/api/v1/logs" => true,
            "/api/v1/rows" => {
                let (service, asked) = (Arc::clone(self), parameters.clone());
                room::apart(move |_| Ok(service.has_rows(&asked))).await?
            }
            "/api/v1/findings" => {
                let (service, known) = (Arc::clone(self), parameters.clone());
                if let Some(known) = room::apart(move |_| Ok(service.known_findings(&known))).await? {
                    return Ok(json_answer(&known, asked));
                }
                false
            }
            _ => false,
        };
        // Looking through a large log takes long, and nobody else should wait for that.
        let room = match name.as_str() {
            "/api/v1/findings" if self.hub.live(parameters.text("host")).is_ok() => &self.looks,
            "/api/v1/findings" => &self.analyses,
            "/api/v1/compare" | "/api/v1/gaps" => &self.conversions,
            // All of a log is read for them.
            "/api/v1/alerts" if self.hub.live(parameters.text("host")).is_err() => &self.conversions,
            "/api/v1/providers" if self.reads_all_for_providers(&parameters) => &self.conversions,
            _ => &self.work,
        };
        let service = Arc::clone(self);
        let read = move |wanted: &Wanted| service.read(&name, &parameters, wanted);
        let answer = if is_short { room::apart(read).await? } else { room.run(read).await? };
        Ok(json_answer(&answer, asked))
    }

    fn read(&self, name: &str, parameters: &Parameters, wanted: &Wanted) -> Result<Value, Refused> {
        let language = parameters.language();
        let host = || self.hub.host(parameters.text("host"));
        match name {
            "/api/v1/hosts" => Ok(self.hosts()),
            "/api/v1/fleet" => Ok(self.fleet()),
            "/api/v1/logs" => Ok(self.logs()),
            "/api/v1/objects" => Ok(describe::objects(&all_names(&host()?, language, true)?)),
            "/api/v1/counters" => match parameters.text("search") {
                Some(words) => Ok(describe::search(&all_names(&host()?, language, false)?, words)),
                None => {
                    let object = parameters.needed("object")?;
                    describe::counters(&names_for(&host()?, language, object)?, object)
                }
            },
            "/api/v1/instances" => {
                let (host, object) = (host()?, parameters.needed("object")?);
                let object = describe::find(&names_for(&host, language, object)?, object)?.name;
                match &host {
                    Host::Live(live) => Ok(describe::instances(&live.instances(object)?)),
                    Host::Log(log, part) => Ok(describe::instances(&log.instances(part.as_deref(), object)?)),
                }
            }
            "/api/v1/usual" => {
                let usual: Vec<&str> = self.usual.iter().map(String::as_str).collect();
                match host()? {
                    Host::Live(live) => Ok(json!(live.usual(&self.usual))),
                    Host::Log(log, part) => Ok(json!(log.usual(part.as_deref(), &usual)?)),
                }
            }
            "/api/v1/query" => {
                let (paths, range) = (paths(parameters)?, Range::of(parameters)?);
                let mut chart = match host()? {
                    Host::Live(live) => live.chart(&paths, &range, language)?,
                    Host::Log(log, part) => {
                        log.chart(part.as_deref(), &paths, &range, language, &|| wanted.is_wanted())?
                    }
                };
                Ok(chart.json())
            }
            "/api/v1/findings" | "/api/v1/gaps" | "/api/v1/compare" => {
                self.look_through(name, parameters, &while_wanted(self.hub.options(), wanted))
            }
            "/api/v1/rows" => self.rows(parameters),
            "/api/v1/alerts" => self.alerts(parameters, wanted),
            "/api/v1/sessions" => self.sessions()?.list(),
            "/api/v1/providers" => match host()? {
                Host::Live(live) => {
                    let mut found = live.providers().json(&live.names(language)?, true);
                    let may_change = self.local.sessions.as_ref().is_some_and(|sessions| sessions.control);
                    found["control"] = json!(may_change && self.local.events.is_some() && live.is_here());
                    Ok(found)
                }
                Host::Log(log, part) => {
                    let found =
                        log.providers(part.as_deref(), parameters.time("time")?, &|| wanted.is_wanted())?;
                    Ok(found.json(&log.info(part.as_deref(), language)?, false))
                }
            },
            "/api/v1/events" => match &self.local.events {
                Some(roots) => events::events(roots, parameters),
                None => Err(Refused::not_found("this server shows no events of this machine")),
            },
            "/api/v1/profiles" => Ok(self.profiles()?.list()),
            "/api/v1/profile/busiest" => self.profiles()?.busiest(parameters.needed("id")?),
            "/api/v1/profile/differences" => self.profiles()?.differences(parameters),
            "/api/v1/explain" => self.explain(parameters),
            "/api/v1/overview" => {
                let (time, processes) = (parameters.time("time")?, process_list::Wanted::of(parameters)?);
                self.overview(&host()?, time, &processes)
            }
            "/api/v1/contributors" => contributors(&host()?, parameters),
            _ => Err(Refused::not_found("no such address; /api/v1/openapi.json describes the interface")),
        }
    }

    /// When counters crossed thresholds, in all of a log or of the history.
    fn alerts(&self, parameters: &Parameters, wanted: &Wanted) -> Result<Value, Refused> {
        let (paths, thresholds) = (paths(parameters)?, Thresholds::of(parameters)?);
        match self.hub.host(parameters.text("host"))? {
            Host::Live(live) => live.alerts(&paths, &thresholds),
            Host::Log(log, part) => log.alerts(part.as_deref(), &paths, &thresholds, &|| wanted.is_wanted()),
        }
    }

    /// The overview of a host at a time, and from when to when there is one.
    fn overview(
        &self,
        host: &Host,
        time: Option<FileTime>,
        processes: &process_list::Wanted,
    ) -> Result<Value, Refused> {
        let then = |model: &Overview, at: Option<FileTime>, texts: Option<&ProcessTexts>| {
            describe::overview(model, at, processes, texts)
        };
        match host {
            Host::Live(live) => {
                let mut found = live.overview(time, processes.texts, then);
                let times = live.overview_times();
                found["first"] = json!(times.map(|(first, _)| milliseconds(first)));
                found["last"] = json!(times.map(|(_, last)| milliseconds(last)));
                Ok(found)
            }
            Host::Log(log, part) => {
                let mut found = log.overview(part.as_deref(), time, processes.texts, then)?;
                let (first, last) = log.ends()?;
                (found["first"], found["last"]) = (json!(milliseconds(first)), json!(milliseconds(last)));
                Ok(found)
            }
        }
    }

    /// Whether the providers are those of a log that has to be read for them.
    fn reads_all_for_providers(&self, parameters: &Parameters) -> bool {
        match self.hub.host(parameters.text("host")) {
            Ok(Host::Log(log, part)) => log.reads_all_for_providers(part.as_deref()),
            _ => false,
        }
    }

    /// Findings that are known, for which nobody has to look.
    fn known_findings(&self, parameters: &Parameters) -> Option<Value> {
        match self.hub.host(parameters.text("host")).ok()? {
            Host::Live(live) => live.known_findings(parameters.language()),
            Host::Log(log, part) => log.known_findings(part.as_deref(), parameters.language()),
        }
    }

    /// Looks through whole logs, as long as the options say that it is wanted.
    fn look_through(
        &self,
        name: &str,
        parameters: &Parameters,
        options: &ReadOptions,
    ) -> Result<Value, Refused> {
        match name {
            "/api/v1/findings" => match self.hub.host(parameters.text("host"))? {
                Host::Live(live) => live.findings(&self.uploads, options, parameters.language()),
                Host::Log(log, part) => log.findings(part.as_deref(), options, parameters.language()),
            },
            "/api/v1/gaps" => self.hub.log(parameters.needed("host")?)?.gaps(options),
            _ => {
                let (first, second) = (parameters.needed("first")?, parameters.needed("second")?);
                let logs = [self.hub.log(first)?, self.hub.log(second)?];
                let beside: Vec<_> =
                    parameters.all("beside").map(|id| self.hub.log(id)).collect::<Result<_, _>>()?;
                convert::differences([&logs[0], &logs[1]], &beside, (options, &self.uploads), parameters)
            }
        }
    }

    fn hosts(&self) -> Value {
        let may_change = self.local.sessions.as_ref().is_some_and(|sessions| sessions.control);
        let machine = |machine: &Arc<Machine>| {
            let mut about = machine.json();
            let is_here = machine.live().is_ok_and(|live| live.is_here());
            about["control"] = json!(may_change);
            about["processes"] = json!(may_change && is_here && self.local.processes.is_some());
            about
        };
        let mut hosts: Vec<Value> = self.hub.machines().iter().map(machine).collect();
        hosts.extend(self.hub.logs().iter().map(|(id, log)| log.json(id)));
        json!(hosts)
    }

    /// The page of all live machines.
    fn fleet(&self) -> Value {
        self.hub.machines().iter().map(|machine| machine.row()).collect()
    }

    fn logs(&self) -> Value {
        self.hub.logs().iter().map(|(id, log)| log.json(id)).collect()
    }

    /// Whether rows are there at once: for a path that is not sampled yet the source may be asked, which
    /// waits.
    fn has_rows(&self, parameters: &Parameters) -> bool {
        let live = self.hub.live(parameters.text("host"));
        live.is_ok_and(|live| paths(parameters).is_ok_and(|paths| live.samples(&paths)))
    }

    /// Rows of the live machine for a page that does not hold a stream.
    fn rows(&self, parameters: &Parameters) -> Result<Value, Refused> {
        let live = self.hub.live(parameters.text("host"))?;
        let paths = paths(parameters)?;
        live.want(&paths)?;
        let after = parameters.number("after")?.map_or_else(|| live.next(), |after| after.saturating_add(1));
        let news = live.rows(&paths, after, None, parameters.language());
        let series: Vec<Value> = news.series.iter().flatten().map(crate::chart::SeriesInfo::json).collect();
        let rows: Vec<Value> = news.rows.iter().map(stream::frame).collect();
        Ok(json!({ "series": series, "rows": rows, "next": news.next, "trouble": news.trouble }))
    }

    fn explain(&self, parameters: &Parameters) -> Result<Value, Refused> {
        let (path, language) = (parameters.needed("path")?, parameters.language());
        let host = self.hub.host(parameters.text("host"))?;
        let (readings, info) = match &host {
            Host::Live(live) => (live.readings(path)?, live.names_for(language, &[path])?),
            Host::Log(log, part) => {
                let time = parameters.time("time")?.unwrap_or(tallymon::core::time::FileTime(u64::MAX));
                log.readings(part.as_deref(), path, time, language)?
            }
        };
        let Some(reading) = readings.first() else {
            // The first sample of a new path is under way.
            return Ok(json!({ "pending": true }));
        };
        let object = info.catalog.object(reading.object);
        let help = object.and_then(|object| info.names.help(object.help)).map(str::to_string);
        let found = tallymon::explain(reading, &info.names, help.as_deref());
        let origin = match &host {
            Host::Live(live) => live.origin(reading.object, reading.counter),
            Host::Log(log, _) => Some(log.name.clone()),
        };
        Ok(describe::explanation(&found, &info.names, reading, origin.as_deref()))
    }

    async fn stream(self: &Arc<Service>, request: &Request<Incoming>) -> Result<Response<Answer>, Refused> {
        let parameters = Parameters::of(request.uri())?;
        let wanted: Vec<String> = paths(&parameters)?.into_iter().map(str::to_string).collect();
        let language = parameters.language();
        let live = self.hub.live(parameters.text("host"))?;
        let last = request.headers().get(HeaderName::from_static("last-event-id"));
        let last = last.and_then(|last| last.to_str().ok()).and_then(|last| last.parse().ok());
        let after = last.or(parameters.number("after")?);
        let permit = Arc::clone(&self.streams).try_acquire_owned();
        let permit = permit.map_err(|_| busy("too many pages are streaming; close one"))?;
        let (asked, source) = (wanted.clone(), Arc::clone(&live));
        room::apart(move |_| source.want(&asked.iter().map(String::as_str).collect::<Vec<_>>())).await?;
        let (pieces, taken) = mpsc::channel(stream::WAITING);
        asynchronous::spawn(async move {
            stream::send(live, Arc::new(wanted), (after, language), pieces).await;
            drop(permit);
        });
        Ok(answer(StatusCode::OK, "text/event-stream", Answer::Pieces(taken)))
    }

    /// Closes an uploaded log.
    fn close_log(&self, id: &str) -> Result<(), Refused> {
        let mut logs = self.hub.logs();
        match logs.get(id) {
            Some(log) if log.is_arriving() => {
                let words = format!("{} is still on its way", visible(&log.name));
                Err(Refused::new(StatusCode::CONFLICT, words))
            }
            Some(log) if log.is_closable() => {
                if log.is_upload() {
                    self.uploads.give_back(log.bytes());
                }
                logs.remove(id);
                Ok(())
            }
            Some(_) => Err(Refused::new(StatusCode::FORBIDDEN, "this log was given on the command line")),
            None => Err(Refused::not_found(format!("no log {id:?}"))),
        }
    }
}

/// All objects that a host has, as it is now when `fresh`.
fn all_names(host: &Host, language: Language, fresh: bool) -> Result<SourceInfo, Refused> {
    match host {
        Host::Live(live) => Ok(live.all_names(language, fresh)?),
        Host::Log(log, part) => log.info(part.as_deref(), language),
    }
}

/// The objects of a host, with one that a name or a number means.
fn names_for(host: &Host, language: Language, object: &str) -> Result<SourceInfo, Refused> {
    match host {
        Host::Live(live) => Ok(live.names_for(language, &[&format!("\\{object}(*)\\*")])?),
        Host::Log(log, part) => log.info(part.as_deref(), language),
    }
}

/// Who was busiest at a time.
fn contributors(host: &Host, parameters: &Parameters) -> Result<Value, Refused> {
    let (path, time) = (parameters.text("path"), parameters.time("time")?);
    let time = time.ok_or_else(|| Refused::bad_request("the parameter \"time\" is missing"))?;
    let language = parameters.language();
    let (at, groups, names) = match host {
        Host::Live(live) => live.contributors(path, time, language),
        Host::Log(log, part) => log.contributors(part.as_deref(), path, time, language)?,
    };
    Ok(describe::contributors(at, &groups, &names))
}

/// A time in seconds that is longer than none.
fn seconds(text: &str) -> Result<Duration, Refused> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero()).ok_or_else(|| {
        let given = visible(text);
        Refused::bad_request(format!("last={given:?}: a number of seconds is expected"))
    })
}

fn refused(refusal: Refusal) -> Refused {
    let status = match refusal {
        Refusal::Host => StatusCode::MISDIRECTED_REQUEST,
        Refusal::Origin => StatusCode::FORBIDDEN,
        Refusal::Token => StatusCode::UNAUTHORIZED,
    };
    Refused::new(status, refusal.words())
}
