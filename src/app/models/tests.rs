use super::*;
use crate::config::Overrides;

const KEY: &str = "sk-session-000000";
const OTHER_KEY: &str = "sk-of-the-definition-1111";

/// A source with its own configuration and these variables.
fn models(config: &str, variables: &[(&str, &str)]) -> (Models, EnvOverlay, tempfile::TempDir) {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("config.toml"), config).unwrap();
    let home = root.path().display().to_string();
    let env: EnvOverlay = variables.iter().copied().collect();
    let env = env.with([("CALIBAN_HOME", home)]);
    let setup = Setup::in_dir(root.path().into(), env.clone(), &Overrides::default()).unwrap();
    (Models::new(&setup, &Arc::new(Catalogue::built_in())), env, root)
}

fn ask<'a>(parent: &'a Model, provider: Option<&'a str>) -> ChildModel<'a> {
    ChildModel { parent, provider, by_call: true, model: None, env: None }
}

#[tokio::test]
async fn a_child_shares_the_parents_provider_and_children_share_another_one() {
    let both = [("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", KEY)];
    let (models, env, _root) = models("", &both);
    let main = models.initial().await.unwrap().unwrap();
    let own = models.child(ask(&main, None)).await.unwrap();
    assert!(Arc::ptr_eq(&own.provider, &main.provider));
    let env = env.with([("EDITOR", "vi")]);
    let unrelated = ChildModel { env: Some(&env), ..ask(&main, None) };
    let own = models.child(unrelated).await.unwrap();
    assert!(Arc::ptr_eq(&own.provider, &main.provider), "no variable of it is the provider's");

    let one = models.child(ask(&main, Some("openai"))).await.unwrap();
    let two = models.child(ask(&main, Some("openai"))).await.unwrap();
    assert_eq!((one.provider.name(), one.name.as_str()), ("openai", "gpt-5.5"));
    assert!(Arc::ptr_eq(&one.provider, &two.provider));
}

#[tokio::test]
async fn a_key_of_its_own_is_an_instance_of_its_own() {
    let (models, env, _root) = models("", &[("ANTHROPIC_API_KEY", KEY)]);
    let main = models.initial().await.unwrap().unwrap();
    for variable in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"] {
        let env = env.with([(variable, OTHER_KEY)]);
        let with_key = ChildModel { env: Some(&env), ..ask(&main, None) };
        let one = models.child(with_key).await.unwrap();
        let two = models.child(with_key).await.unwrap();
        assert!(!Arc::ptr_eq(&one.provider, &main.provider), "{variable}");
        assert!(Arc::ptr_eq(&one.provider, &two.provider), "{variable}");
        let grandchild = models.child(ask(&one, None)).await.unwrap();
        assert!(Arc::ptr_eq(&grandchild.provider, &one.provider), "{variable}");
        assert!(!format!("{with_key:?} {one:?}").contains(OTHER_KEY));
    }
}

#[tokio::test]
async fn the_sessions_key_is_not_sent_to_an_address_of_the_definition() {
    let (models, env, _root) = models("", &[("ANTHROPIC_API_KEY", KEY)]);
    let main = models.initial().await.unwrap().unwrap();
    let env = env.with([("ANTHROPIC_BASE_URL", "https://elsewhere.example")]);
    let moved = ChildModel { env: Some(&env), ..ask(&main, None) };
    let error = models.child(moved).await.unwrap_err();
    let expected = "`provider`: there is no key for anthropic: set ANTHROPIC_API_KEY.";
    assert_eq!(error, ProviderError::auth(expected));
    let env = env.with([("ANTHROPIC_API_KEY", OTHER_KEY)]);
    let moved = ChildModel { env: Some(&env), ..ask(&main, None) };
    assert!(models.child(moved).await.is_ok());
}

