# Thin names over scripts/. Settings go behind the name: make demo ONCE=1, make bench BENCH=verify.

.PHONY: demo test check bench e2e prove soak eval lock docs

demo: ; @scripts/demo
test: ; @scripts/test
check: ; @scripts/check
bench: ; @scripts/named bench "$(BENCH)"
e2e: ; @scripts/named e2e "$(E2E)"
prove: ; @scripts/named prove "$(PROOF)"
soak: ; @scripts/named prove soak
eval: ; @scripts/named eval "$(EVAL)"
lock: ; @scripts/lock
docs: ; @scripts/docs
