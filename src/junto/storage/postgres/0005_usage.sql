CREATE TABLE usage (
    begun bigint NOT NULL,
    caller text NOT NULL,
    tool text NOT NULL,
    model text NOT NULL,
    provider text NOT NULL,
    calls bigint NOT NULL,
    failures bigint NOT NULL,
    questions bigint NOT NULL,
    unanswered bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    -- Billionths of a dollar.
    cost bigint NOT NULL,
    unpriced bigint NOT NULL,
    PRIMARY KEY (begun, caller, tool, model, provider)
);

CREATE TABLE accounts (
    key text NOT NULL,
    -- Of time, such as 2026-11.
    stretch text NOT NULL,
    spent bigint NOT NULL,
    PRIMARY KEY (key, stretch)
);
