//! Calibration: what agents claim about their work, compared with what gates found.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::MessageRecord;
use crate::journal::{Error, History};
use crate::model::{Address, GateVerdict, Grade};

/// With fewer cases than this, figures mean little.
pub(crate) const FEW: usize = 5;
/// The number of cases in a trend.
const TREND: usize = 40;

/// One agent at one gate.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Calibration {
    pub(crate) agent: Address,
    pub(crate) gate: String,
    /// The number of outcomes that the gate checked.
    pub(crate) cases: usize,
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) errors: usize,
    /// The share of passed outcomes among those that the gate could decide; `None` if there are
    /// none.
    pub(crate) pass_rate: Option<f64>,
    /// The average claimed confidence.
    pub(crate) claimed_confidence: Option<f64>,
    /// How often each grade was claimed, and how often it passed.
    pub(crate) grades: Vec<GradeCount>,
    /// There are fewer than five cases, so figures mean little.
    pub(crate) too_few: bool,
    /// The newest verdicts, oldest first.
    pub(crate) trend: Vec<GateVerdict>,
}

/// A claimed grade.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GradeCount {
    pub(crate) grade: Grade,
    pub(crate) claimed: usize,
    pub(crate) passed: usize,
}

/// The calibration of all agents, of a mesh, or of an agent.
pub(crate) fn calibration(history: History, of: Option<&str>) -> Result<Vec<Calibration>, Error> {
    let is_meant =
        |agent: &Address| of.is_none_or(|of| agent.mesh.as_str() == of || agent.to_string() == of);
    let mut cases: BTreeMap<(Address, String), Vec<Case>> = BTreeMap::new();
    for facts in history.with_quality()? {
        let MessageRecord {
            from,
            quality: Some(quality),
            ..
        } = facts
        else {
            continue;
        };
        for report in quality.reports.iter().filter(|_| is_meant(&from)) {
            let key = (from.clone(), report.gate.clone());
            let (grade, confidence) = (quality.grade, quality.confidence);
            let verdict = report.verdict;
            cases.entry(key).or_default().push(Case {
                verdict,
                grade,
                confidence,
            });
        }
    }
    let all = cases.into_iter();
    Ok(all
        .map(|((agent, gate), cases)| Calibration::of(agent, gate, &cases))
        .collect())
}

struct Case {
    verdict: GateVerdict,
    grade: Option<Grade>,
    confidence: Option<f64>,
}

impl Calibration {
    fn of(agent: Address, gate: String, cases: &[Case]) -> Calibration {
        let count = |verdict| cases.iter().filter(|case| case.verdict == verdict).count();
        let (passed, failed) = (count(GateVerdict::Pass), count(GateVerdict::Fail));
        let told = passed + failed;
        let claims: Vec<f64> = cases.iter().filter_map(|case| case.confidence).collect();
        let mut grades: Vec<GradeCount> = Vec::new();
        for grade in [Grade::A, Grade::B, Grade::C, Grade::D, Grade::E, Grade::F] {
            let of = || cases.iter().filter(|case| case.grade == Some(grade));
            if of().next().is_some() {
                let passed = of()
                    .filter(|case| case.verdict == GateVerdict::Pass)
                    .count();
                let claimed = of().count();
                grades.push(GradeCount {
                    grade,
                    claimed,
                    passed,
                });
            }
        }
        let from = cases.len().saturating_sub(TREND);
        Calibration {
            agent,
            gate,
            cases: cases.len(),
            passed,
            failed,
            errors: count(GateVerdict::Error),
            pass_rate: (told > 0).then(|| passed as f64 / told as f64),
            claimed_confidence: (!claims.is_empty())
                .then(|| claims.iter().sum::<f64>() / claims.len() as f64),
            grades,
            too_few: cases.len() < FEW,
            trend: cases[from..].iter().map(|case| case.verdict).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_held_against_verdicts_and_few_cases_say_so() {
        let case = |verdict, grade, confidence| Case {
            verdict,
            grade,
            confidence,
        };
        let cases = [
            case(GateVerdict::Fail, Some(Grade::A), Some(0.9)),
            case(GateVerdict::Pass, Some(Grade::A), Some(0.7)),
            case(GateVerdict::Error, None, None),
        ];
        let found = Calibration::of("dev/a".parse().unwrap(), "tests".into(), &cases);
        assert_eq!(
            (found.cases, found.passed, found.failed, found.errors),
            (3, 1, 1, 1)
        );
        assert_eq!(found.pass_rate, Some(0.5));
        assert_eq!(found.claimed_confidence, Some(0.8));
        assert_eq!((found.grades[0].claimed, found.grades[0].passed), (2, 1));
        assert!(found.too_few);
    }
}
