//! The one table of actions: what each is called, where it is valid, and its default keys.
//!
//! Bindings, footer, help and palette are made from it; nothing about keys is written anywhere else. What an
//! action does is its screen's business.

/// Where a key is looked up; the innermost scope first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Everywhere but in modals and text fields.
    Global,
    /// Wherever something moves.
    Motion,
    /// The list of runs.
    Home,
    /// The run view, whatever its tab.
    Run,
    /// The permissions tab.
    Permissions,
    /// The timeline.
    Trace,
    /// The diff.
    Diff,
    /// The checks.
    Checks,
    /// The artifacts.
    Artifacts,
    /// The approval page.
    Approval,
    /// The clarification picker.
    Clarification,
    /// The decision on a tool call.
    ToolCall,
    /// Asking a second time.
    Confirm,
    /// Reading modals: help and messages.
    Reader,
    /// A list with a text field over it: palette, themes.
    Picker,
    /// A text field of one line.
    Field,
    /// A text field of several lines.
    Editor,
}

/// One action.
#[derive(Debug)]
pub struct Entry {
    /// The action.
    pub action: Action,
    /// Where it is valid.
    pub scope: Scope,
    /// Name in configuration.
    pub id: &'static str,
    /// What it does, in words.
    pub words: &'static str,
    /// One or two words for the footer; empty to leave it out there.
    pub short: &'static str,
    /// Default keys.
    pub keys: &'static [&'static str],
}

macro_rules! actions {
    ($($scope:ident { $($action:ident $id:literal $keys:tt $words:literal $short:literal;)+ })+) => {
        /// Everything a key or the palette can ask for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Action { $($(#[doc = $words] $action,)+)+ }

        /// Every action, in the order of footer and help.
        pub const TABLE: &[Entry] = &[$($(Entry {
            action: Action::$action,
            scope: Scope::$scope,
            id: $id,
            words: $words,
            short: $short,
            keys: &$keys,
        }),+),+];
    };
}

