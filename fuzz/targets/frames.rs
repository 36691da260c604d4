//! Any bytes as frames between machines. A frame that is read is written as the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_remote::frames::{Answer, Question, read_frame, read_greeting};

fuzz_target!(|bytes: &[u8]| {
    let _ = read_greeting(&mut &*bytes);
    let input = &mut &*bytes;
    while let Ok(body) = read_frame(input) {
        if let Ok(question) = Question::decode(&body) {
            let again = Question::decode(&question.encode()).unwrap();
            assert_eq!(again, question);
        }
        if let Ok(answer) = Answer::decode(&body) {
            assert_eq!(Answer::decode(&answer.encode()).unwrap(), answer);
        }
    }
});
