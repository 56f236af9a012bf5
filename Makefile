# Thin names over scripts/. Settings go behind the name: make demo ONCE=1, make bench BENCH=verify.

.PHONY: demo test check bench e2e prove soak flaky rot eval lock docs

demo: ; @scripts/demo
test: ; @scripts/test
check: ; @scripts/check
bench: ; @scripts/named bench "$(BENCH)"
e2e: ; @scripts/named e2e "$(E2E)"
prove: ; @scripts/named prove "$(PROOF)"
soak: ; @scripts/named prove soak
flaky: ; @scripts/named prove flaky
rot: ; @scripts/named prove rot
eval: ; @scripts/named eval "$(EVAL)"
lock: ; @scripts/lock
docs: ; @scripts/docs
