from farebox.x402.reasons import REGISTRY, Reason, Retry, explain


def test_every_reason_has_a_sentence_and_a_retry_class() -> None:
    assert set(REGISTRY) == set(Reason)
    for reason in Reason:
        meaning = explain(reason)
        assert len(meaning.sentence) > 20
        assert meaning.sentence.endswith(".")


def test_sentence_of_a_failed_transaction_is_true_of_one_that_is_dead() -> None:
    """Control: "failed on the ledger" of a transaction that never was there."""
    sentence = explain(Reason.TRANSACTION_FAILED).sentence
    assert "failed on the ledger, or can no longer land" in sentence
    assert sentence.startswith("The transaction did not transfer the payment")


def test_only_reasons_of_possibly_sent_payments_need_reconciliation() -> None:
    asking = {reason for reason, meaning in REGISTRY.items() if meaning.retry is Retry.RECONCILE}
    assert asking == {Reason.SETTLEMENT_PENDING, Reason.UNEXPECTED_SETTLE_ERROR}


def test_reason_codes_are_lower_snake_and_distinct() -> None:
    codes = [reason.value for reason in Reason]
    assert len(set(codes)) == len(codes)
    assert all(code.replace("_", "a").isalnum() and code == code.lower() for code in codes)
