//! Any bytes as a message file: no panic, and what is accepted renders and parses back equal.
#![no_main]

use chrono::DateTime;
use libfuzzer_sys::fuzz_target;
use tx::format::message::{Origin, Parsed, parse};
use tx::format::render::render;
use tx::format::report::report;

fuzz_target!(|bytes: &[u8]| {
    let origin = Origin {
        name: "x.md".into(),
        modified: DateTime::UNIX_EPOCH.fixed_offset(),
    };
    let text = String::from_utf8_lossy(bytes);
    match parse(bytes, &origin) {
        Parsed::Message(read) => {
            report("x.md", &text, &read.warnings, false);
            let again = parse(render(&read.message).as_bytes(), &origin);
            assert!(matches!(&again, Parsed::Message(second) if second.message == read.message));
        }
        Parsed::Rejected(why) | Parsed::Incomplete(why) => {
            assert!(!why.diagnostics.is_empty());
            report("x.md", &text, &why.diagnostics, false);
        }
    }
});
