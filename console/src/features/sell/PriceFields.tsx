import { NETWORK_NAMES, useServedNetworks } from "@/api/networks";
import { useOwner } from "@/api/session";
import { Button } from "@/ui/Button";
import { Field, Select } from "@/ui/Field";
import { Section } from "@/ui/Page";
import { addTo, idsOf, removeFrom } from "@/ui/draft";
import styles from "./Sell.module.css";
import type { WrapperForm } from "./useWrapperForm";
import { MAX_TERMS } from "./wrapperDraft";

interface TermProps {
  form: WrapperForm;
  id: string;
  number: number;
  isOnly: boolean;
}

function Term({ form, id, number, isOnly }: TermProps) {
  const served = useServedNetworks();
  const at = (name: string) => `terms.${id}.${name}`;
  const valueOf = (name: string) => form.draft[at(name)] ?? "";
  const usdcOf = (network: string) => served.find((each) => each.network === network)?.usdc.contract ?? "";
  const usdc = usdcOf(valueOf("network"));
  const isUsdc = valueOf("asset") === usdc;
  const token = form.tokenOf(valueOf("network"), valueOf("asset"));
  const options = served.map((each) => ({ value: each.network, label: NETWORK_NAMES[each.network] }));
  const known = options.some((each) => each.value === valueOf("network"));
  return (
    <div className={styles["entry"]} role="group" aria-label={`Price ${number}`}>
      {!isOnly && (
        <div className={styles["entryHead"]}>
          <h3>Price {number}</h3>
          <Button kind="quiet" size="small" onClick={() => form.change(removeFrom(form.draft, "terms", id))}>
            Remove
          </Button>
        </div>
      )}
      <div className={styles["pair"]}>
        <Field
          label="Price of a call"
          inputMode="decimal"
          placeholder={token.decimals === null ? "10000" : "0.01"}
          maxLength={50}
          unit={token.decimals === null ? "base units" : (token.code ?? "tokens")}
          {...form.field(at("amount"))}
        />
        <Select
          label="Network"
          options={known ? options : [...options, { value: valueOf("network"), label: valueOf("network") }]}
          {...form.field(at("network"))}
          onChange={(network) => {
            form.set(at("network"), network);
            if (isUsdc) form.set(at("asset"), usdcOf(network));
          }}
        />
      </div>
      <Select
        label="Token"
        value={isUsdc ? "usdc" : "other"}
        options={[
          { value: "usdc", label: "USDC" },
          { value: "other", label: "Another token" },
        ]}
        onChange={(choice) => form.set(at("asset"), choice === "usdc" ? usdc : "")}
      />
      {!isUsdc && (
        <Field
          label="Contract of the token"
          placeholder="C…"
          maxLength={56}
          hint="The service settles it only if its operator allows it. Its price is in base units."
          {...form.field(at("asset"))}
        />
      )}
      <Field
        label="Recipient"
        maxLength={56}
        hint="The account that receives every payment. It needs a trustline for the token."
        {...form.field(at("payTo"))}
      />
    </div>
  );
}

/** The prices of a call: one for each network and token. */
export function PriceFields({ form }: { form: WrapperForm }) {
  const owner = useOwner();
  const served = useServedNetworks();
  const ids = idsOf(form.draft, "terms");
  const add = () => {
    const used = new Set(ids.map((id) => form.draft[`terms.${id}.network`]));
    const next = served.find((each) => !used.has(each.network)) ?? served[0];
    if (!next) return;
    const members = { network: next.network, asset: next.usdc.contract, amount: "", payTo: owner?.address ?? "" };
    form.change(addTo(form.draft, "terms", members));
  };
  return (
    <Section title="Price" description="The money of each call goes straight from the buyer to the recipient.">
      {ids.map((id, index) => (
        <Term key={id} form={form} id={id} number={index + 1} isOnly={ids.length === 1} />
      ))}
      {ids.length < MAX_TERMS && (
        <div className="row">
          <Button size="small" onClick={add}>
            Add another way to pay
          </Button>
        </div>
      )}
    </Section>
  );
}
