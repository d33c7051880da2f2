//! Diagnostics: what is wrong with a text, where, and what to do about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One finding in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The code, which also gives the severity.
    pub code: Code,
    /// What was expected and what was found.
    pub message: String,
    /// What to do about it. Never empty.
    pub hint: String,
    /// The place in the file.
    pub place: Location,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// First byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// Line of the first byte, from 1.
    pub line: usize,
    /// Column of the first byte, from 1, in characters.
    pub column: usize,
}

/// What a diagnostic means for the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file is not accepted.
    Error,
    /// The file is accepted, but does not mean what its author may think.
    Warning,
}

impl Code {
    /// Whether a part of the mesh is ignored, so that it does not work as its author expects.
    pub fn leaves_out(self) -> bool {
        matches!(
            self,
            Code::WrongShape
                | Code::OutsideProject
                | Code::UnknownRow
                | Code::LeadsNowhere
                | Code::UnknownComplete
                | Code::SaidTwice
                | Code::UntestedVersion
        )
    }
}

impl Diagnostic {
    /// Whether the file is rejected because of it.
    pub fn is_error(&self) -> bool {
        self.code.is_error()
    }
}

/// One row for each code: name, stable id, severity and meaning.
macro_rules! codes {
    ($($name:ident $id:literal $severity:ident $meaning:literal)*) => {
        /// The stable code of a diagnostic. Codes are never reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Code {
            $(#[doc = $meaning] #[serde(rename = $id)] $name,)*
        }

        impl Code {
            /// Every code, in order.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// The code as shown: `TX0102`.
            pub fn id(self) -> &'static str {
                match self { $(Code::$name => $id),* }
            }

            /// What it means for the file.
            pub fn severity(self) -> Severity {
                match self { $(Code::$name => Severity::$severity),* }
            }

            /// Whether the file is rejected because of it.
            pub fn is_error(self) -> bool {
                self.severity() == Severity::Error
            }

            /// What it means, in a line, for the docs.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$name => $meaning),* }
            }
        }
    };
}