#[tokio::test]
async fn a_missing_key_is_an_error_before_any_request_and_names_the_variable() {
    let (models, env, _root) = models(
        "[providers.work]\nkind = \"openai_chat\"\nbase_url = \"https://work.example/v1\"\n\
         [providers.home]\nkind = \"openai_chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\n",
        &[("ANTHROPIC_API_KEY", KEY)],
    );
    let main = models.initial().await.unwrap().unwrap();
    let error = async |provider| {
        let named = ChildModel { model: Some("m"), ..ask(&main, Some(provider)) };
        models.child(named).await.unwrap_err().to_string()
    };
    assert_eq!(
        error("openai").await,
        "`provider`: there is no key for openai: set OPENAI_API_KEY."
    );
    assert_eq!(
        error("work").await,
        "`provider`: there is no key for work: set api_key_env of [providers.work] in config.toml."
    );
    let unknown = error("gemeni").await;
    assert!(
        unknown.starts_with("there is no provider \"gemeni\"; defined: anthropic"),
        "{unknown}"
    );
    let local = ChildModel { model: Some("m"), ..ask(&main, Some("home")) };
    assert!(models.child(local).await.is_ok(), "a server of this machine needs none");

    let env = env.with([("ANTHROPIC_API_KEY", "")]);
    let without = ChildModel { env: Some(&env), ..ask(&main, None) };
    let error = models.child(without).await.unwrap_err().to_string();
    assert!(error.contains("set ANTHROPIC_API_KEY"), "{error}");
}

#[tokio::test]
async fn the_allowed_models_come_in_the_order_of_the_configuration() {
    let lists =
        "[subagents.allowed_models]\nopenai = [\"z\", \"a\"]\nanthropic = [\"opus\", \"haiku\"]\n";
    let (models, _, _root) = models(lists, &[("ANTHROPIC_API_KEY", KEY)]);
    let list = |models: [&str; 2]| models.map(str::to_owned).to_vec();
    let expected = [("anthropic", list(["opus", "haiku"])), ("openai", list(["z", "a"]))]
        .map(|(p, m)| (p.to_owned(), m));
    assert_eq!(models.allowed(), expected);
    let main = models.initial().await.unwrap().unwrap();
    assert!(models.notices(&main)[0].contains("claude-sonnet-5"));
    let settings = models.child(ask(&main, None)).await.unwrap();
    assert_eq!(settings.name, "claude-opus-5-5", "the first of the list");
}

#[tokio::test]
async fn how_hard_to_think_is_not_said_in_another_providers_words() {
    let both = [("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", KEY)];
    let (models, _, _root) = models("[model]\neffort = \"xhigh\"\n", &both);
    let main = models.initial().await.unwrap().unwrap();
    assert_eq!(models.child(ask(&main, None)).await.unwrap().effort.as_deref(), Some("xhigh"));
    assert_eq!(models.child(ask(&main, Some("openai"))).await.unwrap().effort, None);
}

#[tokio::test]
async fn a_model_can_be_forced_where_its_wire_allows_that() {
    let both = [("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", KEY)];
    let (mut models, _, root) = models("", &both);
    let plain = "models.plain = { thinking = 'off' }";
    models.catalogue = Arc::new(Catalogue::with_user_models(plain, root.path()).unwrap());
    let can =
        async |provider, model| models.resolve(Some(provider), model).await.unwrap().can_force();
    assert!(!can("anthropic", "claude-sonnet-5").await, "it thinks");
    assert!(!can("anthropic", "nobody-knows-me").await, "it may think");
    assert!(can("anthropic", "plain").await);
    assert!(can("openai", "nobody-knows-me").await);
}

#[tokio::test]
async fn a_call_names_only_providers_that_the_user_has_set_up() {
    let session = "[model]\nprovider = \"anthropic\"\n";
    for (config, variables, named, is_refused) in [
        ("", &[][..], "vllm", true),
        ("", &[], "ollama", true),
        ("", &[], "openai", false),
        ("", &[], "anthropic", false),
        ("", &[("OPENAI_API_KEY", "sk-o")], "openai", false),
        ("[providers.vllm]\nbase_url = \"http://127.0.0.1:1/v1\"\n", &[], "vllm", false),
        ("[subagents.allowed_models]\nollama = [\"x\"]\n", &[], "ollama", false),
    ] {
        let variables = [&[("ANTHROPIC_API_KEY", "sk-a")], variables].concat();
        let (models, ..) = models(&format!("{session}{config}"), &variables);
        let main = models.resolve(None, "claude-sonnet-5").await.unwrap();
        let call = ChildModel { model: Some("x"), ..ask(&main, Some(named)) };
        let refusal = |found: Result<Model, ProviderError>| {
            found.err().map(|error| error.to_string()).filter(|it| it.contains("not set up"))
        };
        let found = refusal(models.child(call).await);
        assert_eq!(found.is_some(), is_refused, "{named}: {config:?}: {found:?}");
        // A definition is the user's own.
        let definition = ChildModel { by_call: false, ..call };
        assert_eq!(refusal(models.child(definition).await), None, "{named}");
    }
}
