//! A real server of object storage for tests: `moto` of PyPI, behind a check of signatures and rights like
//! that of Amazon.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::skip;

/// Starts the server on a port (0 takes a free one), with a bucket, a key for everything and one that may
/// only read. Signatures are checked with Amazon's own library, because moto computes wrong ones for encoded
/// paths and queries. moto looks whether a name is free before it gives it, so requests come one after the
/// other.
const SERVER: &str = r#"
import datetime, hashlib, json, re, sys, threading
try:
    import moto.server, werkzeug.serving
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
except ImportError as missing:
    print(json.dumps({"missing": str(missing)}), flush=True)
    sys.exit()
keys = {"AKIAWRITER": "W/secret+of=writer", "AKIAREADER": "R/secret+of=reader"}
def wrong(environment, body):
    header = lambda name: environment.get("HTTP_" + name.upper().replace("-", "_"), "")
    found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]*)/(\d{8})/([^/]*)/s3/aws4_request, "
                         r"SignedHeaders=([a-z0-9;-]*), Signature=([0-9a-f]{64})", header("authorization"))
    if not found:
        return "AccessDenied", "no signature", ""
    key, day, region, signed, signature = found.groups()
    if key not in keys:
        return "InvalidAccessKeyId", "there is no such key", ""
    if region != "us-east-1":
        return "AuthorizationHeaderMalformed", "the region is wrong", "<Region>us-east-1</Region>"
    date = datetime.datetime.strptime(header("x-amz-date") + "+0000", "%Y%m%dT%H%M%SZ%z")
    if abs(datetime.datetime.now(datetime.timezone.utc) - date) > datetime.timedelta(minutes=15):
        return "RequestTimeTooSkewed", "the difference is too large", ""
    if header("x-amz-content-sha256") != hashlib.sha256(body).hexdigest():
        return "XAmzContentSHA256Mismatch", "the body is another one", ""
    request = AWSRequest(method=environment["REQUEST_METHOD"], url=address + environment["RAW_URI"],
                         headers={name: header(name) for name in signed.split(";")})
    request.context["timestamp"] = header("x-amz-date")
    signer = S3SigV4Auth(Credentials(key, keys[key]), "s3", region)
    canonical = signer.canonical_request(request)
    if signer.signature(signer.string_to_sign(request, canonical), request) != signature:
        return "SignatureDoesNotMatch", canonical, ""
    if key == "AKIAREADER" and environment["REQUEST_METHOD"] != "GET":
        return "AccessDenied", "this key may only read", ""
lock = threading.Lock()
class Checked:
    def __call__(self, environment, begin):
        body = environment["wsgi.input"].read(int(environment.get("CONTENT_LENGTH") or 0))
        environment["wsgi.input"] = __import__("io").BytesIO(body)
        refused = wrong(environment, body)
        if refused:
            code, message, more = refused
            message = message.replace("&", "+")
            text = f"<Error><Code>{code}</Code><Message>{message}</Message>{more}</Error>".encode()
            status = "400 Bad Request" if more else "403 Forbidden"
            begin(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(text)))])
            return [text]
        with lock:
            return [b"".join(app(environment, begin))]
class Quiet(werkzeug.serving.WSGIRequestHandler):
    protocol_version = "HTTP/1.1"
    def log(self, *words):
        pass
app = moto.server.DomainDispatcherApplication(moto.server.create_backend_app)
make = werkzeug.serving.make_server
server = make("127.0.0.1", int(sys.argv[1]), Checked(), threaded=True, request_handler=Quiet)
address = f"http://127.0.0.1:{server.server_port}"
from moto.s3.models import s3_backends
s3_backends["123456789012"]["aws"].create_bucket("lakes", "us-east-1")
threading.Thread(target=server.serve_forever, daemon=True).start()
ids = list(keys)
print(json.dumps({"address": address, "keys": [ids[0], keys[ids[0]], ids[1], keys[ids[1]]]}), flush=True)
sys.stdin.read()
"#;

/// A server with the bucket `lakes`. Dropping it ends it, and everything in it.
pub struct ObjectStorage {
    child: Child,
    /// The address of the server.
    pub address: String,
    /// The name and the secret of a key that may do everything.
    pub writer: [String; 2],
    /// Those of one that may read and list.
    pub reader: [String; 2],
}

impl ObjectStorage {
    /// Starts a server on a free port; `None`, and a skip, without moto.
    pub fn start() -> Option<ObjectStorage> {
        ObjectStorage::on(0)
    }

    /// The same on a port.
    ///
    /// # Panics
    ///
    /// The server does not start, though moto is there.
    pub fn on(port: u16) -> Option<ObjectStorage> {
        let child = Command::new("python3")
            .args(["-c", SERVER, &port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else {
            skip("python3 is not here");
            return None;
        };
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            // Without a line it did not start, see below.
            let _ = BufReader::new(out).read_line(&mut line);
        }
        // No parser of JSON is needed for texts without escapes.
        let texts: Vec<String> = line.split('"').skip(1).step_by(2).map(str::to_owned).collect();
        match texts.as_slice() {
            [missing, why] if missing == "missing" => {
                let _ = child.wait();
                skip(&format!("the server of object storage (pip install 'moto[server]'): {why}"));
                None
            }
            [_, address, _, id, secret, reader, of_reader] => Some(ObjectStorage {
                address: address.clone(),
                writer: [id.clone(), secret.clone()],
                reader: [reader.clone(), of_reader.clone()],
                child,
            }),
            _ => panic!("the server did not start: {line:?}"),
        }
    }

    /// The variables by which a program finds the server and may write.
    pub fn variables(&self) -> [(&'static str, String); 4] {
        let [id, secret] = self.writer.clone();
        [
            ("AWS_ENDPOINT_URL", self.address.clone()),
            ("AWS_ACCESS_KEY_ID", id),
            ("AWS_SECRET_ACCESS_KEY", secret),
            ("AWS_REGION", "us-east-1".to_owned()),
        ]
    }
}

impl Drop for ObjectStorage {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
