//! The table of a pane: the transition for each phase and signal. Every pair is named, also those
//! that do nothing.

/// The phase that a pane is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PanePhase {
    /// The process is being started, or what the pane shows is not known yet.
    Starting,
    /// The program is idle.
    Ready,
    /// A text waits for the moment to be pasted.
    Delivering,
    /// A text is in the pane, and must be submitted and taken.
    Submitted,
    /// The program works.
    Busy,
    /// The program asks a person.
    Dialog,
    /// The limit of its account is reached.
    Limited,
    /// The process is being ended.
    Ending,
    /// The process is gone.
    Gone,
}

/// The meaning of what was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PaneSignal {
    /// Start the process.
    Start,
    /// The process runs.
    Started,
    /// The process was found alive.
    Adopted,
    /// Deliver a text.
    Wanted,
    /// Interrupt the program.
    Interrupt,
    /// Report what the pane shows.
    Look,
    /// End the process.
    End,
    /// The screen may have changed.
    Changed,
    /// The program is idle, its prompt is empty, and nobody types.
    Idle,
    /// The program works.
    Busy,
    /// The program asks a person.
    Dialog,
    /// The limit of its account is reached.
    Limited,
    /// What the program does is not known, or a person uses the pane.
    Unknown,
    /// A hook says that the program has taken up a text.
    TakenUp,
    /// The turn has ended, as a hook or the outcome says.
    Ended,
    /// A hook waits that can be answered with a text.
    CanWake,
    /// The human has decided.
    Decided,
    /// The text is in the pane.
    Pasted,
    /// The text is not in the pane.
    NotPasted,
    /// Nobody knows whether the text is in the pane.
    PasteUnknown,
    /// Enter was pressed.
    Pressed,
    /// Enter was not pressed.
    NotPressed,
    /// The time of `Pane::due` has come.
    Due,
    /// The terminal is there.
    Terminal,
    /// The terminal is gone.
    NoTerminal,
    /// The process has ended.
    Exited,
}

/// What a signal leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PaneTransition {
    /// Start the process.
    Start,
    /// The process runs.
    Run,
    /// Go on with what was known of the process.
    Adopt,
    /// Keep the text until the pane is idle.
    Keep,
    /// Deliver the text, or wait for a moment to.
    Deliver,
    /// Interrupt the program, and give it the note.
    Interrupt,
    /// Report what the pane shows.
    TellAgain,
    /// Look at the pane.
    LookCloser,
    /// The pane seems idle. The second look in a row decides.
    SeemsIdle,
    /// The program works.
    GoesOn,
    /// The program asks a person.
    Ask,
    /// The limit of the account is reached.
    Limit,
    /// Look again if a text waits.
    Hold,
    /// Decide whether the text that waits can be pasted.
    Judge,
    /// Decide whether the program has taken the text.
    Confirm,
    /// The program has taken the text.
    TakeUp,
    /// The turn has ended.
    EndTurn,
    /// The text is in the pane.
    Given,
    /// The text is not in the pane.
    NotGiven,
    /// Find out whether the text is in the pane.
    FindOut,
    /// Pass the decision to the hook that asked.
    PassOn,
    /// Enter was pressed: watch the text until it is taken.
    Enter,
    /// The keys of the human's answer were pressed, or were not.
    Answered,
    /// Nobody knows whether the text was submitted.
    Unsure,
    /// Begin to end the process.
    BeginEnding,
    /// Send the next signal that should end the process.
    NextSignal,
    /// Go on without the terminal, or end the process.
    LoseTerminal,
    /// The process has ended: report it, once it is known whether the terminal went first.
    Exit,
    /// Report the exit.
    TellExit,
    /// Nothing: this is known already.
    AlreadyKnown,
    /// Nothing: it is too early for this.
    TooEarly,
    /// Nothing: it is too late for this.
    TooLate,
    /// Nothing: no such action is under way.
    NotUnderWay,
}