actions! {
    Home {
        Open "open" ["Enter"] "open the selected run" "open";
        Filter "filter" ["/"] "filter by title, repository, id or branch" "filter";
        Sort "sort" ["s"] "change the order" "sort";
        NextNeed "next_need" ["n"] "go to the next run that needs you" "next need";
        TogglePreview "preview" ["p"] "show or hide the preview" "";
    }
    Run {
        Answer "answer" ["a"] "answer what the run asks" "answer";
        OpenApproval "approval" ["A"] "open the approval page" "approval";
        NextTab "next_tab" ["Tab"] "next tab" "tabs";
        PreviousTab "previous_tab" ["BackTab"] "previous tab" "";
        Tab1 "tab_1" ["1"] "first tab" "";
        Tab2 "tab_2" ["2"] "second tab" "";
        Tab3 "tab_3" ["3"] "third tab" "";
        Tab4 "tab_4" ["4"] "fourth tab" "";
        Tab5 "tab_5" ["5"] "fifth tab" "";
        Tab6 "tab_6" ["6"] "sixth tab" "";
        Tab7 "tab_7" ["7"] "seventh tab" "";
        Tab8 "tab_8" ["8"] "eighth tab" "";
        CancelRun "cancel_run" ["X"] "cancel the run" "";
    }
    Permissions {
        SwitchPart "decisions" ["d"] "go to the decisions, or back to the table" "decisions";
    }
    Trace {
        Follow "follow" ["f"] "follow what comes in" "follow";
        FilterType "filter_type" ["t"] "show one type of event only" "type";
        FilterActor "filter_actor" ["w"] "show one actor only" "who";
        Details "details" ["Enter"] "show what went in and out" "details";
    }
    Diff {
        NextHunk "next_hunk" ["n"] "next hunk" "hunk";
        PreviousHunk "previous_hunk" ["p"] "previous hunk" "";
        NextFile "next_file" ["]"] "next file" "file";
        PreviousFile "previous_file" ["["] "previous file" "";
        ToggleViewed "viewed" ["Space"] "mark the file as viewed, or not" "viewed";
        NextUnviewed "next_unviewed" ["u"] "next file that was not viewed" "unviewed";
        Search "search" ["/"] "search in the changed files" "search";
        NextMatch "next_match" ["Enter"] "next match" "";
        SideBySide "side_by_side" ["v"] "one column, or old and new side by side" "layout";
        Wrap "wrap" ["w"] "wrap long lines" "wrap";
        ToggleTree "tree" ["t"] "show or hide the file tree" "tree";
    }
    Checks {
        ReadLog "read_log" ["Enter"] "go to the log, or back to the checks" "log";
        FirstFailure "first_failure" ["e"] "go to the first failure" "failure";
    }
    Artifacts {
        OpenBody "open_body" ["Enter"] "read the selected artifact" "read";
    }
    Approval {
        Acknowledge "acknowledge" ["Space"] "acknowledge the selected warning" "acknowledge";
        Jump "jump" ["Enter"] "look at what the selected line speaks of" "look";
        Comment "comment" ["c"] "write the comment" "comment";
        ApproveAndPublish "approve_and_publish" ["Ctrl-Y"] "approve and publish" "";
        ApproveOnly "approve_only" ["Ctrl-O"] "approve, publish later" "";
        RequestChanges "request_changes" ["Ctrl-R"] "request changes" "";
        Reject "reject" ["Ctrl-X"] "reject" "";
        Reload "reload" ["R"] "show the page for the patch as it is now" "";
    }
    Clarification {
        Submit "submit" ["Enter"] "send the chosen answer" "send";
        Choose1 "choose_1" ["1"] "choose the first answer" "choose";
        Choose2 "choose_2" ["2"] "choose the second answer" "";
        Choose3 "choose_3" ["3"] "choose the third answer" "";
        Choose4 "choose_4" ["4"] "choose the fourth answer" "";
        Choose5 "choose_5" ["5"] "choose the fifth answer" "";
        Choose6 "choose_6" ["6"] "choose the sixth answer" "";
        Choose7 "choose_7" ["7"] "choose the seventh answer" "";
        Choose8 "choose_8" ["8"] "choose the eighth answer" "";
        Later "later" ["Esc"] "leave it for later" "later";
    }
    ToolCall {
        Decide "decide" ["Ctrl-Y"] "carry out the chosen answer" "decide";
        Answer1 "answer_1" ["1"] "choose: allow this one call" "choose";
        Answer2 "answer_2" ["2"] "choose: allow this exact call for the run" "";
        Answer3 "answer_3" ["3"] "choose: deny it" "";
        Answer4 "answer_4" ["4"] "choose: deny it and cancel the run" "";
        Postpone "postpone" ["Esc"] "leave it for later" "later";
    }
    Confirm {
        Decline "decline" ["Esc", "n", "q"] "no, go back" "no, go back";
    }
    Reader {
        Close "close" ["Esc", "q", "?", "!"] "close" "close";
    }
    Picker {
        Take "take" ["Enter"] "take the selected line" "take";
        PickUp "pick_up" ["Up", "Ctrl-K"] "up" "";
        PickDown "pick_down" ["Down", "Ctrl-J"] "down" "";
        Dismiss "dismiss" ["Esc"] "close" "close";
    }
    Field {
        Accept "accept" ["Enter"] "keep what is written" "keep";
        Clear "clear" ["Esc"] "drop what is written" "drop";
    }
    Editor {
        Leave "leave" ["Esc"] "back to the page" "back to the page";
    }
    Motion {
        Up "up" ["Up", "k"] "up" "";
        Down "down" ["Down", "j"] "down" "";
        Left "left" ["Left", "h"] "left" "";
        Right "right" ["Right", "l"] "right" "";
        PageUp "page_up" ["PageUp", "Ctrl-B"] "a page up" "";
        PageDown "page_down" ["PageDown", "Ctrl-F"] "a page down" "";
        Top "top" ["Home", "g"] "to the top" "";
        Bottom "bottom" ["End", "G"] "to the end" "";
    }
    Global {
        Back "back" ["Esc", "q"] "back" "back";
        Help "help" ["?"] "the keys of this screen" "help";
        Palette "palette" [":", "Ctrl-P"] "every action, by name" "actions";
        Messages "messages" ["!"] "the last messages" "";
        Themes "themes" ["T"] "choose a theme" "";
        Copy "copy" ["y"] "copy the id of the run" "";
        Refresh "refresh" ["r"] "look at the stores again" "";
        Quit "quit" ["Ctrl-C"] "quit (twice)" "";
    }
}
