//! The table of a pane: what each thing that can be seen does in each phase. Every pair is
//! named, those that do nothing too.

/// What a pane is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PanePhase {
    /// Its process is being started, or what it shows is not known yet.
    Starting,
    /// It can be given something.
    Ready,
    /// A text waits for the moment to be pasted.
    Delivering,
    /// A text is in it, and has to be sent off and taken.
    Submitted,
    /// It is at work.
    Busy,
    /// It asks a person.
    Dialog,
    /// Its account has no room.
    Limited,
    /// Its process is being ended.
    Ending,
    /// Its process is gone.
    Gone,
}

/// What something that was seen means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PaneSignal {
    /// It is to be started.
    Start,
    /// Its process runs.
    Started,
    /// It was found alive.
    Adopted,
    /// A text is wanted in it.
    Wanted,
    /// It is to be interrupted.
    Interrupt,
    /// Somebody wants to know what it shows.
    Look,
    /// It is to be ended.
    End,
    /// It may show something new, which takes a closer look.
    Changed,
    /// It waits, nothing is typed, and nobody types.
    Idle,
    /// It is at work.
    Busy,
    /// It asks a person.
    Dialog,
    /// Its account has no room.
    Limited,
    /// Nobody can tell, or somebody uses it.
    Unknown,
    /// It says that it has taken up what was submitted.
    TakenUp,
    /// Its turn has ended, as it or its outcome says.
    Ended,
    /// A hook waits that can be answered with a text.
    CanWake,
    /// The human has decided.
    Decided,
    /// The text is in it.
    Pasted,
    /// The text is not in it.
    NotPasted,
    /// Nobody can tell whether the text is in it.
    PasteUnknown,
    /// Enter was pressed.
    Pressed,
    /// Enter was not pressed.
    NotPressed,
    /// A time has come.
    Due,
    /// Its terminal is there.
    Terminal,
    /// Its terminal is gone.
    NoTerminal,
    /// Its process is gone.
    Exited,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PaneTransition {
    /// It is started.
    Start,
    /// It runs, and has what it was started with.
    Run,
    /// It goes on with what was known of it.
    Adopt,
    /// The text waits until it is idle.
    Keep,
    /// The text is given, or the moment for it looked for.
    Deliver,
    /// It is interrupted, and told why.
    Interrupt,
    /// What it shows is told once more.
    TellAgain,
    /// It is looked at.
    LookCloser,
    /// It seems idle. Once may be a flicker; twice it is.
    SeemsIdle,
    /// It is at work.
    GoesOn,
    /// A person is asked.
    Ask,
    /// There is no room.
    Limit,
    /// Nothing can be said: it is looked at again if somebody waits.
    Hold,
    /// Is it the moment for the text that waits?
    Judge,
    /// Has it taken what was typed?
    Confirm,
    /// It has.
    TakeUp,
    /// It has ended its turn.
    EndTurn,
    /// The text is there.
    Given,
    /// The text is not there.
    NotGiven,
    /// Find out whether it is.
    FindOut,
    /// The hook that asked is told.
    PassOn,
    /// Enter was pressed: it is watched until it has taken the text.
    Enter,
    /// The keys of the human's answer were pressed, or were not.
    Answered,
    /// Somebody came between, or nobody knows: the text is left to whoever looks.
    Unsure,
    /// It is ended.
    BeginEnding,
    /// The next step to its end.
    NextSignal,
    /// It goes on without its terminal, if it can.
    LoseTerminal,
    /// It is gone: how is told, once it is known whether its terminal went first.
    Exit,
    /// That is known.
    TellExit,
    /// Nothing: it is known already.
    AlreadyKnown,
    /// Nothing: it comes too early to mean anything.
    TooEarly,
    /// Nothing: it comes too late to matter.
    TooLate,
    /// Nothing: no such act is under way.
    NotUnderWay,
}

/// The table.
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