/// The transition for a phase and a signal.
pub fn decide(phase: PanePhase, seen: PaneSignal) -> PaneTransition {
    use PaneSignal as S;
    match phase {
        PanePhase::Starting => match seen {
            S::Start => PaneTransition::Start,
            S::Started => PaneTransition::Run,
            S::Adopted => PaneTransition::Adopt,
            S::Wanted => PaneTransition::Keep,
            S::Look => PaneTransition::TellAgain,
            S::End => PaneTransition::BeginEnding,
            S::Changed | S::Due => PaneTransition::LookCloser,
            S::Idle => PaneTransition::SeemsIdle,
            S::Busy => PaneTransition::GoesOn,
            S::TakenUp => PaneTransition::TakeUp,
            S::Dialog => PaneTransition::Ask,
            S::Limited => PaneTransition::Limit,
            S::Unknown => PaneTransition::Hold,
            S::Ended => PaneTransition::EndTurn,
            S::Decided => PaneTransition::PassOn,
            S::Interrupt | S::CanWake => PaneTransition::TooEarly,
            S::Pasted | S::NotPasted | S::PasteUnknown | S::Pressed | S::NotPressed => {
                PaneTransition::NotUnderWay
            }
            S::Terminal => PaneTransition::AlreadyKnown,
            S::NoTerminal => PaneTransition::LoseTerminal,
            S::Exited => PaneTransition::Exit,
        },
        PanePhase::Ready => match seen {
            S::Wanted | S::CanWake => PaneTransition::Deliver,
            S::Decided => PaneTransition::PassOn,
            S::Look => PaneTransition::TellAgain,
            S::End => PaneTransition::BeginEnding,
            S::Changed | S::Due => PaneTransition::LookCloser,
            S::Idle => PaneTransition::SeemsIdle,
            S::Busy => PaneTransition::GoesOn,
            S::TakenUp => PaneTransition::TakeUp,
            S::Dialog => PaneTransition::Ask,
            S::Limited => PaneTransition::Limit,
            S::Unknown => PaneTransition::Hold,
            S::Ended => PaneTransition::EndTurn,
            S::Start | S::Started | S::Adopted | S::Interrupt | S::Terminal => {
                PaneTransition::AlreadyKnown
            }
            S::Pasted | S::NotPasted | S::PasteUnknown | S::Pressed | S::NotPressed => {
                PaneTransition::NotUnderWay
            }
            S::NoTerminal => PaneTransition::LoseTerminal,
            S::Exited => PaneTransition::Exit,
        },
        PanePhase::Delivering => match seen {
            S::Wanted => PaneTransition::Keep,
            S::Look => PaneTransition::TellAgain,
            S::End => PaneTransition::BeginEnding,
            S::Changed | S::Due => PaneTransition::LookCloser,
            S::Idle | S::Busy | S::Dialog | S::Limited | S::Unknown | S::CanWake => {
                PaneTransition::Judge
            }
            S::Decided => PaneTransition::PassOn,
            S::Pasted => PaneTransition::Given,
            S::NotPasted => PaneTransition::NotGiven,
            S::PasteUnknown => PaneTransition::FindOut,
            S::Interrupt => PaneTransition::TooEarly,
            S::TakenUp | S::Ended => PaneTransition::TooLate,
            S::Pressed | S::NotPressed => PaneTransition::NotUnderWay,
            S::Start | S::Started | S::Adopted | S::Terminal => PaneTransition::AlreadyKnown,
            S::NoTerminal => PaneTransition::LoseTerminal,
            S::Exited => PaneTransition::Exit,
        },
        PanePhase::Submitted => match seen {
            S::Wanted => PaneTransition::Keep,
            S::Look => PaneTransition::TellAgain,
            S::End => PaneTransition::BeginEnding,
            S::Changed | S::Due => PaneTransition::LookCloser,
            S::Idle | S::Busy | S::Dialog | S::Limited | S::Unknown => PaneTransition::Confirm,
            S::TakenUp => PaneTransition::TakeUp,
            S::CanWake => PaneTransition::TooEarly,
            S::Decided => PaneTransition::PassOn,
            S::Pressed => PaneTransition::Enter,
            S::NotPressed => PaneTransition::Unsure,
            S::Interrupt => PaneTransition::TooEarly,
            S::Ended => PaneTransition::TooLate,
            S::Pasted | S::NotPasted | S::PasteUnknown => PaneTransition::NotUnderWay,
            S::Start | S::Started | S::Adopted | S::Terminal => PaneTransition::AlreadyKnown,
            S::NoTerminal => PaneTransition::LoseTerminal,
            S::Exited => PaneTransition::Exit,
        },
        PanePhase::Busy => match seen {
            S::Wanted => PaneTransition::Keep,
            S::Interrupt => PaneTransition::Interrupt,
            S::Look => PaneTransition::TellAgain,
            S::End => PaneTransition::BeginEnding,
            S::Changed | S::Due => PaneTransition::LookCloser,
            S::Idle => PaneTransition::SeemsIdle,
            S::Busy => PaneTransition::GoesOn,
            S::Dialog => PaneTransition::Ask,
            S::Limited => PaneTransition::Limit,
            S::Unknown => PaneTransition::Hold,
            S::Ended => PaneTransition::EndTurn,
            S::TakenUp => PaneTransition::TakeUp,
            S::CanWake => PaneTransition::TooEarly,
            S::Decided => PaneTransition::PassOn,
            S::Start | S::Started | S::Adopted | S::Terminal => PaneTransition::AlreadyKnown,
            S::Pasted | S::NotPasted | S::PasteUnknown | S::Pressed | S::NotPressed => {
                PaneTransition::NotUnderWay
            }
            S::NoTerminal => PaneTransition::LoseTerminal,
            S::Exited => PaneTransition::Exit,
        },
        PanePhase::Dialog | PanePhase::Limited => match seen {
            S::Wanted => PaneTransition::Keep,
            S::Look => PaneTransition::TellAgain,
            S::End => PaneTransition::BeginEnding,
            S::Changed | S::Due => PaneTransition::LookCloser,
            S::Idle => PaneTransition::SeemsIdle,
            S::Busy => PaneTransition::GoesOn,
            S::TakenUp => PaneTransition::TakeUp,
            S::Dialog => PaneTransition::Ask,
            S::Limited => PaneTransition::Limit,
            S::Unknown => PaneTransition::Hold,
            S::Ended => PaneTransition::EndTurn,
            S::Decided => PaneTransition::PassOn,
            S::Interrupt | S::CanWake => PaneTransition::TooEarly,
            S::Start | S::Started | S::Adopted | S::Terminal => PaneTransition::AlreadyKnown,
            S::Pressed | S::NotPressed if phase == PanePhase::Dialog => PaneTransition::Answered,
            S::Pasted | S::NotPasted | S::PasteUnknown | S::Pressed | S::NotPressed => {
                PaneTransition::NotUnderWay
            }
            S::NoTerminal => PaneTransition::LoseTerminal,
            S::Exited => PaneTransition::Exit,
        },
        PanePhase::Ending => match seen {
            // It has begun though it was to be kept from it.
            S::Started => PaneTransition::Run,
            S::Due => PaneTransition::NextSignal,
            S::NoTerminal => PaneTransition::LoseTerminal,
            S::Exited => PaneTransition::Exit,
            S::End | S::Terminal => PaneTransition::AlreadyKnown,
            S::Start
            | S::Adopted
            | S::Wanted
            | S::Interrupt
            | S::Look
            | S::Changed
            | S::Idle
            | S::Busy
            | S::Dialog
            | S::Limited
            | S::Unknown
            | S::TakenUp
            | S::Ended
            | S::CanWake
            | S::Decided
            | S::Pasted
            | S::NotPasted
            | S::PasteUnknown
            | S::Pressed
            | S::NotPressed => PaneTransition::TooLate,
        },
        PanePhase::Gone => match seen {
            S::Terminal | S::NoTerminal => PaneTransition::TellExit,
            S::Start
            | S::Started
            | S::Adopted
            | S::Wanted
            | S::Interrupt
            | S::Look
            | S::End
            | S::Changed
            | S::Idle
            | S::Busy
            | S::Dialog
            | S::Limited
            | S::Unknown
            | S::TakenUp
            | S::Ended
            | S::CanWake
            | S::Decided
            | S::Pasted
            | S::NotPasted
            | S::PasteUnknown
            | S::Pressed
            | S::NotPressed
            | S::Due
            | S::Exited => PaneTransition::TooLate,
        },
    }
}

