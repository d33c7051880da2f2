//! Any bytes as a mesh config: no panic in parsing, checking, drawing or reporting.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tx::format::mesh::{Drawing, Loaded, draw, parse};
use tx::format::report::report;

fuzz_target!(|bytes: &[u8]| {
    let Loaded {
        mesh, diagnostics, ..
    } = parse(bytes);
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    report("config.yaml", text, &diagnostics, false);
    match mesh {
        Some(mesh) => {
            for drawing in [Drawing::Text, Drawing::Mermaid, Drawing::Dot] {
                draw(&mesh, drawing);
            }
        }
        None => assert!(!diagnostics.is_empty()),
    }
});