codes! {
    // The file.
    NotText          "TX0001" Error   "The file is not UTF-8 text."
    NoFrontmatter    "TX0002" Error   "The file does not start with a `---` line."
    FrontmatterOpen  "TX0003" Error   "The frontmatter is never closed by a `---` line."
    FileTooLarge     "TX0004" Error   "The file is larger than its limit (a message 1 MiB, a mesh config 256 KiB)."
    BlockTooLarge    "TX0005" Error   "The frontmatter or rearmatter is larger than 64 KiB."
    NotAFile         "TX0006" Error   "A folder, link, pipe or device, not a regular file."
    Unreadable       "TX0007" Error   "The file cannot be read."
    Empty            "TX0008" Error   "The file is empty."
    NotYaml          "TX0010" Error   "A block, or a mesh config, is not YAML."
    ReadByLine       "TX0011" Warning "A block is not YAML; each line was read as `key: text`."
    DuplicateKey     "TX0012" Error   "A key appears twice in one mapping."
    NotAMapping      "TX0013" Error   "`key: value` lines were expected."
    FenceOpen        "TX0014" Warning "A code fence is never closed, so it does not count as a fence."
    NotRearmatter    "TX0015" Warning "The last block looks like rearmatter and is not; it is part of the body."
    YamlTooDeep      "TX0016" Error   "The YAML nests too deep, or its aliases expand too far."
    MoreFindings     "TX0017" Warning "Some findings are not shown."
    BlankBefore      "TX0018" Warning "There are blank lines before the frontmatter."
    TextBefore       "TX0019" Warning "There is text before the frontmatter; it is ignored."
    InAFence         "TX0020" Warning "The message is inside a code fence; the fence is ignored."
    Indented         "TX0021" Warning "Every line of the message is indented."
    // The fields of a message.
    WrongField       "TX0101" Warning "A frontmatter field has an invalid value; it is ignored."
    WrongRearmatter  "TX0102" Warning "A rearmatter field has an unexpected value."
    MissingFrom      "TX0103" Error   "There is no `from`."
    MissingTo        "TX0104" Error   "There is neither a `to` nor a `status` to route by."
    BadAddress       "TX0105" Error   "An address is not of the form `mesh/agent`."
    MissingId        "TX0106" Warning "There is no `msg-id`; one was derived."
    MissingHeadline  "TX0107" Warning "There is no `headline`; the first heading or line of the body is taken."
    MissingTimestamp "TX0108" Warning "There is no `timestamp`; the file's own time is taken."
    UnknownKind      "TX0109" Warning "The `type` is unknown; it is inferred."
    FieldNotObeyed   "TX0110" Warning "A field of TX that tx keeps but ignores."
    BadFeature       "TX0111" Error   "The `feature` is not of the form `[a-z0-9][a-z0-9-]*`."
    OtherSpelling    "TX0112" Warning "A field in another spelling (`msg_id`), read as the right one."
    BadRouting       "TX0113" Error   "A field that decides where the message goes has an invalid value."
    NearMiss         "TX0114" Warning "An unknown field with a name that is almost that of a known one."
    CutComment       "TX0115" Warning "The `headline` ends at a ` #`, which begins a comment in YAML."
    AnswersItself    "TX0116" Error   "An ask to core would answer itself within 60 seconds, or grant a permission without the human."
    Decorated        "TX0117" Warning "An outcome word or an address has marks such as `**` around it; they are ignored."
    WriterKnown      "TX0118" Warning "There is no `from`, or only a bare name; the one agent that can have written it is taken."
    WrongSetting     "TX0120" Error   "A setting of the project is unknown or has an invalid value."
    // Addresses, looked up.
    UnknownAddress   "TX0201" Error   "There is no such agent or mesh."
    // A mesh that does not load.
    MissingMesh      "TX0303" Error   "The mesh has no `mesh` name."
    MissingAgents    "TX0304" Error   "The mesh has no `agents`."
    DuplicateAgent   "TX0305" Error   "Two agents have the same name."
    UnknownEntry     "TX0306" Error   "The `entry_point` names no agent of the mesh."
    BadThreshold     "TX0307" Error   "A threshold is out of range."
    NothingToRun     "TX0308" Error   "An agent has neither `prompt`, `command` nor `run`."
    BadName          "TX0309" Error   "A mesh or agent has no name, or one that cannot be part of an address."
    // A mesh that loads, with warnings.
    UnknownField     "TX0311" Warning "A field that tx does not know."
    NotObeyedYet     "TX0312" Warning "A field that is read but has no effect: tx does not support it yet, or this agent's runtime does not."
    WrongShape       "TX0313" Warning "A field has a value of the wrong type; it is ignored."
    PromptMissing    "TX0314" Error   "A prompt file does not exist."
    NameNotFolder    "TX0315" Warning "The mesh and its folder have different names."
    MeshTwice        "TX0316" Warning "Two folders have a mesh of this name; one of them is used."
    Runtime          "TX0317" Warning "The runtime is unknown, or cannot run this agent."
    UnknownPlaceholder "TX0318" Warning "tx does not know a placeholder in `run` or `workspace`."
    OutsideProject   "TX0319" Warning "A `workspace` leads out of the project; it is ignored."
    CannotRun        "TX0320" Error   "An agent or a gate cannot be run on this machine: its runtime, program or script is missing."
    NoUsage          "TX0321" Warning "A budget cannot be enforced: the agent's runtime does not report its usage."
    UntestedVersion  "TX0322" Warning "tx was not tested with the installed version of an agent CLI."
    ShellCharacters  "TX0323" Warning "A `run` line has words that only a shell understands, and no shell runs it."
    // The routing table, checked as a program.
    UnknownTarget    "TX0401" Error   "A route leads to an agent that does not exist."
    UnknownRow       "TX0402" Warning "A routing row is for an agent that does not exist."
    Unreachable      "TX0403" Warning "Nothing in the table leads to this agent."
    LeadsNowhere     "TX0404" Warning "A status has no target."
    NoWayOut         "TX0405" Warning "No outcome leads out of a loop of agents."
    NeverCompletes   "TX0406" Warning "No completion agent can reach core."
    UnknownComplete  "TX0407" Warning "A completion agent does not exist."
    NoJoin           "TX0408" Warning "A fan-out does not say which agent gets the results."
    NoEntryPoint     "TX0409" Warning "A mesh of several agents has no entry point."
    SaidTwice        "TX0411" Warning "A row, a status or a default is given twice; the first one counts."
    // Workflows: machines, blocks, manifests.
    NoInitialState   "TX0420" Warning "A machine has no `initial` state, or one that does not exist: its tasks are parked."
    UnknownState     "TX0421" Warning "A way out of a state leads to a state that does not exist."
    UnreachableState "TX0422" Warning "Nothing leads to this state."
    NoLastState      "TX0423" Warning "No last state can be reached from this state."
    EndlessStates    "TX0424" Warning "A loop of states without a condition or a gate: only `max_steps` ends it."
    BadValue         "TX0425" Warning "A condition, a value or the name of a variable cannot be used as it is."
    UnknownScript    "TX0426" Warning "A gate or `run` names a script that does not exist, or a script is not used."
    NoWayOutOfState  "TX0427" Warning "An `exit` does not always lead on, or a part of it is never read."
    StateAgents      "TX0428" Warning "An agent of a state or of a gate there does not exist, or is not in that state."
    RowNotRead       "TX0429" Warning "A row of the table says more than the machine reads."
    UnknownMember    "TX0440" Error   "A block names an agent that does not exist."
    NeverOpens       "TX0441" Warning "A block that never opens, or a member that opens its own block."
    BadBlock         "TX0442" Warning "A setting of a block has an invalid value."
    NoBrain          "TX0443" Warning "The agents may ask the mesh `brain`, and there is no such mesh."
    ManifestGap      "TX0444" Warning "A file of the manifest is missing when it is read, or cannot be found."
    BackToSelf       "TX0445" Warning "A route of the table leads back to its own agent, which cannot wake itself by its own message."
    WordNearMiss     "TX0446" Warning "A status of a row is almost `complete`, `error` or `blocked`, which the row does not list."
    PastTheGate      "TX0447" Warning "An outcome skips the gates of its agent, which check only `complete`."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_order() {
        let ids: Vec<_> = Code::ALL.iter().map(|code| code.id()).collect();
        assert!(ids.is_sorted());
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
