use super::*;

fn with(text: &str) -> Result<Catalogue, ModelsError> {
    Catalogue::with_user_models(text, Path::new("models.toml"))
}

#[test]
fn the_built_in_file_is_readable_and_whole() {
    let table: ModelTable = serde_json::from_str(BUILT_IN_MODELS).unwrap();
    assert!(!table.models.is_empty());
    for (name, entry) in &table.models {
        let window = entry.context_window.unwrap();
        assert!(u64::from(entry.max_output.unwrap()) < window, "{name}");
        assert!(entry.thinking.is_some(), "{name}");
        assert!(entry.price.is_some(), "{name}");
        let room = entry.default_output.unwrap();
        assert!(room <= entry.max_output.unwrap() && room >= 8_000, "{name}");
    }
    for (alias, name) in &table.aliases {
        assert!(table.models.contains_key(name), "{alias}");
    }
}

#[test]
fn dated_names_are_their_base_names_and_others_are_unknown() {
    let catalogue = Catalogue::built_in();
    let haiku = catalogue.get("claude-haiku-4-5");
    assert!(haiku.known && haiku.context_window == 200_000 && haiku.max_output == Some(64_000));
    assert!(matches!(haiku.thinking, Thinking::Budget(1024..)));
    assert_eq!(catalogue.get("claude-haiku-4-5-20251001"), haiku);
    assert_eq!(catalogue.get("claude-haiku-4-5@20251001"), haiku);
    let gpt = catalogue.get("gpt-5.5");
    assert!(gpt.known);
    assert_eq!(catalogue.get("gpt-5.5-2026-04-23"), gpt);
    assert_eq!(catalogue.get("models/gemini-2.5-pro"), catalogue.get("gemini-2.5-pro"));
    for name in ["llama3", "phi4", "gpt-50", "claudette", "20251001", "2026-04-23", ""] {
        let expected =
            ModelInfo { context_window: 200_000, default_output: 16_000, ..ModelInfo::default() };
        assert_eq!(catalogue.get(name), expected, "{name}");
    }
}

#[test]
fn models_that_read_no_images_are_known_by_their_families() {
    let catalogue = Catalogue::built_in();
    for (name, is_text_only) in [
        ("gpt-oss:20b", true),
        ("gpt-oss-120b", true),
        ("o3-mini-2025-01-31", true),
        ("o3", false),
        ("gpt-5.5", false),
        ("claude-haiku-4-5", false),
        ("qwen3-vl:8b", false),
    ] {
        assert_eq!(catalogue.get(name).is_text_only, is_text_only, "{name}");
    }
    let own = "[families.gpt-oss]\nimages = true\n";
    let own = Catalogue::with_user_models(own, Path::new("models.toml")).unwrap();
    assert!(!own.get("gpt-oss:20b").is_text_only);
}

#[test]
fn an_unknown_model_is_taken_to_be_like_its_family() {
    let catalogue = Catalogue::built_in();
    let opus = catalogue.get("claude-opus-7-1");
    let known = catalogue.get("claude-opus-5-5");
    assert!(!opus.known);
    assert_eq!(opus.effort, known.effort);
    assert_eq!(
        (opus.context_window, opus.default_output, opus.thinking),
        (known.context_window, known.default_output, known.thinking)
    );
    let usage = Usage { output_tokens: 1_000_000, ..Usage::default() };
    assert_eq!(opus.cost(usage), Cost::at_most(25.0));
    for old in ["claude-3-5-sonnet-20241022", "claude-opus-4-20250514", "claude-sonnet-4-0"] {
        let info = catalogue.get(old);
        assert_eq!((info.pricing, info.thinking), (Pricing::Unknown, Thinking::Off), "{old}");
        assert_eq!(info.reasoning(Some("high")).effort, None, "{old}");
    }
    let user =
        with("families.claude-opus.max_output = 7\nfamilies.house.context_window = 9").unwrap();
    let opus = user.get("claude-opus-7-1");
    assert_eq!((opus.max_output, opus.context_window), (Some(7), 1_000_000));
    assert_eq!(user.get("house-2").context_window, 9);
}

#[test]
fn the_price_range_of_a_family_holds_each_model_that_is_known_of_it() {
    let catalogue = Catalogue::built_in();
    let kinds = |rates: Rates| [rates.input, rates.output, rates.cache_write, rates.cache_read];
    for name in catalogue.names() {
        let Pricing::Known(price) = catalogue.get(name).pricing else { panic!("{name}") };
        let Some(range) = catalogue.family(name).price else { continue };
        let most = range.most.long.map_or(range.most.rates, |long| long.rates);
        let dearest = price.long.map_or(price.rates, |long| long.rates);
        for (least, own) in kinds(range.least.rates).iter().zip(kinds(price.rates)) {
            assert!(*least <= own, "{name}: {range:?}");
        }
        for (most, own) in kinds(range.most.rates).iter().zip(kinds(price.rates)) {
            assert!(*most >= own, "{name}: {range:?}");
        }
        for (most, own) in kinds(most).iter().zip(kinds(dearest)) {
            assert!(*most >= own, "{name}: {range:?}");
        }
    }
}

