//! Values of `set` and conditions of `when`.

use super::*;

fn value_of(text: &str, variables: &[(&str, &str)]) -> String {
    let message = json!({"from": "core/core", "headline": "Do it", "mode": "fast"});
    let rearmatter = json!({"signal": "PASS", "n": 3, "list": [{"x": 1}, {"x": 2.50}], "gone": null, "flag": true, "deep": {"a b": "c"}});
    let (Value::Object(message), Value::Object(rearmatter)) = (message, rearmatter) else {
        unreachable!()
    };
    let environment = [("workspace".to_owned(), "out/x".to_owned())];
    let facts = Facts {
        status: "complete",
        state: "s",
        visit: 2,
        headline: "h",
        message: &message,
        rearmatter: &rearmatter,
        environment: &environment,
    };
    let lookup = |name: &VariableName| {
        let found = variables.iter().find(|(known, _)| *known == name.as_str());
        found.map(|(_, value)| (*value).to_owned())
    };
    match expression(text).evaluate(&facts, &lookup) {
        Evaluated::Text(text) => text,
        Evaluated::Copy(name) => lookup(name).unwrap(),
        Evaluated::EnsembleOutput => "<ensemble>".into(),
        Evaluated::Script(text) => format!("<bash {text}>"),
        Evaluated::Failed(why) => format!("<failed: {why}>"),
    }
}

#[test]
fn values_are_computed_without_a_shell() {
    let variables = [
        ("a", "4"),
        ("b", "3"),
        ("t", "x; rm -rf /"),
        ("mesh", "m"),
        ("agent", "w"),
    ];
    for (text, expected) in [
        ("plain", "plain"),
        ("$((a + 1))", "5"),
        ("$(($a - ${b} * 2))", "-2"),
        ("$(( (a + b) * 2 ))", "14"),
        ("$((a / 0))", "<failed: division by zero>"),
        ("$((a % 0))", "<failed: division by zero>"),
        (
            "$((9223372036854775807 + a))",
            "<failed: the number is too large>",
        ),
        ("$((t + 1))", "<failed: `t` is not a whole number>"),
        ("$((none + 1))", "<failed: `none` is not a whole number>"),
        ("$((-a))", "-4"),
        ("$a + 1", "5"),
        ("$a - $b", "1"),
        ("$a-$b", "4-3"),
        ("$mesh/$agent", "m/w"),
        ("${mesh}_x", "m_x"),
        ("$none", ""),
        ("costs $5", "costs $5"),
        ("$t", "x; rm -rf /"),
        ("say $t", "say x; rm -rf /"),
        ("$workspace/a.md", "out/x/a.md"),
        ("$(echo '$rearmatter' | yq '.signal')", "PASS"),
        ("$(echo \"$rearmatter\" | jq -r '.n')", "3"),
        ("$(echo \"$REARMATTER\" | yq -r .flag)", "true"),
        ("$(echo $rearmatter | yq '.list[1].x')", "2.5"),
        ("$(echo '$rearmatter' | yq '.list[-1].x')", "2.5"),
        ("$(echo '$rearmatter' | jq '.deep[\"a b\"]')", "c"),
        ("$(echo '$rearmatter' | jq '.deep.\"a b\"')", "c"),
        ("$(echo '$rearmatter' | yq '.gone // \"x\"')", "x"),
        ("$(echo '$rearmatter' | yq '.none // 0')", "0"),
        ("$(echo '$rearmatter' | yq '.none')", ""),
        (
            "$(echo '$rearmatter' | yq '.list')",
            r#"[{"x":1},{"x":2.5}]"#,
        ),
        ("$(echo '$message' | yq '.mode')", "fast"),
        ("$(echo '$message' | yq '.mode' 2>/dev/null)", "fast"),
        ("$ENSEMBLE_OUTPUT", "<ensemble>"),
        ("$(date +%s)", "<bash date +%s>"),
        ("$(cat $(ls | head -1))", "<bash cat $(ls | head -1)>"),
        ("$(a)-$(b)", "<bash $(a)-$(b)>"),
        ("cat x | wc -l", "<bash cat x | wc -l>"),
        (
            "$(echo '$rearmatter' | yq '.a | length')",
            "<bash echo \"$rearmatter\" | yq '.a | length'>",
        ),
    ] {
        assert_eq!(value_of(text, &variables), expected, "{text}");
    }
}

