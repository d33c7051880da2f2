//! The JSON stream of an agent CLI that lives for one turn, as lines for people: what it says,
//! which tool it uses, and on what. The stream itself is stored unchanged.

use serde_json::Value;

/// The most informative fields of a tool's input, in order of preference.
const TELLING: [&str; 7] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "pattern",
    "url",
];
/// How many characters of a tool's input are shown.
const MAX: usize = 160;

/// What one line of a stream says to people, if anything. A line that is not JSON is shown as it
/// is.
pub fn shown(line: &str) -> Option<String> {
    let line = line.trim_end();
    let Ok(Value::Object(event)) = serde_json::from_str(line) else {
        // A line that was cut off.
        let is_broken = line.starts_with('{') || line.is_empty();
        return (!is_broken).then(|| line.to_owned());
    };
    let event = Value::Object(event);
    let parts = match event["type"].as_str()? {
        // claude, pi
        "assistant" | "message_end" => {
            let message = &event["message"];
            if message["role"]
                .as_str()
                .is_some_and(|role| role != "assistant")
            {
                return None;
            }
            message["content"]
                .as_array()?
                .iter()
                .filter_map(part)
                .collect()
        }
        // codex
        "item.completed" => vec![item(&event["item"])?],
        // gemini
        "message" if event["role"] == "assistant" => vec![text(&event["content"])?],
        "tool_use" if event["part"].is_null() => {
            vec![tool(&event["tool_name"], &event["parameters"])]
        }
        // opencode
        "text" => vec![text(&event["part"]["text"])?],
        "tool_use" => {
            let part = &event["part"];
            vec![tool(&part["tool"], &part["state"]["input"])]
        }
        "error" | "turn.failed" => {
            let error = &event["error"];
            let said = text(&error["message"]).or_else(|| text(&event["message"]));
            vec![format!("✗ {}", said?)]
        }
        _ => return None,
    };
    let parts: Vec<String> = parts;
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// The agent's last message in a whole stream; `None` if there is none, or this is not a stream.
pub fn last_answer(stream: &str) -> Option<String> {
    stream.lines().rev().find_map(|line| {
        let event: Value = serde_json::from_str(line).ok()?;
        match event["type"].as_str()? {
            "assistant" | "message_end" => {
                let content = event["message"]["content"].as_array()?.iter();
                let texts: Vec<String> = content.filter_map(|part| text(&part["text"])).collect();
                (!texts.is_empty()).then(|| texts.join("\n"))
            }
            "item.completed" if event["item"]["type"] == "agent_message" => {
                text(&event["item"]["text"])
            }
            "message" if event["role"] == "assistant" => text(&event["content"]),
            "text" => text(&event["part"]["text"]),
            _ => None,
        }
    })
}

/// A part of a message.
fn part(part: &Value) -> Option<String> {
    match part["type"].as_str()? {
        "text" => text(&part["text"]),
        "tool_use" => Some(tool(&part["name"], &part["input"])),
        "toolCall" => Some(tool(&part["name"], &part["arguments"])),
        _ => None,
    }
}

/// An item of codex.
fn item(item: &Value) -> Option<String> {
    match item["type"].as_str()? {
        "agent_message" => text(&item["text"]),
        "command_execution" => Some(tool(&Value::from("shell"), item)),
        "file_change" => {
            let changes = item["changes"].as_array()?.iter();
            let paths: Vec<&str> = changes
                .filter_map(|change| change["path"].as_str())
                .collect();
            Some(format!("● edit  {}", paths.join(", ")))
        }
        "mcp_tool_call" => Some(tool(&item["tool"], &item["arguments"])),
        _ => None,
    }
}

fn text(text: &Value) -> Option<String> {
    let text = text.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn tool(name: &Value, input: &Value) -> String {
    let name = name.as_str().unwrap_or("tool");
    let telling = TELLING.iter().find_map(|field| input[*field].as_str());
    let on = telling.map_or_else(
        || match input {
            Value::Null => String::new(),
            input => input.to_string(),
        },
        str::to_owned,
    );
    let on = on.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = on.chars().take(MAX).collect();
    let more = if short.len() < on.len() { "…" } else { "" };
    format!("● {name}  {short}{more}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_answer_of_a_stream_is_found_behind_what_follows_it() {
        let stream = concat!(
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"First."}]}}"#,
            "\n",
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Done."}]}}"#,
            "\n",
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Read","input":{}}]}}"#,
            "\n",
            r#"{"type":"result","subtype":"success"}"#,
            "\n"
        );
        assert_eq!(last_answer(stream).as_deref(), Some("Done."));
        assert_eq!(last_answer("plain words\n"), None);
    }

    #[test]
    fn each_stream_is_lines_for_people() {
        for (line, expected) in [
            (
                r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","name":"Read","input":{"file_path":"/p/x.md"}}]}}"#,
                Some("I look.\n● Read  /p/x.md"),
            ),
            (r#"{"type":"system","subtype":"init","cwd":"/p"}"#, None),
            (
                r#"{"type":"item.completed","item":{"type":"command_execution","command":"bash -lc 'ls'","exit_code":0}}"#,
                Some("● shell  bash -lc 'ls'"),
            ),
            (
                r#"{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}"#,
                Some("Done."),
            ),
            (
                r#"{"type":"tool_use","tool_name":"write_file","parameters":{"path":"a","content":"x"}}"#,
                Some("● write_file  a"),
            ),
            (
                r#"{"type":"text","sessionID":"ses_1","part":{"type":"text","text":"Hi"}}"#,
                Some("Hi"),
            ),
            (
                r#"{"type":"tool_use","part":{"tool":"bash","state":{"input":{"command":"ls\n-l"}}}}"#,
                Some("● bash  ls -l"),
            ),
            (
                r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"toolCall","name":"write","arguments":{"path":"a"}}]}}"#,
                Some("● write  a"),
            ),
            (r#"{"type":"error","message":"no"}"#, Some("✗ no")),
            ("plain words", Some("plain words")),
            (r#"{"type":"assistant","mess"#, None),
            ("", None),
        ] {
            assert_eq!(shown(line).as_deref(), expected, "{line}");
        }
    }
}