#[test]
fn an_effort_is_put_into_the_models_terms() {
    let catalogue = Catalogue::built_in();
    let reasoning = |model: &str, effort| {
        let info = catalogue.get(model);
        let Reasoning { thinking, effort } = info.reasoning(effort);
        (thinking, effort.map(str::to_owned))
    };
    let word = |word: &str| Some(word.to_owned());
    let adaptive = Thinking::Adaptive;
    assert_eq!(reasoning("claude-opus-5-5", Some("max")), (adaptive, word("max")));
    assert_eq!(reasoning("claude-opus-4-6", Some("xhigh")), (adaptive, None));
    assert_eq!(reasoning("claude-haiku-4-5", Some("low")), (Thinking::Budget(4096), None));
    assert_eq!(reasoning("gemini-2.5-pro", Some("low")), (Thinking::Budget(1024), None));
    assert_eq!(reasoning("gemini-2.5-pro", Some("max")), (adaptive, None));
    assert_eq!(reasoning("gemini-2.5-pro", None), (adaptive, None));
    assert_eq!(reasoning("llama3", Some("huge")), (Thinking::Off, word("huge")));
    let words = catalogue.get("gemini-2.5-pro").effort.unwrap();
    assert_eq!(words.words(), ["low", "medium", "high"], "from little to much");
}

#[test]
fn an_effort_gives_back_no_thinking_that_the_command_line_takes_away() {
    let thinking = |model: &str, by: ThinkingOverride| {
        let mut info = Catalogue::built_in().get(model);
        info.override_thinking(by);
        info.reasoning(Some("high")).thinking
    };
    let gemini = "gemini-2.5-pro";
    assert_eq!(thinking(gemini, ThinkingOverride::Disabled), Thinking::Disabled);
    assert_eq!(thinking("claude-haiku-4-5", ThinkingOverride::Tokens(0)), Thinking::Off);
    assert_eq!(
        thinking("claude-haiku-4-5", ThinkingOverride::Tokens(1500)),
        Thinking::Budget(1500)
    );
    assert!(matches!(thinking(gemini, ThinkingOverride::Adaptive), Thinking::Budget(1501..)));
}

#[test]
fn short_names_stand_for_full_ones() {
    let catalogue = with("aliases.opus = 'my-opus'").unwrap();
    let table = [
        ("opus", "my-opus"),
        ("sonnet", "claude-sonnet-5-5"),
        ("haiku", "claude-haiku-5-5"),
        ("fable", "claude-fable-5-2"),
        ("Opus", "Opus"),
        ("llama3", "llama3"),
    ];
    for (alias, name) in table {
        assert_eq!(catalogue.resolve_alias(alias), name);
    }
    assert_eq!(catalogue.aliases()["opus"], "my-opus");
}

#[test]
fn cost_counts_each_kind_of_token_at_its_price() {
    let usage = Usage {
        input_tokens: 1_000_000,
        output_tokens: 100_000,
        cache_read_input_tokens: 2_000_000,
        cache_creation_input_tokens: 10_000,
    };
    let catalogue = Catalogue::built_in();
    let cost = catalogue.get("claude-opus-5").cost(usage);
    assert!((cost.usd - (5.0 + 2.5 + 1.0 + 0.0625)).abs() < 1e-9, "{cost:?}");
    assert!(!cost.incomplete);
    assert_eq!(catalogue.get("llama3").cost(usage), Cost::UNKNOWN);
}

#[test]
fn the_rates_of_long_requests_hold_for_the_whole_request() {
    let haiku = Catalogue::built_in().get("claude-haiku-5-5");
    let usd = |input_tokens, cache_read_input_tokens| {
        let usage = Usage {
            input_tokens,
            cache_read_input_tokens,
            output_tokens: 1_000_000,
            cache_creation_input_tokens: 0,
        };
        haiku.cost(usage).usd
    };
    assert!((usd(0, 100_000) - 0.501).abs() < 1e-9, "output is not counted");
    assert!((usd(1, 100_000) - (2.505 + 0.000_000_5)).abs() < 1e-9);
}

#[test]
fn a_person_changes_single_fields_and_adds_models() {
    let text = "
        [models.claude-opus-5]
        context_window = 150_000
        [models.claude-haiku-4-5-20251001]
        max_output = 9
        [models.llama3]
        price = { input = 1, output = 2 }
        thinking = { budget = 2_000 }
    ";
    let catalogue = with(text).unwrap();
    let built_in = Catalogue::built_in().get("claude-opus-5");
    assert_eq!(catalogue.get("claude-opus-5"), ModelInfo { context_window: 150_000, ..built_in });
    let haiku = catalogue.get("claude-haiku-4-5-20251001");
    assert_eq!((haiku.max_output, haiku.context_window), (Some(9), 200_000));
    let llama = catalogue.get("llama3");
    assert_eq!((llama.known, llama.thinking), (true, Thinking::Budget(2000)));
    let rates = Rates { input: 1.0, output: 2.0, cache_write: 1.0, cache_read: 1.0 };
    assert_eq!(llama.pricing, Pricing::Known(Price { rates, long: None }));
}

#[test]
fn a_mistake_is_named_with_its_line_and_what_is_allowed() {
    let error = with("\n[models.x]\nwindow = 5\n").unwrap_err();
    assert_eq!(error.line, 3);
    assert!(error.to_string().starts_with("models.toml:3: unknown field `window`"), "{error}");
    assert!(error.message.contains("context_window"), "{error}");
    let mistakes = [
        "models.x.price = { input = -1, output = 2 }",
        "models.x.price = { input = 1, output = 2, long = { above = 1, input = 1 } }",
        "models.x.thinking = 'hard'",
        "models.x.effort = 'hard'",
        "families.x.price = { input = 1, output = 2 }",
        "models =",
    ];
    for text in mistakes {
        assert_eq!(with(text).unwrap_err().line, 1, "{text}");
    }
}
