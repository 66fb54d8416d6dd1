//! Tests of the ledger: one cap for a tree, whatever runs concurrently.

use std::collections::VecDeque;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use futures_util::FutureExt as _;
use proptest::prelude::*;

use super::limits::ROUNDING_USD;
use super::*;
use crate::protocol::{Cost, Usage};

fn usd(limit: f64) -> Limits {
    Limits { usd: Some(limit), ..Limits::default() }
}

fn output(tokens: u64) -> Usage {
    Usage { output_tokens: tokens, ..Usage::default() }
}

fn costs(input: f64, output: f64) -> Estimate {
    Estimate { input, output }
}

/// Reserves without waiting.
fn granted(budget: &Budget, input: f64, output: f64) -> Reservation {
    budget.try_reserve(costs(input, output)).unwrap().unwrap()
}

/// Whether a request must wait for others.
fn waits(budget: &Budget, input: f64, output: f64) -> bool {
    budget.try_reserve(costs(input, output)).unwrap().is_none()
}

fn why<T>(result: Result<T, BudgetExhausted>) -> Option<String> {
    result.err().map(|used_up| used_up.what)
}

#[test]
fn a_request_whose_input_is_dearer_than_the_rest_is_refused_before_it_is_made() {
    let budget = Budget::new(usd(1.0));
    budget.charge(output(1), Cost::known(0.995));
    assert_eq!(budget.used_up(), None, "there is half a cent");
    assert_eq!(why(budget.check(costs(0.01, 0.0))).as_deref(), Some("$1.00"));
    assert_eq!(why(budget.check(costs(0.001, 0.2))), None, "a short answer may do");
    let _running = granted(&budget, 0.001, 0.2);
    assert_eq!(why(budget.check(costs(0.001, 0.2))), None, "it can wait for the other");
}

#[test]
fn a_child_spends_its_parents_money_and_tokens() {
    let tree = Budget::new(Limits { tokens: Some(100), ..usd(1.0) });
    let child = tree.child(Limits::default());
    child.charge(output(60), Cost::known(0.4));
    assert_eq!((tree.spent().usage.output_tokens, child.used_up()), (60, None));
    let left = child.left();
    assert_eq!((left.usd, left.tokens), (Some(0.6), Some(40)));
    tree.charge(output(40), Cost::known(0.0));
    assert_eq!(child.used_up().as_deref(), Some("100 tokens"));
    tree.charge(Usage::default(), Cost::known(0.6));
    assert_eq!(child.used_up().as_deref(), Some("$1.00"));
}

#[test]
fn what_a_child_reserved_and_used_is_its_parents_expense() {
    let tree = Budget::new(usd(1.0));
    let child = tree.child(Limits::default());
    granted(&child, 0.1, 0.3).settle(output(1), Cost::known(0.2));
    assert_eq!((tree.spent().cost, child.spent().cost), (Cost::known(0.2), Cost::known(0.2)));
    assert_eq!(tree.left().usd, Some(0.8));
}

#[test]
fn cache_reads_are_no_part_of_a_budget_of_tokens() {
    let budget = Budget::new(Limits { tokens: Some(10), ..Limits::default() });
    let read = Usage { cache_read_input_tokens: 500, input_tokens: 4, ..Usage::default() };
    budget.charge(read, Cost::default());
    assert_eq!((budget.left().tokens, budget.used_up()), (Some(6), None));
    let written = Usage { cache_creation_input_tokens: 6, ..Usage::default() };
    budget.charge(written, Cost::default());
    assert_eq!(budget.used_up().as_deref(), Some("10 tokens"));
}

#[test]
fn the_strictest_of_all_limits_holds() {
    let wide = Limits { turns: Some(9), tokens: Some(5), ..usd(2.0) };
    let narrow = Limits { turns: Some(3), wall: Some(Duration::from_secs(1)), ..usd(0.5) };
    let both = Limits { tokens: Some(5), ..narrow };
    assert_eq!((wide.min(narrow), narrow.min(wide)), (both, both));
}

#[test]
fn turns_and_tool_calls_are_the_agents_own_over_all_its_runs() {
    let limits = Limits { turns: Some(3), tool_calls: Some(4), ..Limits::default() };
    let agent = Budget::new(limits);
    let first = agent.for_run(Limits { turns: Some(2), ..Limits::default() });
    let below = first.child(limits);
    below.count_turn();
    assert_eq!(below.take_tool_calls(4), (4, None));
    assert_eq!((first.turns_left(), agent.left().tool_calls), (Some(2), Some(4)));
    first.count_turn();
    first.count_turn();
    let second = agent.for_run(Limits { turns: Some(2), ..Limits::default() });
    assert_eq!((first.turns_left(), second.turns_left()), (Some(0), Some(1)));
    second.count_turn();
    assert_eq!(agent.for_run(Limits::default()).used_up().as_deref(), Some("3 turns"));
    assert_eq!(below.used_up(), None, "another agent's turns");
    assert!(
        Arc::ptr_eq(&first.agent_account().0, &agent.0)
            && Arc::ptr_eq(&below.agent_account().0, &below.0)
    );
}

