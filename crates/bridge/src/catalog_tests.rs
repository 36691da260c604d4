use super::*;

fn learned(bridge: &str, text: &str, chosen: Option<&[&str]>) -> Vec<String> {
    let metrics = Metrics::of_text(text.as_bytes()).unwrap();
    let chosen: Option<Vec<String>> =
        chosen.map(|labels| labels.iter().map(|label| (*label).to_owned()).collect());
    let catalog = learn(bridge, &metrics, chosen.as_deref()).unwrap();
    let mut lines = Vec::new();
    for object in &catalog {
        let counters = object.counters.iter().map(|c| format!("{}={}", c.name(), c.kind.word()));
        lines.push(format!("{}: {}", object.name, counters.collect::<Vec<_>>().join(" ")));
    }
    let offsets = catalog.iter().flat_map(|object| {
        std::iter::once(object.offset).chain(object.counters.iter().map(|counter| counter.offset))
    });
    assert!(offsets.eq((0..).step_by(2).take(lines_of(&catalog))), "offsets count up by two");
    lines
}

fn lines_of(catalog: &Catalog) -> usize {
    catalog.iter().map(|object| object.counters.len().saturating_add(1)).sum()
}

#[test]
fn metrics_become_objects_by_prefix_and_labels() {
    let text = "\
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 1.5
# TYPE node_cpu_guest_seconds_total counter
node_cpu_guest_seconds_total{cpu=\"0\",mode=\"user\"} 0
node_cpu_hertz{cpu=\"0\"} 1e9
node_boot_time_seconds 1
# TYPE took_seconds histogram
took_seconds_bucket{path=\"/\",le=\"1\"} 1
took_seconds_sum{path=\"/\"} 1
took_seconds_count{path=\"/\"} 1
# TYPE size_bytes summary
size_bytes{quantile=\"0.5\"} 7
size_bytes_sum 70
size_bytes_count 10
size_bytes_created 1
";
    let wanted = [
        "node: node_boot_time_seconds=gauge",
        "node cpu by cpu: node_cpu_hertz=gauge",
        "node cpu by cpu, mode: node_cpu_guest_seconds_total=seconds node_cpu_seconds_total=seconds",
        "node size: Avg. size_bytes=average size_bytes_count=count",
        "node size by quantile: size_bytes=gauge",
        "node took by le, path: took_seconds_bucket=count",
        "node took by path: Avg. took_seconds=average-seconds took_seconds_count=count",
    ];
    assert_eq!(learned("node", text, None), wanted);
    // The same again, whatever the order of the answer is.
    let mut lines: Vec<&str> = text.lines().collect();
    lines.reverse();
    assert_eq!(learned("node", &lines.join("\n"), None), wanted);
    let chosen = learned("n", text, Some(&["mode"]));
    assert!(chosen.contains(&"n took by le: took_seconds_bucket=count".to_owned()), "{chosen:?}");
    assert!(chosen.iter().any(|line| line.starts_with("n node_cpu by mode: ")), "{chosen:?}");
}

#[test]
fn two_objects_never_have_one_name() {
    // The third one without its prefix would be called like the second.
    let names = learned("a", "a_b_x 1\na_b_y 1\na_c 1\nb_x 1\nb_y{l=\"1\"} 1\nA_b 1\n", None);
    let objects: Vec<&str> = names.iter().filter_map(|line| line.split(": ").next()).collect();
    let folded: BTreeSet<String> = objects.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(folded.len(), objects.len(), "{objects:?}");
}

#[test]
fn more_names_than_the_registry_takes_are_refused() {
    let text: String = (0..33_000).map(|n| format!("m{n} 1\n")).collect();
    let metrics = Metrics::of_text(text.as_bytes()).unwrap();
    assert!(learn("a", &metrics, None).unwrap_err().contains("32,767"));
}

#[test]
fn help_says_what_the_endpoint_and_the_counter_mean() {
    let text = "# HELP took_seconds How long it took\n# TYPE took_seconds histogram\n\
                # UNIT took_seconds seconds\ntook_seconds_sum 1\ntook_seconds_count 1\n";
    let metrics = Metrics::of_text(text.as_bytes()).unwrap();
    let catalog = learn("a", &metrics, None).unwrap();
    let helps: Vec<String> =
        catalog[0].counters.iter().map(|counter| counter_help(counter, &metrics)).collect();
    assert_eq!(
        helps,
        [
            "How long it took. Unit: seconds. This counter is the average, in seconds, of what was observed \
             between two samples.",
            "How long it took. Unit: seconds. This counter is the difference per second.",
        ]
    );
}

#[test]
fn what_is_new_comes_behind_what_is_known() {
    let learn = |text: &str| learn("web", &Metrics::of_text(text.as_bytes()).unwrap(), None).unwrap();
    let known = learn("http_a{code=\"1\"} 1\nhttp_b 2\n");
    let before: Vec<_> = known.iter().map(|object| (object.offset, object.counters.len())).collect();
    // A metric for each of the two objects, another object, and one that the endpoint has no more.
    let now = learn("http_a{code=\"1\"} 1\nhttp_c{code=\"1\"} 1\nhttp_d 4\nother_e{x=\"1\"} 5\n");
    let (catalog, new) = extended(&known, now).unwrap();
    let last = known.iter().map(|object| object.counters.last().unwrap().offset).max().unwrap();
    assert_eq!(new.iter().copied().collect::<Vec<_>>(), (1..=4).map(|n| last + 2 * n).collect::<Vec<_>>());
    for ((offset, counters), (old, object)) in before.iter().zip(known.iter().zip(&catalog)) {
        assert_eq!((object.offset, object.counters.len(), &object.name), (*offset, counters + 1, &old.name));
        assert_eq!(object.counters[..*counters], old.counters[..]);
    }
    assert_eq!((catalog.len(), catalog[2].name.as_str()), (3, "web other by x"));
    // Nothing is new any more.
    let again = learn("http_a{code=\"1\"} 1\nhttp_c{code=\"1\"} 1\nhttp_d 4\nother_e{x=\"1\"} 5\n");
    assert_eq!(extended(&catalog, again), Ok((catalog.clone(), BTreeSet::new())));
    // Metrics that share two words now have an object of their own; the known one stays where it is.
    let known = learn("go_gc_a 1\n");
    let (catalog, new) = extended(&known, learn("go_gc_a 1\ngo_gc_b 2\n")).unwrap();
    assert_eq!((catalog[0].clone(), new.len(), catalog[1].name.as_str()), (known[0].clone(), 2, "web go_gc"));
    // There is an end to it.
    let mut full = learn("one 1\n");
    full[0].counters[0].offset = HIGHEST_OFFSET;
    assert!(extended(&full, learn("one 1\ntwo 2\n")).is_err());
}
