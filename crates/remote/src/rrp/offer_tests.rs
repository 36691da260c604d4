use super::*;
use crate::asynchronous;

/// Keeps what is sent, and answers nothing.
struct Kept(Arc<Mutex<Vec<u8>>>);

#[async_trait]
impl TransportSend for Kept {
    async fn send(&self, data: &[u8]) -> smb2::Result<()> {
        self.0.lock().unwrap().extend_from_slice(data);
        Ok(())
    }
}

#[async_trait]
impl TransportReceive for Kept {
    async fn receive(&self) -> smb2::Result<Vec<u8>> {
        Err(smb2::Error::invalid_data("nobody answers"))
    }
}

/// What the crate sends first.
fn first_message() -> Vec<u8> {
    let kept: Arc<Mutex<Vec<u8>>> = Arc::default();
    let halves = (Box::new(Kept(Arc::clone(&kept))), Box::new(Kept(Arc::clone(&kept))));
    let asked = asynchronous::run(async {
        let mut connection = Connection::from_transport(halves.0, halves.1, "far");
        connection.negotiate().await.is_err()
    });
    assert!(asked.unwrap());
    kept.lock().unwrap().clone()
}

fn capabilities(message: &[u8]) -> Capabilities {
    let mut cursor = ReadCursor::new(message);
    Header::unpack(&mut cursor).unwrap();
    NegotiateRequest::unpack(&mut cursor).unwrap().capabilities
}

/// Today's behaviour of the crate. When a version says it, this fails: then see
/// `docs/upstream/smb2-encryption-capability.md` for what can go here.
#[test]
fn smb2_does_not_say_yet_that_it_can_encrypt() {
    let message = first_message();
    assert!(!capabilities(&message).contains(Capabilities::ENCRYPTION));
    let changed = with_encryption(&message);
    assert!(capabilities(&changed).contains(Capabilities::ENCRYPTION));
    // Nothing else is changed: the bit is in one byte.
    let differ = message.iter().zip(&changed).filter(|(before, after)| before != after).count();
    assert_eq!((message.len(), differ), (changed.len(), 1));
}
