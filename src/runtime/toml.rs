//! JSON as an inline value of TOML, for agent CLIs that take their settings as arguments.

use serde_json::Value;

/// One line of TOML. Null values are left out, because TOML has none.
pub fn toml(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".into(),
        // A JSON string is also a TOML string, except for one character.
        Value::String(_) => value.to_string().replace('\u{7f}', "\\u007f"),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) => {
            let items = items.iter().filter(|item| !item.is_null()).map(toml);
            format!("[{}]", items.collect::<Vec<_>>().join(","))
        }
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields = fields.map(|(key, value)| {
                let key = toml(&Value::from(key.as_str()));
                format!("{key}={}", toml(value))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn servers_are_one_inline_table() {
        let servers = json!({
            "my fs": {"command": "npx", "args": ["-y", "say \"é\"\n\u{7f}"], "env": {"KEY": "v"}},
            "web": {"url": "http://x", "n": 1, "on": true, "none": null},
        });
        let expected = r#"{"my fs"={"command"="npx","args"=["-y","say \"é\"\n\u007f"],"env"={"KEY"="v"}},"web"={"url"="http://x","n"=1,"on"=true}}"#;
        assert_eq!(toml(&servers), expected);
    }
}
