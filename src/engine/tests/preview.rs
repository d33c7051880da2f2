//! What a message will be is told before it is sent, by its text and the table alone.

use super::play::mesh;
use crate::engine::{Unsendable, preview};
use crate::format::mesh::parse;
use crate::model::{Address, Directory, Envelope, Kind, Line};

const TABLE: &str = "routing:\n  a: { complete: { b: go on }, failed: { core: look } }\n";

/// A message of `from` to `to`, with the fields that matter.
fn message(from: &str, edit: impl FnOnce(&mut Envelope)) -> Envelope {
    let headline = Line::from("h".to_owned());
    let at = chrono::DateTime::UNIX_EPOCH.fixed_offset();
    let mut envelope = Envelope::new(from.parse().unwrap(), "m".parse().unwrap(), headline, at);
    edit(&mut envelope);
    envelope
}

#[test]
fn the_kind_is_that_of_the_text_and_the_table() {
    let text = mesh("dev", &["a", "b"], TABLE);
    let mesh = parse(text.as_bytes()).mesh.unwrap();
    let directory: Directory = [&mesh].into_iter().collect();
    let kind = |envelope: &Envelope, to: &str, answers: Option<&str>| {
        let to: Address = to.parse().unwrap();
        let answers = answers.map(|id| id.parse().unwrap());
        preview(envelope, &to, answers.as_ref(), Some(&mesh), &directory)
    };
    let status = |word: &str| message("dev/a", |e| e.status = word.parse().ok());
    let plain = |from: &str| message(from, |_| {});
    let reply = message("dev/a", |e| e.in_reply_to = vec!["q".parse().unwrap()]);
    let paid = message("dev/a", |e| {
        e.status = "complete".parse().ok();
        e.in_reply_to = vec!["t".parse().unwrap()];
    });
    let lifecycle = message("core/core", |e| e.kind = Some(Kind::Lifecycle));
    for (envelope, to, answers, expected) in [
        (plain("core/core"), "dev/a", None, Ok(Kind::Task)),
        (
            plain("core/core"),
            "dev/a",
            Some("q"),
            Ok(Kind::AskResponse),
        ),
        (plain("dev/a"), "core/core", None, Ok(Kind::AskHuman)),
        (plain("dev/a"), "dev/b", None, Ok(Kind::Ask)),
        (reply, "dev/b", None, Ok(Kind::AskResponse)),
        (
            status("complete"),
            "dev/dispatch",
            None,
            Ok(Kind::TaskComplete),
        ),
        (paid, "dev/dispatch", None, Ok(Kind::TaskComplete)),
        (status("blocked"), "dev/dispatch", None, Ok(Kind::AskHuman)),
        (status("splendid"), "dev/dispatch", None, Err("table")),
        (lifecycle, "dev/a", None, Err("never")),
    ] {
        let found = kind(&envelope, to, answers).map_err(|why| match why {
            Unsendable::Never(_) => "never",
            Unsendable::ByTable(_) => "table",
        });
        assert_eq!(found, expected, "{envelope:?} to {to}");
    }
}