#[test]
fn a_condition_reads_the_outcome_then_variables_then_rearmatter() {
    let message = Map::new();
    let Value::Object(rearmatter) = json!({"signal": "REFINE", "retry": 9, "list": [1]}) else {
        unreachable!()
    };
    let facts = Facts {
        status: "needs-work",
        state: "s",
        visit: 3,
        headline: "It is",
        message: &message,
        rearmatter: &rearmatter,
        environment: &[],
    };
    let variables = |name: &VariableName| match name.as_str() {
        "retry" => Some("2".into()),
        "max" => Some("3".into()),
        "status" => Some("never read".into()),
        "empty" => Some(String::new()),
        _ => None,
    };
    for (text, expected) in [
        ("true", Some(true)),
        ("false", Some(false)),
        ("signal == \"REFINE\"", Some(true)),
        ("signal == 'REFINE'", Some(true)),
        ("signal == REFINE", Some(true)),
        ("signal==REFINE", Some(true)),
        ("$signal != PASS", Some(true)),
        ("signal == refine", Some(false)),
        ("status == needs-work", Some(true)),
        ("visit >= 3", Some(true)),
        ("state == s", Some(true)),
        ("headline == \"It is\"", Some(true)),
        ("retry < 3", Some(true)),
        ("retry < $max", Some(true)),
        ("\"$retry\" <= \"$max\"", Some(true)),
        ("retry >= 10", Some(false)),
        ("retry == 2", Some(true)),
        ("retry == 2.0", Some(false)),
        ("retry <= 2.5", Some(true)),
        ("signal < 3", Some(false)),
        ("none == \"\"", Some(true)),
        ("empty != \"\"", Some(false)),
        ("none > 1", Some(false)),
        ("list == \"\"", Some(true)),
        ("a = b", None),
        ("a && b", None),
        ("a == b && c == d", None),
        ("a == 'b", None),
        ("[ -f x ]", None),
        ("", None),
        ("signal", None),
    ] {
        let holds = condition(text).map(|condition| condition.holds(&facts, &variables));
        assert_eq!(holds, expected, "{text}");
    }
}

proptest! {
    /// No text that an agent wrote can become a script or change what is computed around it.
    #[test]
    fn what_an_agent_wrote_is_only_ever_text(hostile in any::<String>()) {
        let variables = [("t", hostile.as_str())];
        prop_assert_eq!(value_of("$t", &variables), hostile.clone());
        prop_assert_eq!(value_of("a $t b", &variables), format!("a {hostile} b"));
        let sum = value_of("$((t + 1))", &variables);
        match hostile.trim().parse::<i64>() {
            Ok(number) if number < i64::MAX => prop_assert_eq!(sum, (number + 1).to_string()),
            _ => prop_assert!(sum.starts_with("<failed"), "{}", sum),
        }
    }

    /// Parsing ends, and text without a sign of the shell comes back as it is.
    #[test]
    fn any_text_is_a_value(text in any::<String>()) {
        let value = value_of(&text, &[]);
        if !text.contains(['$', '|', '&', ';', '<', '>', '(', ')', '`']) {
            prop_assert_eq!(value, text);
        }
    }

    #[test]
    fn parts_of_a_text_are_all_of_it(text in any::<String>()) {
        let written: String = text_parts(&text).iter().map(|part| match part {
            crate::model::TextPart::Literal(text) => text.clone(),
            crate::model::TextPart::Variable(name) => format!("${{{}}}", name.as_str()),
        }).collect();
        let plain = |text: &str| text.replace(['{', '}'], "");
        prop_assert_eq!(plain(&written), plain(&text));
    }

    #[test]
    fn sums_are_those_of_whole_numbers(a in -1000_i64..1000, b in -1000_i64..1000, c in 1_i64..50) {
        let (x, y, z) = (a.to_string(), b.to_string(), c.to_string());
        let variables = [("a", x.as_str()), ("b", y.as_str()), ("c", z.as_str())];
        prop_assert_eq!(value_of("$((a + b * c))", &variables), (a + b * c).to_string());
        prop_assert_eq!(value_of("$(((a - b) / c % 7))", &variables), ((a - b) / c % 7).to_string());
        prop_assert_eq!(value_of("$a - $b - $c", &variables), (a - b - c).to_string());
    }

    #[test]
    fn any_text_is_a_condition_or_none(text in any::<String>()) {
        let _ = condition(&text);
    }
}
