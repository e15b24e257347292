//! The worker thread: matching, parsing and colouring, away from the drawing thread.

use std::sync::mpsc::{Receiver, Sender};

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::diff::{self, Painter};
use super::msg::{Job, Msg, Work};
use crate::service::snapshot::RunRow;

/// Does jobs until the other end is gone. Of several filters that wait, only the newest is done.
pub fn serve(jobs: &Receiver<Job>, answers: &Sender<Msg>) {
    let mut worker = Worker::default();
    let mut waiting: std::collections::VecDeque<Job> = std::collections::VecDeque::new();
    loop {
        let job = match waiting.pop_front() {
            Some(job) => job,
            None => match jobs.recv() {
                Ok(job) => job,
                Err(_) => return,
            },
        };
        waiting.extend(jobs.try_iter());
        let is_filter = |job: &Job| matches!(job, Job::Filter { .. });
        if is_filter(&job) && waiting.iter().any(is_filter) {
            continue;
        }
        if answers.send(Msg::Worked(worker.work(job))).is_err() {
            return;
        }
    }
}

/// Does jobs one at a time; what is costly to set up is made once, when it is first needed.
#[derive(Default)]
pub struct Worker {
    painter: Option<Painter>,
}

impl Worker {
    /// Does one job.
    pub fn work(&mut self, job: Job) -> Work {
        match job {
            Job::Filter { rows, query } => {
                let matches = filter(&rows, &query);
                Work::Filtered { rows, query, matches }
            }
            Job::Parse { key, digest, patch } => {
                let model = diff::parse(&digest, &patch).map(std::sync::Arc::new);
                Work::Parsed { key, digest, model }
            }
            Job::Decorate { model, file, hunk } => {
                let painter = self.painter.get_or_insert_with(Painter::default);
                let decor = model
                    .files
                    .get(file)
                    .and_then(|entry| Some(painter.paint(entry, entry.hunks.get(hunk)?)))
                    .unwrap_or_default();
                let decor = std::sync::Arc::new(decor);
                Work::Decorated { digest: model.digest.clone(), file, hunk, decor }
            }
        }
    }
}

/// Indexes of the rows that match, best first; among equals the order stays.
fn filter(rows: &[RunRow], query: &str) -> Vec<u32> {
    let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut buf = Vec::new();
    let mut scored = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let branch = row.branch.as_deref().unwrap_or_default();
        let text = format!("{} {} {} {branch}", row.title, row.repository, row.key.run);
        if let Some(score) = pattern.score(Utf32Str::new(&text, &mut buf), &mut matcher)
            && let Ok(index) = u32::try_from(index)
        {
            scored.push((score, index));
        }
    }
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, index)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_looks_at_title_repository_id_and_branch() {
        let row = |title: &str, repository: &str| RunRow {
            title: title.into(),
            repository: repository.into(),
            branch: Some("telic/cache".into()),
            ..RunRow::default()
        };
        let rows = [row("Fix the parser", "alpha"), row("Add a cache", "beta")];
        assert_eq!(filter(&rows, "beta"), [1]);
        assert_eq!(filter(&rows, "parser alpha"), [0]);
        assert_eq!(filter(&rows, "telic/").len(), 2);
        assert!(filter(&rows, "zebra").is_empty());
    }
}
