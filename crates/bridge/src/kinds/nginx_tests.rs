use super::*;

#[test]
fn only_whole_pages_of_nginx_are_read() {
    // From the documentation of ngx_http_stub_status_module.
    let page = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630946 31070465 \n\
                Reading: 6 Writing: 179 Waiting: 106 \n";
    let metrics = of_page(page.as_bytes()).unwrap();
    let value = |name: &str| {
        metrics.series.iter().find(|series| series.metric == name).and_then(|series| series.value.whole)
    };
    for (name, wanted) in [
        ("nginx_active", 291),
        ("nginx_accepts", 16_630_948),
        ("nginx_dropped", 2),
        ("nginx_requests", 31_070_465),
        ("nginx_requests_ratio_sum", 31_070_465),
        ("nginx_requests_ratio_count", 16_630_946),
        ("nginx_waiting", 106),
    ] {
        assert_eq!(value(name), Some(wanted), "{name}");
    }
    for end in 0..page.find("106").unwrap() {
        assert!(of_page(&page.as_bytes()[..end]).is_err(), "{end}");
    }
    for other in ["<html>", &page.replace("291", "-1"), &page.replace("179", "99999999999999999999")] {
        assert!(of_page(other.as_bytes()).unwrap_err().contains("stub_status"), "{other}");
    }
}
