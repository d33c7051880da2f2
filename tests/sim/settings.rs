//! What a life is made of: its seed, its size, and which faults and acts occur in it.
//! The same settings give the same life.

use std::collections::BTreeSet;

use crate::rng::Rng;

/// Define an enum with the list of all its variants.
macro_rules! listed {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum $name { $($(#[$about])* $variant,)* }

        impl $name {
            pub(crate) const ALL: &'static [$name] = &[$($name::$variant,)*];
        }
    };
}

listed! {
    /// What goes wrong around the engine.
    Fault {
        /// tx is killed between two commits.
        CrashBeforeCommit,
        /// tx is killed after a commit, before all of its effects were performed.
        CrashBeforeEffects,
        /// An event is told twice.
        Twice,
        /// What a pane shows is told after something newer.
        LateNews,
        /// A file is noticed long after it was written.
        LateFile,
        /// The end of a turn overtakes a file that was written in it.
        Overtaken,
        /// An event of an older process.
        OldAttempt,
        /// An event that speaks of nothing that happened.
        Spurious,
        /// A pane seems idle while its agent works.
        Misread,
        /// A process cannot be started.
        NotStarted,
        /// A process dies.
        Death,
        /// An agent starts something by itself: somebody uses its terminal.
        OwnTurn,
        /// A person types in a terminal at any time, and is in no hurry.
        Draft,
        /// A delivery fails.
        NotDelivered,
        /// Nobody knows whether a delivery arrived.
        Unconfirmed,
        /// A pane shows a dialog.
        Dialog,
        /// An account has no room.
        Limit,
        /// A process takes no notice of being killed.
        KillIgnored,
        /// An agent never ends its turn.
        Hang,
        /// Checks find faults.
        HookFails,
        /// Checks crash.
        HookCrashes,
        /// Checks never end.
        HookHangs,
        /// A time is told that was set for something that is over.
        StaleTimer,
        /// The clock is set forward by a day.
        ClockForward,
        /// The clock is set backward.
        ClockBackward,
        /// A mesh is loaded again, with another table or fewer agents.
        Reload,
        /// A mesh is disabled, or enabled again.
        Toggle,
        /// A mesh is removed; it may come back.
        Removed,
        /// A person stops a worker.
        Stop,
        /// A person restarts a worker.
        Restart,
        /// A person gives a dead letter another chance.
        Retry,
        /// A person gives a dead letter up.
        Drop,
        /// A file of tx's own is noticed by the consumer.
        OwnFile,
        /// A process ends while its account has no room.
        LimitedExit,
        /// A hook says that a pane shows something else than it does; the screen corrects it.
        Disagree,
        /// What is to be done with a pane is done late; others are not held up by that.
        LateEffect,
        /// The disk is full for a while.
        DiskFull,
        /// What is finished is put away.
        Prune,
        /// The machine falls: tx and all processes are gone at once.
        Reboot,
    }
}

listed! {
    /// What an agent or the human does in a turn.
    Act {
        /// An outcome as the table wants it.
        Listed,
        /// `complete`, addressed to nobody.
        Complete,
        /// A word that the table may not know.
        WrongWord,
        /// A target that the table may not list.
        Unlisted,
        /// A `route_to`.
        RouteTo,
        /// `blocked`.
        Blocked,
        /// `escalate`.
        Escalate,
        /// `error`.
        Error,
        /// A question to an agent.
        Ask,
        /// A question to the human.
        AskCore,
        /// A question to the human that has a default and expires.
        AskWithDefault,
        /// A question to the human that expires.
        AskExpires,
        /// News.
        Update,
        /// An answer that names its ask.
        Answer,
        /// An answer that names nothing.
        AnswerPlain,
        /// An answer, twice.
        AnswerTwice,
        /// An answer to somebody else's ask.
        AnswerForeign,
        /// An answer to an ask that was answered long ago.
        AnswerLate,
        /// An outcome, and an ask after it.
        AskAfterOutcome,
        /// An outcome in spite of open asks.
        OutcomeAfterAsk,
        /// Two outcomes.
        TwoOutcomes,
        /// Nothing at all.
        Nothing,
        /// An id and a text that were used before.
        SameAgain,
        /// Several recipients.
        ToMany,
        /// Several recipients, one of them unknown.
        ToManyUnknown,
        /// To the sentinel, with a status.
        Dispatch,
        /// To the sentinel, without one.
        DispatchBare,
        /// To the entry point of another mesh.
        OtherMesh,
        /// A kind of its own choice.
        Explicit,
        /// Recorded, never dispatched.
        Headless,
        /// A word to itself.
        ToItself,
        /// To `system/*`, or as it.
        System,
        /// As somebody who is not there.
        Stranger,
        /// A bad file.
        BadFile,
        /// A bad file of nobody.
        BadFileOfNobody,
        /// A file that is changed after it was written.
        Edit,
        /// A good file that is made a bad one.
        Spoil,
        /// A bad file that is mended.
        Mend,
        /// The same again in another file.
        Duplicate,
        /// The same id with another text.
        Conflict,
        /// An id that somebody else has used.
        OthersId,
        /// An answer to all that it was asked, and to what was never asked.
        ReplyList,
        /// A bare name: of an agent, of a mesh, or of both.
        BareName,
        /// A question to the next agent of its mesh: all together they make a circle.
        AskRound,
        /// A question to an agent that takes all that waits at once.
        AskBatch,
        /// A slash command.
        Command,
        /// A feature.
        Feature,
        /// More news than anybody keeps.
        Flood,
        /// A question, and bad files that are noticed while it waits for the answer.
        BadAfterAsk,
    }
}

impl Fault {
    /// Does it happen in the best of worlds?
    pub(crate) fn is_gentle(self) -> bool {
        matches!(
            self,
            Fault::Twice | Fault::LateNews | Fault::LateEffect | Fault::Overtaken
        )
    }
}

/// What a life is made of.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) seed: u64,
    /// The meshes.
    pub(crate) meshes: usize,
    /// The most agents of a mesh.
    pub(crate) agents: usize,
    /// The tasks that the human gives.
    pub(crate) tasks: usize,
    /// The files after which agents do only what they should.
    pub(crate) files: usize,
    pub(crate) faults: BTreeSet<Fault>,
    pub(crate) acts: BTreeSet<Act>,
    /// Meshes have blocks.
    pub(crate) workflows: bool,
    /// Some agents have several workers. The reference does not know these, and is not asked.
    pub(crate) pools: bool,
    /// Most meshes have a machine, and the reference is not asked.
    pub(crate) machines: bool,
}

impl Settings {
    /// The life of a seed, of a given size.
    pub(crate) fn of(seed: u64, size: usize) -> Settings {
        let mut rng = Rng::new(seed);
        // Some lives have all faults, some have few: what one hides another shows.
        let share = [15, 40, 70, 100][usize::try_from(rng.below(4)).unwrap()];
        let faults = Fault::ALL.iter().copied();
        let faults = faults.filter(|_| rng.percent(share)).collect();
        let share = [20, 50, 100][usize::try_from(rng.below(3)).unwrap()];
        let acts = Act::ALL.iter().copied();
        let acts = acts.filter(|_| rng.percent(share)).collect();
        let mut of = |low: i64, high: i64| usize::try_from(rng.within(low, high)).unwrap();
        Settings {
            seed,
            meshes: of(1, 3),
            agents: of(2, 6),
            tasks: of(1, 20) * size,
            files: of(20, 120) * size,
            faults,
            acts,
            workflows: false,
            pools: false,
            machines: false,
        }
    }

    /// Does no hook correct another that is wrong? Then only the screen does.
    pub(crate) fn only_screens_correct(&self) -> bool {
        self.seed.is_multiple_of(3)
    }

    /// Do the meshes that were removed stay away to the end?
    pub(crate) fn removed_stay_away(&self) -> bool {
        self.seed % 4 < 2
    }

    /// The same with blocks, and with pools where the seed is odd.
    pub(crate) fn with_workflows(seed: u64, size: usize) -> Settings {
        let settings = Settings::of(seed, size);
        Settings {
            agents: settings.agents.max(4),
            workflows: true,
            pools: seed % 2 == 1,
            ..settings
        }
    }
}
