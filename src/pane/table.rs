//! The table of a pane: what each thing that can be seen does in each phase. Every pair is
//! named, those that do nothing too.

/// What a pane is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
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
pub enum Seen {
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
pub enum Move {
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
pub fn decide(phase: Phase, seen: Seen) -> Move {
    use Seen as S;
    match phase {
        Phase::Starting => match seen {
            S::Start => Move::Start,
            S::Started => Move::Run,
            S::Adopted => Move::Adopt,
            S::Wanted => Move::Keep,
            S::Look => Move::TellAgain,
            S::End => Move::BeginEnding,
            S::Changed | S::Due => Move::LookCloser,
            S::Idle => Move::SeemsIdle,
            S::Busy => Move::GoesOn,
            S::TakenUp => Move::TakeUp,
            S::Dialog => Move::Ask,
            S::Limited => Move::Limit,
            S::Unknown => Move::Hold,
            S::Ended => Move::EndTurn,
            S::Decided => Move::PassOn,
            S::Interrupt | S::CanWake => Move::TooEarly,
            S::Pasted | S::NotPasted | S::PasteUnknown | S::Pressed | S::NotPressed => {
                Move::NotUnderWay
            }
            S::Terminal => Move::AlreadyKnown,
            S::NoTerminal => Move::LoseTerminal,
            S::Exited => Move::Exit,
        },
        Phase::Ready => match seen {
            S::Wanted | S::CanWake => Move::Deliver,
            S::Decided => Move::PassOn,
            S::Look => Move::TellAgain,
            S::End => Move::BeginEnding,
            S::Changed | S::Due => Move::LookCloser,
            S::Idle => Move::SeemsIdle,
            S::Busy => Move::GoesOn,
            S::TakenUp => Move::TakeUp,
            S::Dialog => Move::Ask,
            S::Limited => Move::Limit,
            S::Unknown => Move::Hold,
            S::Ended => Move::EndTurn,
            S::Start | S::Started | S::Adopted | S::Interrupt | S::Terminal => Move::AlreadyKnown,
            S::Pasted | S::NotPasted | S::PasteUnknown | S::Pressed | S::NotPressed => {
                Move::NotUnderWay
            }
            S::NoTerminal => Move::LoseTerminal,
            S::Exited => Move::Exit,
        },
        Phase::Delivering => match seen {
            S::Wanted => Move::Keep,
            S::Look => Move::TellAgain,
            S::End => Move::BeginEnding,
            S::Changed | S::Due => Move::LookCloser,
            S::Idle | S::Busy | S::Dialog | S::Limited | S::Unknown | S::CanWake => Move::Judge,
            S::Decided => Move::PassOn,
            S::Pasted => Move::Given,
            S::NotPasted => Move::NotGiven,
            S::PasteUnknown => Move::FindOut,
            S::Interrupt => Move::TooEarly,
            S::TakenUp | S::Ended => Move::TooLate,
            S::Pressed | S::NotPressed => Move::NotUnderWay,
            S::Start | S::Started | S::Adopted | S::Terminal => Move::AlreadyKnown,
            S::NoTerminal => Move::LoseTerminal,
            S::Exited => Move::Exit,
        },
        Phase::Submitted => match seen {
            S::Wanted => Move::Keep,
            S::Look => Move::TellAgain,
            S::End => Move::BeginEnding,
            S::Changed | S::Due => Move::LookCloser,
            S::Idle | S::Busy | S::Dialog | S::Limited | S::Unknown => Move::Confirm,
            S::TakenUp => Move::TakeUp,
            S::CanWake => Move::TooEarly,
            S::Decided => Move::PassOn,
            S::Pressed => Move::Enter,
            S::NotPressed => Move::Unsure,
            S::Interrupt => Move::TooEarly,
            S::Ended => Move::TooLate,
            S::Pasted | S::NotPasted | S::PasteUnknown => Move::NotUnderWay,
            S::Start | S::Started | S::Adopted | S::Terminal => Move::AlreadyKnown,
            S::NoTerminal => Move::LoseTerminal,
            S::Exited => Move::Exit,
        },
        Phase::Busy => match seen {
            S::Wanted => Move::Keep,
            S::Interrupt => Move::Interrupt,
            S::Look => Move::TellAgain,
            S::End => Move::BeginEnding,
            S::Changed | S::Due => Move::LookCloser,
            S::Idle => Move::SeemsIdle,
            S::Busy => Move::GoesOn,
            S::Dialog => Move::Ask,
            S::Limited => Move::Limit,
            S::Unknown => Move::Hold,
            S::Ended => Move::EndTurn,
            S::TakenUp => Move::TakeUp,
            S::CanWake => Move::TooEarly,
            S::Decided => Move::PassOn,
            S::Start | S::Started | S::Adopted | S::Terminal => Move::AlreadyKnown,
            S::Pasted | S::NotPasted | S::PasteUnknown | S::Pressed | S::NotPressed => {
                Move::NotUnderWay
            }
            S::NoTerminal => Move::LoseTerminal,
            S::Exited => Move::Exit,
        },
        Phase::Dialog | Phase::Limited => match seen {
            S::Wanted => Move::Keep,
            S::Look => Move::TellAgain,
            S::End => Move::BeginEnding,
            S::Changed | S::Due => Move::LookCloser,
            S::Idle => Move::SeemsIdle,
            S::Busy => Move::GoesOn,
            S::TakenUp => Move::TakeUp,
            S::Dialog => Move::Ask,
            S::Limited => Move::Limit,
            S::Unknown => Move::Hold,
            S::Ended => Move::EndTurn,
            S::Decided => Move::PassOn,
            S::Interrupt | S::CanWake => Move::TooEarly,
            S::Start | S::Started | S::Adopted | S::Terminal => Move::AlreadyKnown,
            S::Pasted | S::NotPasted | S::PasteUnknown | S::Pressed | S::NotPressed => {
                Move::NotUnderWay
            }
            S::NoTerminal => Move::LoseTerminal,
            S::Exited => Move::Exit,
        },
        Phase::Ending => match seen {
            // It has begun though it was to be kept from it.
            S::Started => Move::Run,
            S::Due => Move::NextSignal,
            S::NoTerminal => Move::LoseTerminal,
            S::Exited => Move::Exit,
            S::End | S::Terminal => Move::AlreadyKnown,
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
            | S::NotPressed => Move::TooLate,
        },
        Phase::Gone => match seen {
            S::Terminal | S::NoTerminal => Move::TellExit,
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
            | S::Exited => Move::TooLate,
        },
    }
}

impl Phase {
    /// Every phase.
    pub const ALL: [Phase; 9] = [
        Phase::Starting,
        Phase::Ready,
        Phase::Delivering,
        Phase::Submitted,
        Phase::Busy,
        Phase::Dialog,
        Phase::Limited,
        Phase::Ending,
        Phase::Gone,
    ];
}

impl Seen {
    /// Everything that can be seen.
    pub const ALL: [Seen; 26] = [
        Seen::Start,
        Seen::Started,
        Seen::Adopted,
        Seen::Wanted,
        Seen::Interrupt,
        Seen::Look,
        Seen::End,
        Seen::Changed,
        Seen::Idle,
        Seen::Busy,
        Seen::Dialog,
        Seen::Limited,
        Seen::Unknown,
        Seen::TakenUp,
        Seen::Ended,
        Seen::CanWake,
        Seen::Decided,
        Seen::Pasted,
        Seen::NotPasted,
        Seen::PasteUnknown,
        Seen::Pressed,
        Seen::NotPressed,
        Seen::Due,
        Seen::Terminal,
        Seen::NoTerminal,
        Seen::Exited,
    ];
}