impl PanePhase {
    /// Every phase.
    pub const ALL: [PanePhase; 9] = [
        PanePhase::Starting,
        PanePhase::Ready,
        PanePhase::Delivering,
        PanePhase::Submitted,
        PanePhase::Busy,
        PanePhase::Dialog,
        PanePhase::Limited,
        PanePhase::Ending,
        PanePhase::Gone,
    ];
}

impl PaneSignal {
    /// Everything that can be seen.
    pub const ALL: [PaneSignal; 26] = [
        PaneSignal::Start,
        PaneSignal::Started,
        PaneSignal::Adopted,
        PaneSignal::Wanted,
        PaneSignal::Interrupt,
        PaneSignal::Look,
        PaneSignal::End,
        PaneSignal::Changed,
        PaneSignal::Idle,
        PaneSignal::Busy,
        PaneSignal::Dialog,
        PaneSignal::Limited,
        PaneSignal::Unknown,
        PaneSignal::TakenUp,
        PaneSignal::Ended,
        PaneSignal::CanWake,
        PaneSignal::Decided,
        PaneSignal::Pasted,
        PaneSignal::NotPasted,
        PaneSignal::PasteUnknown,
        PaneSignal::Pressed,
        PaneSignal::NotPressed,
        PaneSignal::Due,
        PaneSignal::Terminal,
        PaneSignal::NoTerminal,
        PaneSignal::Exited,
    ];
}