#[test]
fn tool_calls_that_do_not_fit_are_named() {
    let budget = Budget::new(Limits { tool_calls: Some(3), ..Limits::default() });
    assert_eq!(budget.take_tool_calls(2), (2, None));
    assert_eq!(budget.no_tool_calls_left(), None);
    let (fit, short) = budget.take_tool_calls(2);
    assert_eq!(
        (fit, short.map(|s| s.to_string())),
        (1, Some("the budget of 3 tool calls is used up".into()))
    );
    assert!(budget.no_tool_calls_left().is_some());
}

#[test]
fn what_is_set_aside_is_not_there_for_others() {
    let tree = Budget::new(usd(1.0));
    let children: Vec<_> = (0..5).map(|_| tree.child(Limits::default())).collect();
    let held: Vec<_> = children[..3].iter().map(|child| granted(child, 0.0, 0.3)).collect();
    assert!(children[3..].iter().all(|child| waits(child, 0.0, 0.3)));
    drop(held);
    assert_eq!(tree.left().usd, Some(1.0), "what was not spent is back");
}

#[test]
fn the_rest_is_lent_to_one_request_that_it_pays_the_input_of() {
    let tree = Budget::new(usd(1.0));
    tree.charge(Usage::default(), Cost::known(0.7));
    let child = tree.child(usd(5.0));
    assert_eq!(why(child.try_reserve(costs(0.31, 0.1))).as_deref(), Some("$1.00"));
    let first = granted(&child, 0.2, 0.4);
    assert!(waits(&child, 0.0, 0.1), "the rest is held, and not spent");
    assert_eq!(why(child.try_reserve(costs(0.31, 0.1))).as_deref(), Some("$1.00"));
    first.settle(output(1), Cost::known(0.1));
    assert!((tree.left().usd.unwrap() - 0.2).abs() < ROUNDING_USD);
}

/// Polls once.
fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    future.now_or_never()
}

#[tokio::test]
async fn money_that_is_reserved_is_waited_for_and_what_settles_below_goes_on() {
    let tree = Budget::new(usd(1.0));
    let (one, other) = (tree.child(Limits::default()), tree.child(usd(0.9)));
    let held = granted(&one, 0.0, 0.9);
    let mut request = Box::pin(other.reserve(costs(0.1, 0.7)));
    assert!(poll(request.as_mut()).is_none());
    held.settle(output(1), Cost::known(0.01));
    let reservation = request.await.unwrap();
    assert!((tree.lock().unreserved(1.0) - 0.19).abs() < ROUNDING_USD);
    drop(reservation);
}

#[tokio::test]
async fn who_waits_for_reserved_money_learns_when_it_was_spent() {
    let tree = Budget::new(usd(1.0));
    let held = granted(&tree, 0.0, 1.0);
    let mut request = Box::pin(tree.reserve(costs(0.1, 0.7)));
    assert!(poll(request.as_mut()).is_none());
    held.settle(output(1), Cost::known(0.95));
    assert_eq!(why(request.await).as_deref(), Some("$1.00"));
}

#[tokio::test]
async fn a_large_request_is_not_overtaken_and_one_that_is_dropped_holds_up_nobody() {
    let tree = Budget::new(usd(1.0));
    let held = granted(&tree, 0.0, 0.5);
    let mut large = Box::pin(tree.reserve(costs(0.0, 0.9)));
    let mut small = Box::pin(tree.reserve(costs(0.0, 0.1)));
    assert!(poll(large.as_mut()).is_none() && poll(small.as_mut()).is_none());
    drop(large);
    let small = small.await.unwrap();
    drop((held, small));
    assert_eq!(tree.left().usd, Some(1.0));
}

#[tokio::test]
async fn who_waits_at_a_narrow_account_holds_up_nobody_beside_it() {
    let tree = Budget::new(usd(1.0));
    let (narrow, beside) = (tree.child(usd(0.1)), tree.child(Limits::default()));
    let held = granted(&narrow, 0.0, 0.1);
    let mut request = Box::pin(narrow.reserve(costs(0.0, 0.1)));
    assert!(poll(request.as_mut()).is_none());
    drop(beside.reserve(costs(0.0, 0.5)).await.unwrap());
    drop(held);
    request.await.unwrap();
}

#[test]
fn a_grant_grows_while_there_is_room_and_not_beyond() {
    let tree = Budget::new(usd(1.0));
    let mut one = granted(&tree, 0.1, 0.1);
    let _other = granted(&tree, 0.1, 0.4);
    assert_eq!(one.reserve_for(0.5), Ok(()));
    assert_eq!(why(one.reserve_for(0.51)).as_deref(), Some("$1.00"));
    let free = tree.lock().unreserved(1.0);
    assert_eq!((free, tree.left().usd), (0.0, Some(1.0)));
}

