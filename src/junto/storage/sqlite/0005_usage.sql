CREATE TABLE usage (
    begun INTEGER NOT NULL,
    caller TEXT NOT NULL,
    tool TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    calls INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    questions INTEGER NOT NULL,
    unanswered INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    -- Billionths of a dollar.
    cost INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    PRIMARY KEY (begun, caller, tool, model, provider)
) STRICT, WITHOUT ROWID;

CREATE TABLE accounts (
    key TEXT NOT NULL,
    -- Of time, such as 2026-11.
    stretch TEXT NOT NULL,
    spent INTEGER NOT NULL,
    PRIMARY KEY (key, stretch)
) STRICT, WITHOUT ROWID;
