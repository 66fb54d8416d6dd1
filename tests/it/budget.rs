//! One ledger for the whole tree of agents: money, turns, time, and how much goes on at once.

mod money;
mod operations;
mod time;

use crate::support::scene::Scene;

/// The name of a model that only these tests know.
const TOY: &str = "toy-1";

/// A scene whose model costs so many US dollars per million tokens of input and of output, and may
/// answer with a thousand tokens. It is asked with `--model toy-1`.
fn scene_with_prices(input: f64, output: f64) -> Scene {
    let scene = Scene::new();
    priced(&scene, input, output);
    scene
}

fn priced(scene: &Scene, input: f64, output: f64) {
    let model = format!(
        "[models.{TOY}]\ncontext_window = 100_000\nmax_output = 1000\nprice = {{ input = {input:?}, output = {output:?} }}\n"
    );
    std::fs::write(scene.world.settings_dir().join("models.toml"), model).unwrap();
}