#[test]
fn a_limit_is_named_as_it_was_given() {
    for (limit, name) in [(1.0, "$1.00"), (0.5, "$0.50"), (0.005, "$0.005"), (12.345, "$12.345")] {
        assert_eq!(limits::usd_exhausted(limit).what, name);
    }
    assert_eq!(limits::count_exhausted(1, "tool call").what, "1 tool call");
}

#[test]
fn threads_side_by_side_never_set_aside_more_than_there_is() {
    let tree = Budget::new(usd(1.0));
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let child = tree.child(usd(0.9)).for_run(Limits::default());
            let (start, tree) = (&start, &tree);
            scope.spawn(move || {
                start.wait();
                for _ in 0..500 {
                    if let Ok(Some(reservation)) = child.try_reserve(costs(0.01, 0.2)) {
                        let left = tree.lock().unreserved(1.0);
                        assert!(left >= 0.0);
                        reservation.settle(output(1), Cost::known(0.003));
                    }
                }
            });
        }
    });
    assert!(tree.spent().cost.usd <= 1.0 + ROUNDING_USD, "{:?}", tree.spent());
    // How often a thread was refused, because others had reserved the rest, is up to the system.
    let last = tree.child(usd(0.9)).for_run(Limits::default());
    while let Ok(Some(reservation)) = last.try_reserve(costs(0.01, 0.2)) {
        reservation.settle(output(1), Cost::known(0.003));
    }
    let spent = tree.spent().cost.usd;
    assert!(spent <= 1.0 + ROUNDING_USD, "{spent}");
    assert!(spent > 0.9, "the rest is lent out too: {spent}");
    assert!(tree.lock().reserved.abs() < ROUNDING_USD);
}

/// One step of an agent: it begins a request, or a piece of the answer comes, or the answer ends.
#[derive(Clone, Debug)]
struct BudgetStep {
    agent: usize,
    output: f64,
    ends: bool,
}

fn step() -> impl Strategy<Value = BudgetStep> {
    (0..4_usize, 0.0..0.4_f64, any::<bool>()).prop_map(|(agent, output, ends)| BudgetStep {
        agent,
        output,
        ends,
    })
}

proptest! {
    /// The most that one piece of a stream may cost.
    #[test]
    fn no_interleaving_exceeds_the_cap_by_more_than_one_piece(
        steps in prop::collection::vec(step(), 1..200),
        cap in 0.1..2.0_f64,
    ) {
        const PIECE: f64 = 0.05;
        let tree = Budget::new(usd(cap));
        let agents: Vec<_> = (0..4).map(|_| tree.child(usd(cap))).collect();
        let mut running: Vec<Option<(Reservation, f64, VecDeque<f64>)>> = (0..4).map(|_| None).collect();
        for BudgetStep { agent, output, ends } in steps {
            let Some((mut reservation, spent, mut pieces)) = running[agent].take() else {
                // The answer comes in pieces, the last of them smaller; its longest form was estimated.
                let count = (output / PIECE) as usize;
                let pieces = std::iter::repeat_n(PIECE, count).collect();
                if let Ok(Some(reservation)) = agents[agent].try_reserve(costs(0.02, output)) {
                    running[agent] = Some((reservation, 0.02, pieces));
                }
                continue;
            };
            let piece = pieces.pop_front().unwrap_or(0.0);
            let spent = spent + piece;
            if reservation.reserve_for(spent).is_err() || pieces.is_empty() || ends {
                reservation.settle(Usage::default(), Cost::known(spent));
            } else {
                running[agent] = Some((reservation, spent, pieces));
            }
        }
        for (reservation, spent, _) in running.into_iter().flatten() {
            reservation.settle(Usage::default(), Cost::known(spent));
        }
        let spent = tree.spent().cost.usd;
        prop_assert!(spent <= cap + PIECE + ROUNDING_USD, "{spent} of {cap}");
    }
}

#[tokio::test]
async fn the_clock_of_the_account_above_counts_and_a_question_below_stops_it() {
    let limit = Duration::from_millis(30);
    let tree = Budget::new(Limits { wall: Some(limit), ..Limits::default() });
    let child = tree.child(Limits { wall: Some(Duration::from_secs(60)), ..Limits::default() });
    let asked = child.pause();
    let mut end = Box::pin(child.timed_out());
    assert!(tokio::time::timeout(limit * 3, &mut end).await.is_err(), "the clocks stand still");
    assert_eq!(tree.time_up(), None);
    drop(asked);
    assert_eq!(end.await, limit);
    assert_eq!((child.time_up(), child.left().wall), (Some(limit), Some(Duration::ZERO)));
}
